//! Subgraphs: a compiled graph as a node, with a state of its own.

mod asking;
mod edited;
mod exits;
mod kept;
mod levels;
mod places;
mod programs;
mod pruned;
mod stopping;
mod two_runs;

use crate::support::{Calls, Smashed, Stage, on_both_savers};
use superstep::prelude::*;
use superstep::run::Interrupt;

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Outer {
    topic: String,
    #[reducer(Append)]
    said: Vec<String>,
    result: String,
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Inner {
    query: String,
    #[reducer(Append)]
    said: Vec<String>,
    answer: String,
}

fn outer_said(text: impl Into<String>) -> Update<Outer> {
    Outer::update().said([text.into()])
}

fn inner_said(text: impl Into<String>) -> Update<Inner> {
    Inner::update().said([text.into()])
}

/// Topic in, answer out, and the log of both levels.
fn lens() -> Lens<Outer, Inner> {
    Lens::new()
        .give(Outer::TOPIC, Inner::QUERY)
        .share(Outer::SAID, Inner::SAID)
        .take(Inner::ANSWER, Outer::RESULT)
}

async fn read(inner: Snapshot<Inner>, calls: Dep<Calls>) -> Update<Inner> {
    calls.note("read");
    inner_said(format!("read {}", inner.query))
}

async fn conclude(inner: Snapshot<Inner>, stage: Dep<Stage>) -> Result<Update<Inner>, Smashed> {
    stage.calls.note("conclude");
    stage.broken.check("conclude")?;
    Ok(inner_said("concluded").answer(format!("{} of {}", inner.query, inner.said.len())))
}

/// read, then conclude.
fn inner_graph() -> Graph<Inner, Stage> {
    let mut g = StateGraph::<Inner, Stage>::new("inner");
    let read = g.node("read", read);
    let conclude = g.node("conclude", conclude);
    g.edge(START, read);
    g.edge(read, conclude);
    g.edge(conclude, END);
    g.compile().expect("sound")
}

/// begin, then the subgraph, then end.
fn around(inner: Graph<Inner, Stage>, stage: &Stage) -> Graph<Outer> {
    let mut g = StateGraph::<Outer, Stage>::new("outer");
    let begin = g.node("begin", async || outer_said("begun"));
    let sub = g.subgraph("sub", inner, lens());
    let end = g.node("end", async || outer_said("ended"));
    g.edge(START, begin);
    g.edge(begin, sub);
    g.edge(sub, end);
    g.edge(end, END);
    g.compile().expect("sound").with_context(stage.clone())
}

#[tokio::test]
async fn a_subgraph_gets_what_its_lens_gives_and_gives_back_its_own_delta() {
    on_both_savers(|saver| async move {
        let graph = around(inner_graph(), &Stage::default()).shared_checkpointer(saver);
        let run = graph.thread("t").run(Outer::update().topic("rust").said(["in"])).await.expect("it runs");
        let state = run.finished().expect("it finishes");
        assert_eq!(state.said, ["in", "begun", "read rust", "concluded", "ended"], "nothing is doubled");
        assert_eq!(state.result, "rust of 3");
    })
    .await;
}

#[tokio::test]
async fn without_a_store_it_is_the_same() {
    let graph = around(inner_graph(), &Stage::default());
    let state = graph.run(Outer::update().topic("rust")).await.expect("it runs").finished();
    assert_eq!(state.expect("it finishes").said, ["begun", "read rust", "concluded", "ended"]);
}

#[tokio::test]
async fn a_resume_continues_inside_the_subgraph() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        stage.broken.smash("conclude");
        let graph = around(inner_graph(), &stage).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let failed = thread.run(Outer::update().topic("rust")).await.expect_err("it is broken");
        let text = failed.to_string();
        assert!(text.contains("\"sub\"") && text.contains("\"conclude\""), "{text}");
        assert_eq!(stage.calls.take(), ["read", "conclude"]);

        stage.broken.mend("conclude");
        let state = thread.resume().await.expect("it is mended").finished().expect("it finishes");
        assert_eq!(stage.calls.take(), ["conclude"], "what was done is done");
        assert_eq!(state.said, ["begun", "read rust", "concluded", "ended"]);
        assert_eq!(state.result, "rust of 2");
    })
    .await;
}

#[tokio::test]
async fn the_error_inside_keeps_its_source() {
    let stage = Stage::default();
    stage.broken.smash("conclude");
    let failed = around(inner_graph(), &stage).run(Outer::update()).await.expect_err("it is broken");
    let mut error: Option<&(dyn std::error::Error + 'static)> = Some(&failed);
    while let Some(inner) = error {
        if inner.downcast_ref() == Some(&Smashed("conclude".into())) {
            return;
        }
        error = inner.source();
    }
    panic!("{failed:?} does not lead to the node's own error");
}

async fn ask_twice(ask: Ask<String, String>, calls: Dep<Calls>) -> Update<Inner> {
    calls.note("ask_twice");
    let first = ask.ask("first?".to_owned()).await;
    let second = ask.ask("second?".to_owned()).await;
    inner_said(format!("{first} {second}")).answer(second)
}

fn asking_graph() -> Graph<Inner, Stage> {
    let mut g = StateGraph::<Inner, Stage>::new("asking");
    let read = g.node("read", read);
    let ask = g.node("ask", ask_twice);
    g.edge(START, read);
    g.edge(read, ask);
    g.edge(ask, END);
    g.compile().expect("sound")
}

#[derive(Route, serde::Serialize, serde::Deserialize)]
enum Fan {
    Out(Vec<String>),
}

fn open(run: Result<Run<Outer>, RunError>) -> Vec<Interrupt> {
    run.expect("no node fails").interrupted().expect("it asks")
}

fn question(open: &[Interrupt]) -> String {
    let [ask] = open else { panic!("one question, not {open:?}") };
    ask.question().expect("questions are texts")
}

/// A graph with a number of levels; the innermost one asks.
fn nested(levels: u32) -> Graph<Inner, Stage> {
    if levels == 0 {
        return asking_graph();
    }
    let mut g = StateGraph::<Inner, Stage>::new(format!("level {levels}"));
    let lens = Lens::new()
        .give(Inner::QUERY, Inner::QUERY)
        .share(Inner::SAID, Inner::SAID)
        .take(Inner::ANSWER, Inner::ANSWER);
    let below = g.subgraph("below", nested(levels - 1), lens);
    g.edge(START, below);
    g.edge(below, END);
    g.compile().expect("sound")
}

#[tokio::test]
async fn b38_a_drain_reaches_the_subgraph_and_is_resumed_there() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let token = CancellationToken::new();
        let mut g = StateGraph::<Inner, Stage>::new("inner");
        let drain = token.clone();
        let first = g.node("first", move |calls: Dep<Calls>| {
            let drain = drain.clone();
            async move {
                calls.note("first");
                drain.cancel();
                inner_said("first")
            }
        });
        let second = g.node("second", async |calls: Dep<Calls>| {
            calls.note("second");
            inner_said("second")
        });
        g.edge(START, first);
        g.edge(first, second);
        g.edge(second, END);
        let graph = around(g.compile().expect("sound"), &stage).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let run = thread.run(Outer::update()).drain_on(token).await.expect("it stops");
        assert_eq!(run.status, Status::Drained);
        assert_eq!(stage.calls.take(), ["first"]);
        let state = thread.resume().await.expect("it goes on").finished().expect("it finishes");
        assert_eq!(stage.calls.take(), ["second"]);
        assert_eq!(state.said, ["begun", "first", "second", "ended"]);
    })
    .await;
}

#[tokio::test]
async fn a_limit_inside_is_an_error_that_a_resume_outlives() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let graph = around(inner_graph().recursion_limit(1), &stage).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let failed = thread.run(Outer::update().topic("rust")).await.expect_err("two steps are needed");
        assert!(failed.to_string().contains("took its 1 supersteps"), "{failed}");
        let state = thread.resume().await.expect("it has one more").finished().expect("it finishes");
        assert_eq!(state.said, ["begun", "read rust", "concluded", "ended"]);
        assert_eq!(stage.calls.take(), ["read", "conclude"]);
    })
    .await;
}

#[tokio::test]
async fn g01_a_shared_list_is_not_doubled_by_an_overwrite_either() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Inner, Stage>::new("inner");
        let clear = g.node("clear", async || Inner::update().set_said(vec!["anew".to_owned()]));
        let add = g.node("add", async || inner_said("more"));
        g.edge(START, clear);
        g.edge(clear, add);
        g.edge(add, END);
        let graph = around(g.compile().expect("sound"), &Stage::default()).shared_checkpointer(saver);
        let state = graph.thread("t").run(Outer::update().said(["in"])).await.expect("it runs").finished();
        assert_eq!(state.expect("it finishes").said, ["anew", "more", "ended"]);
    })
    .await;
}

#[tokio::test]
async fn a_graph_with_a_context_of_its_own_keeps_it() {
    let (own, around) = (Stage::default(), Stage::default());
    let mut g = StateGraph::<Inner, Stage>::new("inner");
    let node = g.node("node", async |calls: Dep<Calls>| {
        calls.note("own");
        inner_said("own")
    });
    g.edge(START, node);
    g.edge(node, END);
    let inner = g.compile().expect("sound").with_context(own.clone());
    let mut g = StateGraph::<Outer, Stage>::new("outer");
    let sub = g.subgraph("sub", inner.with_own_context(), Lens::new().share(Outer::SAID, Inner::SAID));
    g.edge(START, sub);
    g.edge(sub, END);
    let graph = g.compile().expect("sound").with_context(around.clone());
    assert_eq!(graph.run(Outer::update()).await.expect("it runs").state.said, ["own"]);
    assert_eq!((own.calls.take(), around.calls.take()), (vec!["own".to_owned()], vec![]));
}

/// read, then conclude, with a breakpoint between them.
fn stopping_graph() -> Graph<Inner, Stage> {
    let mut g = StateGraph::<Inner, Stage>::new("inner");
    let read = g.node("read", read);
    let conclude = g.node("conclude", conclude);
    g.policy(conclude).interrupt_before();
    g.edge(START, read);
    g.edge(read, conclude);
    g.edge(conclude, END);
    g.compile().expect("sound")
}

#[tokio::test]
async fn a_breakpoint_inside_stops_the_graph_around_until_it_is_resumed() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let graph = around(stopping_graph(), &stage).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let run = thread.run(Outer::update().topic("rust")).await.expect("it stops");
        let Status::Breakpoint { before, .. } = run.status else { panic!("{:?}", run.status) };
        assert_eq!(before, ["conclude".into()]);
        assert_eq!(stage.calls.take(), ["read"]);
        let state = thread.resume().await.expect("it goes on").finished().expect("it finishes");
        assert_eq!(state.said, ["begun", "read rust", "concluded", "ended"]);
        assert_eq!(stage.calls.take(), ["conclude"]);
    })
    .await;
}
