//! Runs while their database is away.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use superstep::checkpoint::PostgresSaver;
use superstep::prelude::*;
use superstep::run::Graph;

use crate::cluster::Cluster;

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Counter {
    #[reducer(Sum)]
    count: u32,
}

/// The numbers of executions of both nodes.
type Ran = Arc<[AtomicU32; 2]>;

/// A chain of two nodes. The second one stops the server when it is first executed; it may start the server again.
fn chain(cluster: &Arc<Cluster>, starts: bool) -> (Graph<Counter>, Ran) {
    let ran = Ran::default();
    let mut g = StateGraph::<Counter>::new("chain");
    let first = g.node("first", {
        let ran = Arc::clone(&ran);
        move || {
            ran[0].fetch_add(1, Ordering::SeqCst);
            async { Counter::update().count(1) }
        }
    });
    let second = g.node("second", {
        let (ran, cluster) = (Arc::clone(&ran), Arc::clone(cluster));
        move || {
            let (is_first, cluster) = (ran[1].fetch_add(1, Ordering::SeqCst) == 0, Arc::clone(&cluster));
            async move {
                if is_first {
                    let stopped = Arc::clone(&cluster);
                    tokio::task::spawn_blocking(move || stopped.stop()).await.expect("it stops");
                }
                if is_first && starts {
                    std::thread::spawn(move || cluster.start());
                }
                Counter::update().count(1)
            }
        }
    });
    g.edge(START, first);
    g.edge(first, second);
    g.edge(second, END);
    (g.compile().expect("sound"), ran)
}

fn counts(ran: &Ran) -> [u32; 2] {
    [0, 1].map(|node: usize| ran[node].load(Ordering::SeqCst))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_waits_for_a_database_that_restarts() {
    let Some(cluster) = Cluster::own() else { return };
    let saver = PostgresSaver::open(cluster.url("superstep")).await.expect("it opens");
    let (graph, ran) = chain(&cluster, true);
    let run = graph.checkpointer(saver).thread("t").run(Counter::update()).await.expect("it waits");
    assert_eq!((run.status, run.state.count, counts(&ran)), (Status::Finished, 2, [1, 1]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_fails_if_its_database_stays_away_and_is_resumed() {
    let Some(cluster) = Cluster::own() else { return };
    let options = PostgresSaver::options().busy_limit(Duration::from_millis(300));
    let saver = options.open(cluster.url("superstep")).await.expect("it opens");
    let (graph, ran) = chain(&cluster, false);
    let thread = graph.checkpointer(saver).thread("t");
    let error = thread.run(Counter::update()).await.expect_err("the database is away");
    let text = "failed to connect to the database: error connecting to server: No such file or directory (os error 2); check its \
                address and that it is running";
    assert!(error.to_string().ends_with(text), "{error}");
    assert_eq!(counts(&ran), [1, 1]);
    let started = Arc::clone(&cluster);
    tokio::task::spawn_blocking(move || started.start()).await.expect("it starts");
    let run = thread.resume().await.expect("the database is there");
    // The result of the second node was lost.
    assert_eq!((run.status, run.state.count, counts(&ran)), (Status::Finished, 2, [1, 2]));
}
