//! Subgraphs that keep their state, on a thread whose older checkpoints are pruned again and again.

use std::path::Path;
use std::time::Duration;

use superstep::checkpoint::maintenance::{self, Pruned, Retention};
use superstep::run::WhyUnverified;

use super::kept::{counting_twice, keeping_levels};
use super::*;

const PATIENCE: Duration = Duration::from_secs(300);

/// Prunes the thread, and checks the rest: it is sound, it has its state, and its replay is equal.
async fn prune(path: &Path, thread: &Thread<Outer>, last: usize) -> Pruned {
    let state = thread.head().await.expect("it ran").into_state();
    let pruned = maintenance::prune(path, &Retention::new().keep_last(last), PATIENCE)
        .expect("there is no other writer");
    maintenance::collect(path, PATIENCE).expect("there is no other writer");
    assert_eq!(maintenance::verify(path).expect("it is a checkpoint file").findings, []);
    assert_eq!(thread.head().await.expect("it is there").into_state(), state);
    let replay = thread.replay().await.expect("it is there").agrees().expect("it is the same code");
    for task in &replay.unverified {
        assert_eq!(task.why, WhyUnverified::Pruned, "{task:?}");
    }
    if last > 1 {
        assert!(replay.supersteps > 0, "something is left");
    }
    pruned
}

/// Runs one turn after another, on a whole thread and on one that is pruned whenever it pauses. Their results are the
/// same.
async fn turns(graph: impl Fn() -> Graph<Outer>, topics: &[&str]) {
    for (last, reopen) in [(1, true), (2, false), (3, true), (7, false)] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("t.db");
        let whole = graph().checkpointer(MemorySaver::new()).thread("t");
        let open = || async { graph().checkpointer(SqliteSaver::open(&path).await.expect("it opens")) };
        let mut thread = open().await.thread("t");
        let mut gone = 0;
        for topic in topics {
            let mut expected = whole.run(Outer::update().topic(*topic)).await.expect("it runs");
            let mut run = thread.run(Outer::update().topic(*topic)).await.expect("it runs");
            while run.status != Status::Finished {
                gone += prune(&path, &thread, last).await.checkpoints;
                if reopen {
                    thread = open().await.thread("t");
                }
                expected = whole.answer(topic).await.expect("it goes on");
                run = thread.answer(topic).await.expect("it goes on");
            }
            assert_eq!(expected.status, Status::Finished);
            assert_eq!(run.state, expected.state, "{topic} with {last} kept");
            gone += prune(&path, &thread, last).await.checkpoints;
            if reopen {
                thread = open().await.thread("t");
            }
        }
        assert!(gone > 0, "something was pruned");
        let (count, of_whole) = (history(&thread).await, history(&whole).await);
        assert!(count < of_whole, "{count} of {of_whole} are left");
    }
}

async fn history(thread: &Thread<Outer>) -> usize {
    thread.history().expect("a store").collect().await.expect("it reads").len()
}

#[tokio::test]
async fn a_pruned_thread_continues_with_the_state_that_was_kept() {
    turns(|| counting_twice(|| Lens::new().keep("count").take(Inner::ANSWER, Outer::RESULT)), &["a"; 6])
        .await;
}

/// The state kept under `a` was last used long before the cut.
#[tokio::test]
async fn what_was_kept_under_a_key_long_ago_stays() {
    let keyed =
        || Lens::new().keep_by(|outer: &Outer| outer.topic.clone()).take(Inner::ANSWER, Outer::RESULT);
    turns(|| counting_twice(keyed), &["a", "b", "b", "b", "c", "b", "a", "c", "a"]).await;
}

#[tokio::test]
async fn every_level_continues_with_its_own_kept_state() {
    let nested = || {
        let mut g = StateGraph::<Outer, Stage>::new("outer");
        let lens =
            Lens::new().keep("top").take_with(|inner: &Inner| Outer::update().result(inner.said.join(", ")));
        let sub = g.subgraph("sub", keeping_levels(2), lens);
        g.edge(START, sub);
        g.edge(sub, END);
        g.compile().expect("sound").with_context(Stage::default())
    };
    turns(nested, &["a"; 5]).await;
}

#[tokio::test]
async fn a_thread_that_waits_in_a_kept_state_is_answered_after_it_was_pruned() {
    let asking = || {
        let mut g = StateGraph::<Outer, Stage>::new("outer");
        let lens =
            Lens::new().keep("asking").give(Outer::TOPIC, Inner::QUERY).take(Inner::ANSWER, Outer::RESULT);
        let lens = lens.take_with(|inner| outer_said(inner.said.join(", ")));
        let begin = g.node("begin", async || outer_said("begun"));
        let sub = g.subgraph("sub", asking_graph(), lens);
        g.edge(START, begin);
        g.edge(begin, sub);
        g.edge(sub, END);
        g.compile().expect("sound").with_context(Stage::default())
    };
    turns(asking, &["a", "b", "c", "d"]).await;
}

/// The branch begins before the turns that wrote the kept state.
#[tokio::test]
async fn a_branch_keeps_its_own_state_when_the_thread_is_pruned() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("t.db");
    let saver = SqliteSaver::open(&path).await.expect("a new file opens");
    let keeping = || Lens::new().keep("count").take(Inner::ANSWER, Outer::RESULT);
    let graph = counting_twice(keeping).checkpointer(saver);
    let thread = graph.thread("t");
    let mut ends = Vec::new();
    for _ in 0..4 {
        ends.extend(thread.run(Outer::update()).await.expect("it runs").checkpoint);
    }
    let fork = thread.at(ends[1]).await.expect("it is there").fork("f").await.expect("a new name");
    assert_eq!(fork.run(Outer::update()).await.expect("it runs").state.result, "6");
    for (on_thread, on_fork) in [("10", "8"), ("12", "10")] {
        assert!(prune(&path, &thread, 1).await.checkpoints > 0);
        assert_eq!(prune(&path, &fork, 1).await.checkpoints, 0, "both were pruned");
        assert_eq!(thread.run(Outer::update()).await.expect("it runs").state.result, on_thread);
        assert_eq!(fork.run(Outer::update()).await.expect("it runs").state.result, on_fork);
    }
}
