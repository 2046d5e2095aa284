//! A subgraph whose run is stopped: results of its tasks are kept, and nothing continues to run.

use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::task::yield_now;

use super::*;
use crate::support::{TOO_LONG, run_or_resume};

/// Never ends the first time it is called.
async fn slow(calls: Dep<Calls>) -> Update<Inner> {
    calls.note("slow");
    if calls.of("slow") == 1 {
        std::future::pending::<()>().await;
    }
    inner_said("slow")
}

/// `quick` beside `slow`, with another level around them if `levels` is more than one.
fn two_paces<F>(levels: u32, when_quick: F) -> Graph<Inner, Stage>
where
    F: Fn() + Clone + Send + Sync + 'static,
{
    let mut g = StateGraph::<Inner, Stage>::new(format!("level {levels}"));
    if levels > 1 {
        let below = g.subgraph(
            "below",
            two_paces(levels - 1, when_quick),
            Lens::new().share(Inner::SAID, Inner::SAID),
        );
        g.edge(START, below);
        g.edge(below, END);
        return g.compile().expect("sound");
    }
    let quick = g.node("quick", move |calls: Dep<Calls>| {
        let when_quick = when_quick.clone();
        async move {
            while calls.of("slow") == 0 {
                yield_now().await;
            }
            calls.note("quick");
            when_quick();
            inner_said("quick")
        }
    });
    let slow = g.node("slow", slow);
    g.edge(START, quick);
    g.edge(START, slow);
    g.edge(quick, END);
    g.edge(slow, END);
    g.compile().expect("sound")
}

#[tokio::test]
async fn what_finished_inside_before_a_cancel_does_not_run_again() {
    for levels in [1, 2] {
        on_both_savers(async |saver| {
            let (stage, token) = (Stage::default(), CancellationToken::new());
            let cancel = token.clone();
            let inner = two_paces(levels, move || cancel.cancel());
            let thread = around(inner, &stage).shared_checkpointer(saver).thread("t");
            let run = thread.run(Outer::update()).cancel_on(token).await.expect("a cancellation is no error");
            assert_eq!(run.status, Status::Cancelled);

            let state = thread.resume().await.expect("no node fails").finished().expect("to the end");
            assert_eq!(state.said, ["begun", "quick", "slow", "ended"]);
            assert_eq!(stage.calls.take_sorted(), ["quick", "slow", "slow"]);
        })
        .await;
    }
}

#[tokio::test]
async fn what_finished_inside_before_a_sibling_of_the_subgraph_failed_does_not_run_again() {
    on_both_savers(async |saver| {
        let stage = Stage::default();
        stage.broken.smash("beside");
        let mut g = StateGraph::<Outer, Stage>::new("outer");
        let sub = g.subgraph("sub", two_paces(1, || ()), lens());
        let beside = g.node("beside", async |stage: Dep<Stage>| {
            while stage.calls.of("quick") == 0 {
                yield_now().await;
            }
            stage.broken.check("beside").map(|()| outer_said("beside"))
        });
        g.edge(START, sub);
        g.edge(START, beside);
        g.edge(sub, END);
        g.edge(beside, END);
        let thread =
            g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver).thread("t");
        thread.run(Outer::update()).await.expect_err("beside is broken");

        stage.broken.mend("beside");
        let state = thread.resume().await.expect("it is mended").finished().expect("to the end");
        assert_eq!(state.said, ["beside", "quick", "slow"]);
        assert_eq!(stage.calls.take_sorted(), ["quick", "slow", "slow"]);
    })
    .await;
}

#[tokio::test]
async fn what_finished_inside_before_the_subgraph_took_too_long_does_not_run_again() {
    on_both_savers(async |saver| {
        let mut calls = Vec::new();
        for limit in TOO_LONG {
            let stage = Stage::default();
            let mut g = StateGraph::<Outer, Stage>::new("outer");
            let sub = g.subgraph("sub", two_paces(2, || ()), lens());
            g.policy(sub).timeout(limit).retry(Retry::fixed(4, Duration::ZERO));
            g.edge(START, sub);
            g.edge(sub, END);
            let graph = g.compile().expect("sound").with_context(stage.clone());
            let thread = graph.shared_checkpointer(Arc::clone(&saver)).thread(format!("{limit:?}"));
            let state = run_or_resume(&thread).await.expect("it is tried again").finished();
            assert_eq!(state.expect("to the end").said, ["quick", "slow"]);
            calls = stage.calls.take_sorted();
            if calls == ["quick", "slow", "slow"] {
                return;
            }
        }
        panic!("what had finished ran again: {calls:?}");
    })
    .await;
}

/// Runs one effect after the other, forever.
async fn busy(fx: Effects, calls: Dep<Calls>) -> Update<Inner> {
    for number in 0.. {
        let effect = async || {
            calls.note("effect");
            Ok::<_, Infallible>(())
        };
        fx.run_keyed("touch", number, effect).await.expect("it cannot fail");
        let mut turns = 0..1;
        go_on_until(|| turns.next().is_none()).await;
    }
    inner_said("never")
}

/// Two tasks of `below` at once, each of which then runs in a tokio task of its own.
fn twice(below: Graph<Inner, Stage>) -> Graph<Inner, Stage> {
    let mut g = StateGraph::<Inner, Stage>::new("twice");
    for name in ["left", "right"] {
        let node = g.subgraph(name, below.clone(), Lens::new());
        g.edge(START, node);
        g.edge(node, END);
    }
    g.compile().expect("sound")
}

#[tokio::test]
async fn no_effect_starts_at_any_level_once_a_run_was_dropped() {
    let mut g = StateGraph::<Inner, Stage>::new("busy");
    for name in ["one", "other"] {
        let busy = g.node(name, busy);
        g.edge(START, busy);
        g.edge(busy, END);
    }
    let stage = Stage::default();
    let graph = twice(twice(g.compile().expect("sound"))).with_context(stage.clone());
    let mut run = graph.checkpointer(MemorySaver::new()).run(Inner::update()).into_future();
    tokio::select! {
        _ = &mut run => panic!("it has no end"),
        () = go_on_until(|| stage.calls.of("effect") > 100) => drop(run),
    }

    let so_far = stage.calls.of("effect");
    let mut turns = 0..100;
    go_on_until(|| turns.next().is_none()).await;
    assert_eq!(stage.calls.of("effect"), so_far);
}

/// Yields to others, and queues up again at once.
async fn go_on_until(mut ended: impl FnMut() -> bool) {
    poll_fn(|context| {
        if ended() {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
