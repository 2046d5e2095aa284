//! Unfinished threads of older releases are continued, and replays of finished ones give the same results.

use std::sync::Arc;

use superstep::checkpoint::{At, Checkpointer, CheckpointerExt, SqliteReader};
use superstep::prelude::*;

use crate::releases::files::{Copy, FORMATS};
use crate::releases::program::{GRAPHS, World, expected, go_on, graph};

/// The unfinished work of the stopped thread of a graph: no finished work is repeated.
fn left(name: &str) -> &'static [&'static str] {
    match name {
        "chain" | "fan-out" | "subgraph" => &["write", "close"],
        "ask" => &["inquire", "close"],
        "effect" => &["ship", "close"],
        other => unreachable!("there is no graph {other}"),
    }
}

async fn open(file: &Copy) -> Arc<dyn Checkpointer> {
    Arc::new(SqliteSaver::open(&file.path).await.unwrap())
}

#[tokio::test]
async fn what_is_unfinished_comes_to_the_end_it_would_have_come_to() {
    for format in FORMATS {
        let file = Copy::of(format);
        let saver = open(&file).await;
        for name in GRAPHS {
            let world = World::default();
            let thread =
                graph(name, &world).shared_checkpointer(saver.clone()).thread(format!("{name} open"));
            let head = saver.read(thread.id(), At::Head).await.unwrap().unwrap();
            let resumed = thread.resume().await;
            let end = go_on(&thread, resumed, &world).await.unwrap();
            assert_eq!(end, expected(name).await, "{name} of format {format}");
            assert_eq!(world.take(), left(name), "{name} of format {format}");
            // The state and the graph are the same: no upgrade is needed.
            let end = saver.read(thread.id(), At::Head).await.unwrap().unwrap();
            assert_eq!(end.checkpoint.schema, head.checkpoint.schema, "{name} of format {format}");
            assert_eq!(end.checkpoint.topology, head.checkpoint.topology, "{name} of format {format}");
        }
        drop(saver);
        let verified = superstep::checkpoint::maintenance::verify(&file.path).unwrap();
        assert_eq!((verified.format, verified.findings), (SqliteReader::FORMAT, Vec::new()));
    }
}

/// Compares ids, writes, routes, effects and answers of every superstep byte for byte; returns the first difference.
#[tokio::test]
async fn what_is_finished_comes_out_as_it_is_recorded() {
    for format in FORMATS {
        let file = Copy::of(format);
        let saver = open(&file).await;
        for name in GRAPHS {
            let world = World::default();
            let trips = graph(name, &world).shared_checkpointer(saver.clone());
            let mut threads = vec![format!("{name} done"), format!("{name} open")];
            threads.extend((name == "chain").then(|| "chain fork".to_owned()));
            for thread in threads {
                let replay = trips.thread(&*thread).replay().await.unwrap().agrees();
                let replay = replay.unwrap_or_else(|error| panic!("{thread} of format {format}: {error}"));
                assert!(replay.supersteps > 1, "{thread} of format {format}");
                assert_eq!(
                    replay.unverified.len(),
                    0,
                    "{thread} of format {format}: {:?}",
                    replay.unverified
                );
            }
        }
    }
}
