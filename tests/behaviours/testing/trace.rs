//! Assertions about the nodes that ran, and their messages.

use std::panic::{AssertUnwindSafe, catch_unwind};

use superstep::prelude::*;
use superstep::run::TraceLog;
use superstep::testing::Trace;

use crate::testing::program::{Essay, World, essay, essays};

async fn trace() -> Trace {
    let thread = essays(&World::there()).checkpointer(MemorySaver::new()).thread("rust");
    let _asked = thread.run(essay("Rust")).await.unwrap();
    let _asked = thread.answer("bad").await.unwrap();
    let _done = thread.answer("good").await.unwrap().finished().unwrap();
    Trace::of(&thread).await.unwrap()
}

/// The message of a failed assertion.
fn said(claim: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(claim)).unwrap_err();
    *panic.downcast::<String>().unwrap()
}

#[tokio::test]
async fn claims_that_hold_say_nothing() {
    trace()
        .await
        .ran(["plan", "research", "research", "write", "review", "write", "review"])
        .ran_in_order(["plan", "write", "review", "write"])
        .ran_before("research", "write")
        .ran_together(["research", "research"])
        .ran_times("research", 2)
        .took("plan", "Research")
        .took("review", "Revise")
        .took("review", "Accept")
        .wrote("research", "facts");
}

#[tokio::test]
async fn a_claim_that_does_not_hold_shows_the_trace() {
    let trace = trace().await;
    assert_eq!(
        said(|| _ = trace.ran_before("write", "research")),
        "expected write to run before research, and it ran at step 3, and research at step 2
  step 1  plan      took Research
> step 2  research  wrote facts
> step 2  research  wrote facts
> step 3  write     wrote draft, rounds
  step 4  review    took Revise
> step 5  write     wrote draft, rounds
  step 6  review    took Accept"
    );
    let first = |claim: &dyn Fn()| said(claim).lines().next().unwrap().to_owned();
    assert_eq!(
        first(&|| _ = trace.ran(["plan", "write"])),
        "expected [plan, write] to have run: expected write to be next, and research ran"
    );
    assert_eq!(
        first(&|| _ = trace.ran(["plan"])),
        "expected [plan] to have run: expected nothing more, and research ran"
    );
    assert_eq!(
        first(&|| _ = trace.ran_in_order(["review", "plan"])),
        "expected [review, plan] to run in order: plan did not run after step 4"
    );
    assert_eq!(
        first(&|| _ = trace.ran_together(["plan", "write"])),
        "expected [plan, write] to run in one superstep, and none ran them all"
    );
    assert_eq!(
        first(&|| _ = trace.ran_times("write", 3)),
        "expected write to run 3 times, and it ran 2 times"
    );
    assert_eq!(first(&|| _ = trace.never_ran("plan")), "expected plan to run never, and it ran once");
    assert_eq!(
        first(&|| _ = trace.took("plan", "Write")),
        "expected plan to take Write, and it took Research"
    );
    assert_eq!(
        first(&|| _ = trace.took("review", "Again")),
        "expected review to take Again, and it took Revise, then Accept"
    );
    assert_eq!(
        first(&|| _ = trace.wrote("write", "topic")),
        "expected write to write topic, and it wrote draft, rounds"
    );
    assert_eq!(
        said(|| _ = trace.never_ran("wirte")),
        "the graph has no node wirte; it has plan, research, review, write"
    );
}

#[tokio::test]
async fn calls_of_a_run_show_subgraphs_and_failed_attempts() {
    let mut inner = StateGraph::<Essay>::new("inner");
    let draft = inner.node("draft", async |info: TaskInfo| match info.attempt() {
        1 => Err(NodeError::retryable("no ink")),
        _ => Ok(Essay::update().draft("a text")),
    });
    inner.policy(draft).retry(Retry::fixed(2, std::time::Duration::ZERO));
    inner.edge(START, draft);
    inner.edge(draft, END);
    let mut g = StateGraph::<Essay>::new("outer");
    let lens = Lens::new().take(Essay::DRAFT, Essay::DRAFT);
    let solve = g.subgraph("solve", inner.compile().unwrap(), lens);
    g.edge(START, solve);
    g.edge(solve, END);
    let log = TraceLog::new();
    let graph = g.compile().unwrap().checkpointer(MemorySaver::new()).observe(log.clone());
    let thread = graph.thread("t");
    let run = thread.run(Essay::update()).await.unwrap();

    let calls = Trace::of_run(&graph, &log, run.run);
    calls.ran(["solve", "solve/draft", "solve/draft"]);
    assert_eq!(
        said(|| _ = calls.ran_times("solve/draft", 1)),
        "expected solve/draft to run once, and it ran 2 times
  step 1    solve        wrote draft
> step 1.1  solve/draft  failed: no ink
> step 1.1  solve/draft  wrote draft"
    );
    Trace::of(&thread).await.unwrap().ran(["solve", "solve/draft"]).wrote("solve/draft", "draft");
}
