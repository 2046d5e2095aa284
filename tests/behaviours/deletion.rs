//! Deleting a thread.

use std::sync::Arc;

use superstep::checkpoint::{Checkpointer, StoreError};
use superstep::prelude::*;
use superstep::run::ThreadError;

use crate::support::on_both_savers;

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    v: Vec<String>,
}

async fn mark(task: TaskInfo) -> Update<Log> {
    Log::update().v([task.node().as_str()])
}

/// `a`, then `b`, then `c`.
fn abc(saver: Arc<dyn Checkpointer>) -> Graph<Log> {
    let mut g = StateGraph::<Log>::new("abc");
    let [a, b, c] = ["a", "b", "c"].map(|name| g.node(name, mark));
    g.edge(START, a);
    g.edge(a, b);
    g.edge(b, c);
    g.edge(c, END);
    g.compile().expect("sound").shared_checkpointer(saver)
}

async fn length(thread: &Thread<Log>) -> usize {
    thread.history().expect("a store").collect().await.expect("it reads").len()
}

/// LangGraph shows an empty state.
#[tokio::test]
async fn o15_a_deleted_thread_is_as_if_it_had_never_run() {
    on_both_savers(|saver| async move {
        let graph = abc(saver);
        let thread = graph.thread("1");
        let id = thread.run(Log::update()).await.expect("no node fails").checkpoint.expect("a store");
        graph.thread("2").run(Log::update()).await.map(drop).expect("no node fails");
        thread.delete().await.expect("it is this graph's");
        assert!(matches!(thread.state().await, Err(ThreadError::NeverRan(_))));
        assert!(matches!(thread.at(id).await, Err(ThreadError::NeverRan(_))));
        assert!(matches!(thread.resume().await, Err(RunError::NothingToResume { .. })));
        assert_eq!((length(&thread).await, length(&graph.thread("2")).await), (0, 5));
        let listed = graph.threads().await.expect("it reads");
        assert_eq!(listed.iter().map(|thread| thread.thread.as_str()).collect::<Vec<_>>(), ["2"]);
        // Nothing is left to delete, and reusing the name brings back nothing of the old thread.
        thread.delete().await.expect("there is no thread, which is what was wanted");
        assert_eq!(thread.run(Log::update()).await.expect("no node fails").state.v, ["a", "b", "c"]);
        assert_eq!(length(&thread).await, 5);
    })
    .await;
}

#[tokio::test]
async fn forks_of_a_deleted_thread_keep_the_past_that_they_share() {
    on_both_savers(|saver| async move {
        let thread = abc(saver).thread("t");
        thread.run(Log::update().v(["in"])).await.map(drop).expect("no node fails");
        let fork = thread.before_named("b").await.expect("it ran").fork("f").await.expect("free");
        let shared = length(&fork).await;
        thread.delete().await.expect("it is this graph's");
        assert_eq!(fork.resume().await.expect("no node fails").state.v, ["in", "a", "b", "c"]);
        assert_eq!(length(&fork).await, shared + 2);
        let before = fork.before_named("a").await.expect("that is shared");
        assert_eq!(before.state().v, ["in"]);
        before.branch().await.expect("there is no other writer");
        assert_eq!(fork.resume().await.expect("no node fails").state.v, ["in", "a", "b", "c"]);
    })
    .await;
}

#[tokio::test]
async fn a_fork_continues_with_a_subgraph_that_its_deleted_origin_kept() {
    on_both_savers(|saver| async move {
        let mut inner = StateGraph::<Log>::new("inner");
        let count =
            inner.node("count", async |log: Snapshot<Log>| Log::update().v([(log.v.len() + 1).to_string()]));
        inner.edge(START, count);
        inner.edge(count, END);
        let mut g = StateGraph::<Log>::new("outer");
        let lens = Lens::new().keep("count").take_with(|inner: &Log| Log::update().v([inner.v.join("-")]));
        let sub = g.subgraph("sub", inner.compile().expect("sound"), lens);
        g.edge(START, sub);
        g.edge(sub, END);
        let thread = g.compile().expect("sound").shared_checkpointer(saver).thread("t");
        for _ in 0..2 {
            thread.run(Log::update()).await.map(drop).expect("no node fails");
        }
        let fork = thread.head().await.expect("it ran").fork("f").await.expect("free");
        thread.delete().await.expect("it is this graph's");
        assert_eq!(thread.run(Log::update()).await.expect("no node fails").state.v, ["1"]);
        assert_eq!(fork.run(Log::update()).await.expect("no node fails").state.v, ["1", "1-2", "1-2-3"]);
    })
    .await;
}

/// A run that began before must not bring a deleted thread back.
#[tokio::test]
async fn a_run_on_a_thread_that_is_deleted_stores_nothing_more() {
    for with_subgraph in [false, true] {
        on_both_savers(|saver| async move {
            let mut g = StateGraph::<Log>::new("deleted");
            let (go, gate) = tokio::sync::oneshot::channel::<()>();
            let gate = Arc::new(tokio::sync::Mutex::new(Some(gate)));
            let wait = g.node("wait", move || {
                let gate = Arc::clone(&gate);
                async move {
                    let gate = gate.lock().await.take().expect("it runs once");
                    gate.await.expect("the test opens it");
                    Log::update().v(["waited"])
                }
            });
            g.edge(START, wait);
            g.edge(wait, END);
            if with_subgraph {
                // It begins when `wait` has ended.
                let inner = abc(Arc::clone(&saver));
                let after = g.subgraph("x", inner, Lens::new().share(Log::V, Log::V));
                g.edge(START, after);
                g.edge(after, END);
            }
            let graph = g.compile().expect("sound").shared_checkpointer(saver).max_concurrency(1);
            let thread = graph.thread("t");
            let run = tokio::spawn(thread.run(Log::update()).into_future());
            while thread.head().await.map_or(true, |head| head.step() < 0) {
                tokio::task::yield_now().await;
            }
            thread.delete().await.expect("it is this graph's");
            go.send(()).expect("the node waits");
            let lost = run.await.expect("it does not panic").expect_err("its thread is gone");
            assert!(matches!(lost, RunError::Superseded { .. }), "{lost}");
            assert_eq!(graph.threads().await.expect("it reads"), []);
        })
        .await;
    }
}

#[tokio::test]
async fn only_a_thread_of_the_graph_itself_is_deleted() {
    on_both_savers(|saver| async move {
        let graph = abc(Arc::clone(&saver));
        graph.thread("t").run(Log::update()).await.map(drop).expect("no node fails");
        let mut other = StateGraph::<Log>::new("other");
        let a = other.node("a", mark);
        other.edge(START, a);
        other.edge(a, END);
        let other = other.compile().expect("sound");
        let stored = other.clone().shared_checkpointer(saver);
        let wrong = stored.thread("t").delete().await.expect_err("it is of another graph");
        assert!(matches!(wrong, ThreadError::Store(StoreError::WrongGraph { .. })), "{wrong}");
        let task = superstep::id::TaskId::from_bytes([7; 16]);
        let below = stored.thread(stored.thread("t").id().below(task)).delete().await;
        assert!(matches!(below, Err(ThreadError::Subgraph(_))), "{below:?}");
        assert!(matches!(other.thread("t").delete().await, Err(ThreadError::NoCheckpointer)));
        assert_eq!(length(&graph.thread("t")).await, 5);
    })
    .await;
}
