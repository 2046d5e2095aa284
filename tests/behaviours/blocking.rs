//! Nodes that block their thread.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use superstep::error::NodeErrorKind;
use superstep::prelude::*;
use tokio::runtime::Handle;

use crate::support::{Calls, Smashed, Stage, on_both_savers};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    v: Vec<String>,
}

fn wrote(text: impl Into<String>) -> Update<Log> {
    Log::update().v([text.into()])
}

#[tokio::test]
async fn a_plain_function_can_be_a_node() {
    on_both_savers(|saver| async move {
        fn node(log: Snapshot<Log>, task: TaskInfo, calls: Dep<Calls>) -> Result<Update<Log>, Smashed> {
            calls.note(std::thread::current().name().unwrap_or_default());
            Ok(wrote(format!("{} after {}", task.node(), log.v.len())))
        }
        let mut g = StateGraph::<Log, Stage>::new("g");
        let node = g.node("node", blocking(node));
        g.edge(START, node);
        g.edge(node, END);
        let stage = Stage::default();
        let graph = g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver);
        let run = graph.run(wrote("in")).await.expect("no node fails");
        assert_eq!(run.state.v, ["in", "node after 1"]);
        assert_eq!(stage.calls.take(), ["superstep-blocking"]);
    })
    .await;
}

#[tokio::test]
async fn errors_panics_and_retries_are_those_of_any_node() {
    let mut g = StateGraph::<Log>::new("g");
    let node = g.node(
        "node",
        blocking(|task: TaskInfo| match task.attempt() {
            1 => Err(NodeError::retryable("busy")),
            _ => panic!("a bug"),
        } as Result<(), NodeError>),
    );
    g.policy(node).retry(Retry::fixed(5, Duration::ZERO));
    g.edge(START, node);
    g.edge(node, END);
    let error = g.compile().expect("sound").run(Log::update()).await.expect_err("it panics");
    let RunError::Node(failure) = error else { panic!("{error}") };
    assert_eq!((failure.attempt, failure.error.kind()), (2, NodeErrorKind::Panicked));
    assert_eq!(failure.error.to_string(), "a bug");
}

/// The runtime has one thread: if the function ran there, its sibling could never unblock it.
#[tokio::test]
async fn tasks_beside_a_blocked_one_continue() {
    let (free, freed) = mpsc::channel::<()>();
    let freed = Arc::new(Mutex::new(freed));
    let mut g = StateGraph::<Log>::new("g");
    let waits = g.node(
        "waits",
        blocking(move || {
            freed.lock().expect("no holder of the lock panics").recv().expect("it is freed");
            wrote("waits")
        }),
    );
    let frees = g.node("frees", move || {
        let free = free.clone();
        async move {
            tokio::task::yield_now().await;
            free.send(()).expect("it waits");
            wrote("frees")
        }
    });
    for node in [waits, frees] {
        g.edge(START, node);
        g.edge(node, END);
    }
    let run = g.compile().expect("sound").run(Log::update()).await.expect("no node fails");
    assert_eq!(run.state.v, ["frees", "waits"]);
}

/// Graphs inside blocking nodes inside graphs, more of them than tokio's pool has threads: each level blocks its thread
/// while it waits for the level below.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nested_graphs_cannot_run_out_of_threads() {
    fn nested(depth: usize) -> Graph<Log> {
        let mut g = StateGraph::<Log>::new("g");
        let node = g.node(
            "node",
            blocking(move || {
                let mut below = match depth {
                    0 => Vec::new(),
                    depth => {
                        let run =
                            Handle::current().block_on(nested(depth - 1).run(Log::update()).into_future());
                        run.map_err(|error| error.to_string())?.into_state().v
                    }
                };
                below.push(depth.to_string());
                Ok::<_, NodeError>(Log::update().v(below))
            }),
        );
        g.edge(START, node);
        g.edge(node, END);
        g.compile().expect("sound")
    }
    let run = nested(600).run(Log::update()).await.expect("no node fails");
    assert_eq!(run.state.v.len(), 601);
}

#[tokio::test]
async fn what_a_function_gives_after_its_time_is_discarded() {
    let (tell, told) = tokio::sync::oneshot::channel::<bool>();
    let (free, freed) = mpsc::channel::<()>();
    let (tell, freed) = (Mutex::new(Some(tell)), Mutex::new(freed));
    let mut g = StateGraph::<Log>::new("g");
    let node = g.node(
        "node",
        blocking(move |task: TaskInfo| {
            freed.lock().expect("no holder of the lock panics").recv().expect("it is freed");
            let tell = tell.lock().expect("no holder of the lock panics").take().expect("it runs once");
            tell.send(task.is_cancelled()).expect("a task waits");
            wrote("late")
        }),
    );
    g.policy(node).timeout(Duration::from_millis(1)).on_error(|| async { wrote("gave up") });
    g.edge(START, node);
    g.edge(node, END);
    let run = g.compile().expect("sound").run(Log::update()).await.expect("the timeout is handled");
    assert_eq!(run.state.v, ["gave up"]);
    free.send(()).expect("it still waits");
    assert!(told.await.expect("it goes on to its end"), "it could see that it was given up");
}

#[test]
fn a_function_that_would_wait_for_ever_is_refused() {
    let mut g = StateGraph::<Log>::new("g");
    let asks = g.node("asks", blocking(|_: Ask<String, String>| {}));
    let effects = g.node("effects", blocking(|_: Effects| {}));
    g.edge(START, asks);
    g.edge(asks, effects);
    g.edge(effects, END);
    let error = g.compile().expect_err("both may wait for ever").to_string();
    assert_eq!(error.matches("blocks its thread and takes `Ask` or `Effects`").count(), 2, "{error}");
}
