//! Snippets of `docs/execution.md`.

use superstep::prelude::*;

use super::story::{Story, stories, topic};

#[derive(State, Clone, Debug, Default)]
struct Tally {
    #[reducer(Append)]
    counted: Vec<String>,
}

async fn count(task: TaskInfo) -> Update<Tally> {
    Tally::update().counted([task.node().as_str()])
}

#[tokio::test]
async fn a_deferred_node_runs_last() -> super::Result {
    let mut g = StateGraph::<Tally>::new("tally");
    let [short, long, longer, sum] = ["short", "long", "longer", "sum"].map(|name| g.node(name, count));
    g.policy(sum).defer();
    g.edge(START, short);
    g.edge(START, long);
    g.edge(long, longer);
    g.edge(short, sum);
    g.edge(longer, sum);
    g.edge(sum, END);
    let tally = g.compile()?.run(Tally::default()).await?.finished()?;
    assert_eq!(tally.counted, ["long", "short", "longer", "sum"]);
    Ok(())
}

#[tokio::test]
async fn a_history_shows_the_supersteps() -> super::Result {
    let (stories, _) = stories();
    let thread = stories.thread("lines");
    thread.run(topic("Rust")).await?.interrupted()?;
    let mut lines = Vec::new();
    for line in thread.history()?.collect().await? {
        lines.push(format!("{:>2} {:?} {:?} -> {:?}", line.step, line.source, line.ran, line.next));
    }
    assert_eq!(
        lines,
        [
            r#" 2 Loop ["write"] -> ["review"]"#,
            r#" 1 Loop ["outline"] -> ["write"]"#,
            r#" 0 Loop ["__start__"] -> ["outline"]"#,
            r#"-1 Input [] -> ["__start__"]"#,
        ]
    );
    Ok(())
}

#[tokio::test]
async fn a_limit_is_a_resumable_outcome() -> super::Result {
    let (stories, _) = stories();
    let stories = stories.recursion_limit(2).max_concurrency(8);
    let thread = stories.thread("short");
    let run = thread.run(topic("Rust")).await?;
    assert_eq!(run.status, Status::LimitReached { limit: 2 });
    let asked = thread.resume().await?.interrupted()?;
    assert_eq!(asked.len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_breakpoint_stops_a_run() -> super::Result {
    let (stories, write) = stories();
    let thread = stories.thread("short");
    let run = thread.run(topic("Rust")).interrupt_before(write).await?;
    assert_eq!(run.status, Status::Breakpoint { before: vec!["write".into()], after: vec![] });
    thread.edit(Story::update().topic("Zig")).await?;
    let asked = thread.resume().await?.interrupted()?;
    assert_eq!(asked[0].question::<String>()?, "Zig: Rust begins, Rust ends");
    Ok(())
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Chat {
    #[reducer(Append)]
    messages: Vec<String>,
}

async fn reply(chat: Snapshot<Chat>) -> Update<Chat> {
    let last = chat.messages.last().map_or("nothing", String::as_str);
    Chat::update().messages([format!("You said: {last}")])
}

#[tokio::test]
async fn a_repeated_request_counts_once() -> super::Result {
    let mut g = StateGraph::<Chat>::new("chat");
    let reply = g.node("reply", reply);
    g.edge(START, reply);
    g.edge(reply, END);
    let thread = g.compile()?.checkpointer(MemorySaver::new()).thread("ada");
    let message = || Chat::update().messages(["Good morning."]);
    let first = thread.run_once("message-17", message()).await?.finished()?;
    let again = thread.run_once("message-17", message()).await?.finished()?;
    assert_eq!(first.messages, ["Good morning.", "You said: Good morning."]);
    assert_eq!(again, first);
    Ok(())
}
