//! Plain async code that survives a restart: a quiz that remembers where it was, and the best score.
//!
//! ```text
//! cargo run --bin flow               # asks the first question, or the one that waits
//! cargo run --bin flow -- 42         # answers it
//! cargo run --bin flow -- debug log me --graph
//! ```

use std::convert::Infallible;
use std::error::Error;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use superstep::prelude::*;
use superstep::run::{FlowState, ThreadError};
use superstep_examples::{ended, print, usage};

#[derive(Serialize, Deserialize)]
struct Score {
    right: u32,
    best: u32,
}

/// Asks this many questions: branches and loops are plain code.
async fn quiz(cx: Cx<u32>) -> Result<Score, NodeError> {
    // Randomness is an effect: after a restart, the questions must be the same.
    let seed = cx.run("seed", || async { Ok::<_, Infallible>(seconds()) }).await?;
    let mut right = 0;
    for number in 0..u64::from(*cx.input()) {
        let (a, b) = ((seed + number * 7) % 9 + 1, (seed / 9 + number * 5) % 9 + 1);
        let answer: u64 = cx.ask(format!("{a} times {b}?")).await?;
        right += u32::from(answer == a * b);
    }
    let best = cx.previous::<Score>()?.map_or(0, |score| score.best).max(right);
    Ok(Score { right, best })
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[tokio::main]
async fn main() -> ExitCode {
    ended(run().await)
}

async fn run() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let answer = match arguments.first().map(String::as_str) {
        None | Some("debug" | "serve") => None,
        Some(word) => match (word.parse::<u64>(), arguments.len()) {
            (Ok(answer), 1) => Some(answer),
            _ => {
                let text = "flow [ANSWER | debug VERB .. | serve [OPTION ..]], where the answer is a number";
                return usage(&arguments, text);
            }
        },
    };
    let db = std::env::temp_dir().join("superstep-flow.db");
    let quizzes = flow("quiz", quiz).checkpointer(SqliteSaver::open(&db).await?);
    if let Some(exit) = superstep::debugger(&[&quizzes]).subcommand("debug").await {
        return Ok(exit);
    }
    if let Some(exit) = superstep::serve(&[&quizzes]).subcommand("serve").await {
        return Ok(exit);
    }
    let thread = quizzes.thread("me");

    let run = match answer {
        Some(answer) => thread.answer(&answer).await?,
        None if waits(&thread).await? => thread.resume().await?,
        None => thread.run(&3).await?,
    };
    match &run.status {
        Status::Finished => {
            let score = run.finished()?;
            print(format_args!("{} right; the best was {}", score.right, score.best))?;
        }
        Status::Interrupted { interrupts } => {
            print(interrupts[0].question::<String>()?)?;
            print("  cargo run --bin flow -- YOUR_ANSWER")?;
        }
        status => print(format_args!("stopped: {status:?}"))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns `true` if a question waits, or a run was interrupted.
async fn waits(thread: &Thread<FlowState<u32, Score>>) -> Result<bool, ThreadError> {
    match thread.head().await {
        Ok(head) => Ok(!head.next().is_empty()),
        Err(ThreadError::NeverRan(_)) => Ok(false),
        Err(error) => Err(error),
    }
}
