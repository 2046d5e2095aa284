//! The cache of nodes: results are used again.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use superstep::checkpoint::SqliteSaver;
use superstep::node::Cache;
use superstep::prelude::*;
use superstep::run::{EventKind, RunEvent};
use superstep::store::{Clock, MemoryStore, Store};

use crate::support::{Calls, Stage, on_both_savers, only};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    topic: String,
    turn: u32,
    #[reducer(Append)]
    said: Vec<String>,
}

fn said(text: impl Into<String>) -> Update<Log> {
    Log::update().said([text.into()])
}

#[derive(Route, Clone, Serialize, Deserialize)]
enum Way {
    Left(u32),
    Right,
}

async fn decide(log: Snapshot<Log>, calls: Dep<Calls>) -> (Update<Log>, Way) {
    calls.note("decide");
    (said(format!("about {}", log.topic)), if log.topic == "a" { Way::Left(7) } else { Way::Right })
}

/// decide, with the given cache, then left or right.
fn deciding(cache: Cache<Log>, stage: &Stage) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let decide = g.node("decide", decide);
    let left = g.node("left", async || said("left"));
    let right = g.node("right", async || said("right"));
    g.policy(decide).cache(cache);
    g.edge(START, decide);
    g.route(decide, move |way| match way {
        Way::Left(_) => to(left),
        Way::Right => to(right),
    });
    g.edge(left, END);
    g.edge(right, END);
    g.compile().expect("sound").with_context(stage.clone())
}

async fn run(graph: &Graph<Log>, topic: &str, turn: u32) -> Vec<String> {
    let run = graph.run(Log::update().topic(topic).turn(turn)).await.expect("it runs");
    run.finished().expect("it finishes").said
}

#[tokio::test]
async fn e12_a_result_is_used_again_with_its_writes_and_its_decision() {
    let stage = Stage::default();
    let cached = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&cached);
    let graph = deciding(Cache::new().key(|log: &Log| log.topic.clone()), &stage);
    let graph = graph.observe(move |event: &RunEvent| {
        if let EventKind::TaskFinished { node, cached: true, .. } = &event.kind {
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(node.to_string());
        }
    });
    assert_eq!(run(&graph, "a", 1).await, ["about a", "left"]);
    assert_eq!(run(&graph, "a", 2).await, ["about a", "left"]);
    assert_eq!(stage.calls.of("decide"), 1);
    assert_eq!(
        *cached.lock().expect("no holder of the lock panics"),
        ["decide"],
        "and it is said in the log"
    );
    assert_eq!(run(&graph, "b", 1).await, ["about b", "right"]);
    assert_eq!(stage.calls.of("decide"), 2, "another key");

    graph.clear_cache().await.expect("it is in memory");
    assert_eq!(run(&graph, "a", 1).await, ["about a", "left"]);
    assert_eq!(stage.calls.of("decide"), 3);
    graph.clear_cache_of("decide").await.expect("there is such a node");
    assert_eq!(run(&graph, "a", 1).await, ["about a", "left"]);
    assert_eq!(stage.calls.of("decide"), 4);
    assert!(graph.clear_cache_of("nobody").await.is_err());
}

#[tokio::test]
async fn without_a_key_the_whole_state_counts() {
    let stage = Stage::default();
    let graph = deciding(Cache::new(), &stage);
    for turn in [1, 1, 2] {
        run(&graph, "a", turn).await;
    }
    assert_eq!(stage.calls.of("decide"), 2);
}

/// A clock that is set by hand.
#[derive(Clone, Default)]
struct Hand(Arc<Mutex<Duration>>);

impl Clock for Hand {
    fn now(&self) -> Duration {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl superstep::run::Ambient for Hand {
    fn id(&self) -> uuid::Uuid {
        uuid::Uuid::now_v7()
    }

    fn now(&self) -> Duration {
        Clock::now(self)
    }

    fn roll(&self) -> f64 {
        0.5
    }
}

#[tokio::test]
async fn a_result_lives_for_its_time() {
    let (stage, hand) = (Stage::default(), Hand::default());
    let cache = Cache::new().key(|log: &Log| log.topic.clone()).time_to_live(Duration::from_secs(60));
    let graph = deciding(cache, &stage).ambient(hand.clone());
    for (seconds, calls) in [(0, 1), (59, 1), (60, 2), (119, 2), (121, 3)] {
        *hand.0.lock().expect("no holder of the lock panics") = Duration::from_secs(seconds);
        run(&graph, "a", 1).await;
        assert_eq!(stage.calls.of("decide"), calls, "after {seconds} s");
    }
}

#[tokio::test]
async fn a_store_shares_results_between_graphs_and_programs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let saver = SqliteSaver::open(folder.path().join("t.db")).await.expect("a new file opens");
    let file = saver.store().await.expect("the file takes a store");
    for store in [Store::new(MemoryStore::new()), file.into()] {
        let stage = Stage::default();
        for _ in 0..2 {
            let graph = deciding(Cache::new(), &stage).cache(store.clone());
            assert_eq!(run(&graph, "a", 1).await, ["about a", "left"]);
        }
        assert_eq!(stage.calls.of("decide"), 1);
    }
}

#[tokio::test]
async fn an_error_is_not_kept() {
    let stage = Stage::default();
    let mut g = StateGraph::<Log, Stage>::new("g");
    let node = g.node("node", async |stage: Dep<Stage>| {
        stage.calls.note("node");
        stage.broken.check("node")?;
        Ok::<_, crate::support::Smashed>(said("done"))
    });
    g.policy(node).cache(Cache::new());
    g.edge(START, node);
    g.edge(node, END);
    let graph = g.compile().expect("sound").with_context(stage.clone());
    stage.broken.smash("node");
    drop(graph.run(Log::update()).await.expect_err("it is broken"));
    stage.broken.mend("node");
    for _ in 0..2 {
        assert_eq!(graph.run(Log::update()).await.expect("it is mended").state.said, ["done"]);
    }
    assert_eq!(stage.calls.of("node"), 2);
}

#[tokio::test]
async fn items_of_each_are_distinguished() {
    #[derive(Route, Serialize, Deserialize)]
    enum Fan {
        Out(Vec<u32>),
    }
    let stage = Stage::default();
    let mut g = StateGraph::<Log, Stage>::new("g");
    let fan = g.node("fan", async || Fan::Out(vec![1, 2, 1]));
    let work = g.node("work", async |item: Input<u32>, calls: Dep<Calls>| {
        calls.note(format!("work {}", *item));
        said(item.to_string())
    });
    g.policy(work).cache(Cache::new());
    g.edge(START, fan);
    g.route(fan, move |Fan::Out(items)| each(work, items));
    g.edge(work, END);
    let graph = g.compile().expect("sound").with_context(stage.clone());
    for _ in 0..2 {
        assert_eq!(graph.run(Log::update()).await.expect("it runs").state.said, ["1", "2", "1"]);
    }
    assert_eq!(stage.calls.of("work 2"), 1);
}

/// A copy runs the next node again, with its effects, unless the node has a cache.
#[tokio::test]
async fn m11_a_copy_uses_what_a_node_with_a_cache_returned() {
    for (cached, calls) in [(false, 2), (true, 1)] {
        on_both_savers(async |saver| {
            let stage = Stage::default();
            let mut g = StateGraph::<Log, Stage>::new("g");
            let node = g.node("node", async |fx: Effects, calls: Dep<Calls>| {
                let effect = || async {
                    calls.note("t");
                    Ok::<_, Infallible>("done".to_owned())
                };
                fx.run("t", effect).await.map(said)
            });
            if cached {
                g.policy(node).cache(Cache::new());
            }
            g.edge(START, node);
            g.edge(node, END);
            let graph = g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver);
            let thread = graph.thread("t");
            thread.run(Log::update()).await.map(drop).expect("it runs");
            thread
                .before_named("node")
                .await
                .expect("it ran")
                .branch()
                .await
                .expect("there is no other writer");
            assert_eq!(thread.resume().await.expect("it runs").state.said, ["done"]);
            assert_eq!(stage.calls.of("t"), calls);
        })
        .await;
    }
}

#[tokio::test]
async fn a_subgraph_uses_the_cache_of_the_graph_around_it() {
    let store = Store::new(MemoryStore::new());
    let stage = Stage::default();
    for _ in 0..2 {
        let inner = only::<Log, _, _>(
            async |calls: Dep<Calls>| {
                calls.note("inside");
                said("inside")
            },
            &stage,
            |node| node.cache(Cache::new()),
        );
        let mut g = StateGraph::<Log>::new("around");
        let sub = g.subgraph("sub", inner, Lens::new().share(Log::TOPIC, Log::TOPIC));
        g.edge(START, sub);
        g.edge(sub, END);
        let graph = g.compile().expect("sound").cache(store.clone());
        graph.run(Log::update()).await.expect("it runs").finished().expect("to the end");
    }
    assert_eq!(stage.calls.take(), ["inside"]);
}
