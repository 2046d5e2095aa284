//! A question to a person, answered by another process: hours or a reboot may lie between the two.
//!
//! ```text
//! cargo run --example review -- draft "Typed graphs"
//! cargo run --example review -- answer revise
//! cargo run --example review -- answer accept
//! ```

#![expect(clippy::print_stdout, reason = "a command-line program prints")]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::prelude::*;

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

/// Asking pauses the thread. Nothing runs, and nothing is kept in memory, until the answer is there.
async fn review(article: Snapshot<Article>, editor: Ask<String, Verdict>) -> Verdict {
    editor.ask(article.drafts.last().cloned().unwrap_or_default()).await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
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
    let thread = articles.thread("article");

    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let run = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["draft", title] => thread.run(Article::update().title(*title).clear_drafts()).await?,
        ["answer", "accept"] => thread.answer(&Verdict::Accept).await?,
        ["answer", "revise"] => thread.answer(&Verdict::Revise).await?,
        _ => return Err("usage: review draft TITLE | review answer accept|revise".into()),
    };
    match run.status {
        Status::Interrupted { interrupts } => {
            println!("accept or revise? {}", interrupts[0].question::<String>()?);
            println!("the question waits in {}", db.display());
        }
        _ => println!("published: {}", run.state.drafts.join(" | ")),
    }
    Ok(())
}
