//! Threads: the graphs and inputs that they accept, and threads of changed graphs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use superstep::checkpoint::{Checkpointer, StoreError};
use superstep::driver::engine::restore::RestoreError;
use superstep::prelude::*;
use superstep::run::{Ambient, ThreadError};

use crate::support::{Calls, Stage, on_both_savers};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    ran: Vec<String>,
    topic: String,
}

async fn step(task: TaskInfo, calls: Dep<Calls>) -> Update<Log> {
    calls.note(task.node().as_str());
    Log::update().ran([task.node().as_str()])
}

fn input(text: &str) -> Update<Log> {
    Log::update().ran([text])
}

/// A graph of these nodes, one after the other.
fn chain<const N: usize>(name: &str, nodes: [&str; N], stage: &Stage) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new(name);
    let nodes = nodes.map(|name| g.node(name, step));
    g.edge(START, nodes[0]);
    for pair in nodes.windows(2) {
        g.edge(pair[0], pair[1]);
    }
    g.edge(nodes[N - 1], END);
    g.compile().expect("sound").with_context(stage.clone())
}

/// The graph of most of these threads.
fn abc(saver: Arc<dyn Checkpointer>) -> Graph<Log> {
    chain("chain", ["a", "b", "c"], &Stage::default()).shared_checkpointer(saver)
}

#[tokio::test]
async fn a_whole_state_is_for_a_new_thread() {
    on_both_savers(|saver| async move {
        let graph = abc(saver);
        let thread = graph.thread("t");
        let whole = || Log { topic: "whole".into(), ran: vec!["in".into()] };
        let run = thread.run(whole()).await.expect("the thread is new");
        assert_eq!((run.state.topic.as_str(), run.state.ran.len()), ("whole", 4));
        let refused = thread.run(whole()).await.expect_err("the thread has a state");
        assert!(matches!(refused, RunError::NotANewThread { .. }));
        let fork = thread.head().await.expect("it ran").fork("fork").await.expect("free");
        let refused = fork.run(whole()).await.expect_err("so has the fork");
        assert!(matches!(refused, RunError::NotANewThread { .. }));
        let history = thread.history().expect("a store").collect().await;
        assert_eq!(history.expect("it reads").len(), 5, "nothing was stored");
    })
    .await;
}

/// Another graph with the same node names used to run its nodes, with their effects, and was refused only when it
/// stored the first superstep.
#[tokio::test]
async fn a_thread_belongs_to_the_graph_that_first_ran_it() {
    on_both_savers(|saver| async move {
        let graph = abc(Arc::clone(&saver));
        let run = graph.thread("t").run(input("in")).recursion_limit(1).await;
        assert_eq!(run.expect("no node fails").step, 1);
        let stage = Stage::default();
        let other = chain("other", ["b"], &stage);
        let thread = other.shared_checkpointer(saver).thread("t");
        let wrong = |error: &ThreadError| {
            matches!(error, ThreadError::Store(StoreError::WrongGraph { expected, found, .. })
                if expected == "other" && found == "chain")
        };
        for run in [thread.resume().await, thread.run(input("in")).await, thread.answer(&1).await] {
            let error = run.expect_err("it is of another graph");
            assert!(matches!(&error, RunError::Thread(error) if wrong(error)), "{error}");
        }
        assert!(wrong(&thread.head().await.map(|_| ()).expect_err("of another graph")));
        assert!(wrong(&thread.edit(input("x")).await.expect_err("of another graph")));
        assert_eq!(stage.calls.take(), [] as [&str; 0]);
    })
    .await;
}

#[tokio::test]
async fn k11_a_pending_node_that_was_removed_is_named() {
    on_both_savers(|saver| async move {
        let graph = abc(Arc::clone(&saver));
        let run = graph.thread("t").run(input("in")).recursion_limit(1).await;
        assert_eq!(run.expect("no node fails").step, 1);
        let less = chain("chain", ["a"], &Stage::default());
        let thread = less.shared_checkpointer(saver).thread("t");
        let error = thread.resume().await.expect_err("b is gone");
        assert_eq!(
            error.to_string(),
            "the checkpoint's next node \"b\" does not exist in graph \"chain\"; it was removed or renamed"
        );
        assert!(matches!(
            error,
            RunError::Thread(ThreadError::Restore(RestoreError::MissingNode { node, .. })) if node.as_str() == "b"
        ));
        assert_eq!(thread.head().await.expect("it can be looked at").next()[0].as_str(), "b");
        let log = thread.run(input("anew")).await.expect("a new input needs no b").state;
        assert_eq!(log.ran, ["in", "a", "anew", "a"]);
    })
    .await;
}

#[tokio::test]
async fn without_a_checkpointer_there_is_no_past() {
    let graph = chain("chain", ["a"], &Stage::default());
    let thread = graph.thread("t");
    let run = thread.run(input("in")).await.expect("no node fails");
    assert_eq!((run.checkpoint, run.step), (None, 1));
    let run = thread.run(input("in")).await.expect("no node fails");
    assert_eq!(run.state.ran, ["in", "a"], "every run is a new thread");
    assert!(matches!(thread.head().await, Err(ThreadError::NoCheckpointer)));
    assert!(matches!(thread.resume().await, Err(RunError::Thread(ThreadError::NoCheckpointer))));
    assert!(matches!(thread.edit(input("x")).await, Err(ThreadError::NoCheckpointer)));
}

#[tokio::test]
async fn threads_are_listed_with_what_is_left_to_do() {
    on_both_savers(|saver| async move {
        let graph = abc(saver);
        for (name, limit) in [("done", 9), ("stopped", 1)] {
            let run = graph.thread(name).run(input("in")).recursion_limit(limit).await;
            assert_eq!(run.expect("no node fails").status == Status::Finished, limit == 9);
        }
        let names = |threads: Vec<superstep::checkpoint::ThreadSummary>| -> Vec<String> {
            threads.iter().map(|thread| thread.thread.to_string()).collect()
        };
        assert_eq!(names(graph.threads().await.expect("it reads")), ["done", "stopped"]);
        assert_eq!(names(graph.unfinished().await.expect("it reads")), ["stopped"]);
    })
    .await;
}

/// A clock that runs backwards, and ids that contain its time.
struct Backwards(AtomicU64);

impl Ambient for Backwards {
    fn id(&self) -> uuid::Uuid {
        let minute = self.0.fetch_sub(1, Ordering::Relaxed);
        let ms = minute * 60_000;
        uuid::Uuid::from_u64_pair(ms << 16 | 0x7000, 0x8000_0000_0000_0000 | minute)
    }

    fn now(&self) -> Duration {
        Duration::from_secs(60 * self.0.load(Ordering::Relaxed))
    }

    fn roll(&self) -> f64 {
        0.0
    }
}

/// LangGraph orders checkpoints by the time in their ids, and loses the newest turn.
#[tokio::test]
async fn m03_a_clock_that_steps_back_hides_nothing() {
    on_both_savers(async |saver| {
        let graph = chain("back", ["a"], &Stage::default()).ambient(Backwards(AtomicU64::new(30_000_000)));
        let thread = graph.shared_checkpointer(saver).thread("1");
        thread.run(input("1")).await.unwrap().finished().unwrap();
        let second = thread.run(input("2")).await.unwrap().finished().unwrap();
        assert_eq!(second.ran, ["1", "a", "2", "a"]);
        assert_eq!(*thread.head().await.unwrap().state(), second);
        let steps: Vec<i64> =
            thread.history().unwrap().collect().await.unwrap().iter().map(|summary| summary.step).collect();
        assert_eq!(steps, [4, 3, 2, 1, 0, -1]);
    })
    .await;
}

/// Step numbers continue over the turns of a thread.
#[tokio::test]
async fn f16_the_steps_of_a_second_turn_follow_those_of_the_first() {
    on_both_savers(async |saver| {
        let thread =
            chain("turns", ["a", "b", "c"], &Stage::default()).shared_checkpointer(saver).thread("1");
        for text in ["1", "2"] {
            thread.run(input(text)).await.unwrap().finished().unwrap();
        }
        let mut lines = Vec::new();
        for summary in thread.history().unwrap().collect().await.unwrap() {
            let next: Vec<_> = summary.next.iter().map(|node| node.as_str()).collect();
            lines.push(format!("{:?} {} {}", summary.source, summary.step, next.join(",")));
        }
        let expected = [
            "Loop 8 ",
            "Loop 7 c",
            "Loop 6 b",
            "Loop 5 a",
            "Input 4 __start__",
            "Loop 3 ",
            "Loop 2 c",
            "Loop 1 b",
            "Loop 0 a",
            "Input -1 __start__",
        ];
        assert_eq!(lines, expected);
    })
    .await;
}
