//! A question to a person, answered by another process, even hours or a reboot later.
//!
//! ```text
//! cargo run --bin review                            # a first draft, or the question that waits
//! cargo run --bin review -- draft "Typed graphs"
//! cargo run --bin review -- answer revise
//! cargo run --bin review -- answer accept
//! cargo run --bin review -- debug log article       # or another verb of the debugger: debug --help
//! ```

use std::error::Error;
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::prelude::*;
use superstep::run::ThreadError;
use superstep_examples::{ended, print, usage};

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Article {
    title: String,
    #[reducer(Append)]
    drafts: Vec<String>,
}

#[derive(Route, Serialize, Deserialize, JsonSchema)]
enum Verdict {
    Accept,
    Revise,
}

async fn write(article: Snapshot<Article>) -> Update<Article> {
    let number = article.drafts.len() + 1;
    Article::update().drafts([format!("{}: draft {number}", article.title)])
}

/// Asking pauses the thread. Until the answer arrives, nothing runs and nothing is kept in memory.
async fn review(article: Snapshot<Article>, editor: Ask<String, Verdict>) -> Verdict {
    editor.ask(article.drafts.last().cloned().unwrap_or_default()).await
}

#[tokio::main]
async fn main() -> ExitCode {
    ended(run().await)
}

async fn run() -> Result<ExitCode, Box<dyn Error>> {
    let mut g = StateGraph::<Article>::new("review");
    let write = g.node("write", write);
    let review = g.node("review", review);
    g.edge(START, write);
    g.edge(write, review);
    g.route(review, move |verdict| match verdict {
        Verdict::Accept => END,
        Verdict::Revise => to(write),
    });
    let db = std::env::temp_dir().join("superstep-review.db");
    let articles = g.compile()?.checkpointer(SqliteSaver::open(&db).await?);
    if let Some(exit) = superstep::debugger(&[&articles]).subcommand("debug").await {
        return Ok(exit);
    }
    if let Some(exit) = superstep::serve(&[&articles]).subcommand("serve").await {
        return Ok(exit);
    }
    #[cfg(feature = "restate")]
    if let Some(exit) = superstep::restate(&[&articles]).subcommand("work").await {
        return Ok(exit);
    }
    let thread = articles.thread("article");

    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let run = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] if waits(&thread).await? => thread.resume().await?,
        [] => thread.run(Article::update().title("Typed graphs").clear_drafts()).await?,
        ["draft", title] => thread.run(Article::update().title(*title).clear_drafts()).await?,
        ["answer", "accept"] => thread.answer(&Verdict::Accept).await?,
        ["answer", "revise"] => thread.answer(&Verdict::Revise).await?,
        _ => {
            let text =
                "review [draft TITLE | answer accept | answer revise | debug VERB .. | serve [OPTION ..]]";
            return usage(&arguments, text);
        }
    };
    match run.status {
        Status::Interrupted { interrupts } => {
            print(format_args!("accept or revise? {}", interrupts[0].question::<String>()?))?;
            print(format_args!("the question waits in {}; to answer it:", db.display()))?;
            print("  cargo run --bin review -- answer accept")?;
            print("  cargo run --bin review -- answer revise")?;
        }
        _ => print(format_args!("published: {}", run.state.drafts.join(" | ")))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns `true` if a question waits, or a draft was interrupted.
async fn waits(thread: &Thread<Article>) -> Result<bool, ThreadError> {
    match thread.head().await {
        Ok(head) => Ok(!head.next().is_empty()),
        Err(ThreadError::NeverRan(_)) => Ok(false),
        Err(error) => Err(error),
    }
}
