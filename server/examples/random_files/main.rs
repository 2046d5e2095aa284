//! Writes checkpoint files of random runs: of random graphs, with failures, questions, subgraphs, forks and edits. The
//! test `agreement` of the studio's page compares what the page knows of them with the command line.
//!
//! ```text
//! cargo run -p superstep-server --example random_files -- FOLDER COUNT [FIRST_SEED]
//! cargo run -p superstep-server --example random_files -- FOLDER large
//! ```
//!
//! `large` is a run of 10,000 supersteps in a graph of 1,000 nodes. The same seed gives the same file, ids and times aside.

use std::error::Error;
use std::path::Path;

use fastrand::Rng;
use superstep_checkpoint::{Durability, SqliteSaver};
use superstep_core::run::{RunError, Thread};
use superstep_core::state::Json;

use crate::graph::Sheet;

mod graph;
mod large;
mod values;

/// The most requests of one run: each resumes it or answers some of its questions.
const REQUESTS: usize = 6;

/// The most inputs, edits, forks and names of a file.
const DEEDS: usize = 8;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, count, rest @ ..] = &*arguments else {
        return Err("give a folder, the number of files, and optionally the first seed".into());
    };
    if count == "large" {
        return large::write(&Path::new(folder).join("large.db")).await;
    }
    let first: u64 = rest.first().map_or(Ok(0), |seed| seed.parse())?;
    let count: u64 = count.parse()?;
    for seed in first..first + count {
        write(&Path::new(folder).join(format!("{seed}.db")), seed).await?;
    }
    Ok(())
}

/// Writes the file of a seed.
async fn write(path: &Path, seed: u64) -> Result<(), Box<dyn Error>> {
    let mut rng = Rng::with_seed(seed);
    let saver = SqliteSaver::options().durability(Durability::Process).open(path).await?;
    let graph = graph::random(&mut rng, seed)?.checkpointer(saver).recursion_limit(14);
    let mut threads = vec![graph.thread("first")];
    run_through(&threads[0], &mut rng).await?;
    for deed in 0..rng.usize(1..=DEEDS) {
        let thread = threads[rng.usize(..threads.len())].clone();
        let past = thread.history()?.collect().await?;
        let past = thread.at(past[rng.usize(..past.len())].id).await?;
        match rng.u8(..6) {
            0 => past.name(&format!("name-{deed}")).await?,
            1 => threads.push(past.fork(format!("{} {deed}", values::text(&mut rng))).await?),
            2 => {
                past.branch().await?;
            }
            3 => {
                past.branch().await?;
                thread.edit(graph::edit(past.state(), &mut rng)).await?;
            }
            _ => {}
        }
        if rng.bool() {
            run_through(&thread, &mut rng).await?;
        }
    }
    Ok(())
}

/// Gives the thread an input, and resumes it or answers its questions until it has finished, or long enough.
async fn run_through(thread: &Thread<Sheet>, rng: &mut Rng) -> Result<(), Box<dyn Error>> {
    let mut request = match thread.head().await {
        Ok(head) if !head.next().is_empty() && rng.bool() => thread.resume(),
        _ => thread.run(graph::edit(&Sheet::default(), rng)),
    };
    for _ in 0..rng.usize(1..=REQUESTS) {
        // The failure of a node is a part of the history.
        if let Err(RunError::Thread(error)) = request.await {
            return Err(error.into());
        }
        let head = thread.head().await?;
        if head.next().is_empty() {
            return Ok(());
        }
        let asked = head.interrupts().into_iter().map(|ask| ask.id);
        let answers: Vec<_> = asked.filter(|_| rng.u8(..3) > 0).collect();
        request = if answers.is_empty() {
            thread.resume()
        } else {
            let answers = answers.into_iter().map(|id| Ok((id, Json::encode(&values::value(rng, 2))?)));
            thread.answers(answers.collect::<Result<Vec<_>, superstep_core::state::CodecError>>()?)
        };
    }
    Ok(())
}
