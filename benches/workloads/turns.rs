//! Turns of a conversation: a run each, of one message.

use std::path::Path;
use std::time::Instant;

use serde_json::Map;
use superstep::checkpoint::{Durability, SqliteSaver};
use superstep::prelude::*;
use tempfile::TempDir;

use crate::engine::{Wire, on_worker};
use crate::messages::{Chat, Message, converse};
use crate::report::{Figure, median, round};

/// Turns on one opening of the file.
const TURNS: usize = 500;
/// Openings of W4t.
const OPENINGS: usize = 4;
const ROUNDS: usize = 3;

/// A graph that adds a message and ends.
fn graph() -> Graph<Chat> {
    let mut g = StateGraph::<Chat>::new("chat");
    let say = g.node("say", async |chat: Snapshot<Chat>| {
        Chat::update().messages([Message::number(chat.messages.len() as u64)])
    });
    g.edge(START, say);
    g.edge(say, END);
    g.compile().expect("a graph of one node is sound")
}

/// Opens the file and takes some turns. Returns the time of each in microseconds.
async fn turns(path: &Path) -> Vec<f64> {
    let saver = SqliteSaver::options().durability(Durability::Process).open(path).await;
    let graph = graph().checkpointer(saver.expect("the file opens"));
    let thread = graph.thread("chat");
    let mut times = Vec::with_capacity(TURNS);
    for _ in 0..TURNS {
        let begun = Instant::now();
        let run = thread.run(Chat::update()).await.expect("the turn runs");
        times.push(begun.elapsed().as_secs_f64() * 1_000_000.0);
        assert!(!run.state.messages.is_empty(), "it has its message");
    }
    times
}

fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len() as f64
}

/// W4t: 2,000 turns, the file reopened every 500: the last 500 against the first.
pub(crate) fn reopened() -> Figure {
    on_worker(async {
        let (mut values, mut baselines, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let folder = TempDir::new().expect("a folder for the file");
            let path = folder.path().join("chat.db");
            let mut means = Vec::new();
            for _ in 0..OPENINGS {
                means.push(mean(&turns(&path).await));
            }
            baselines.push(means[0]);
            values.push(means[OPENINGS - 1]);
            all.push(mean(&means));
        }
        let mut extra = Map::new();
        extra.insert("us_of_all".into(), round(median(&all)).into());
        Figure { unit: "µs/turn", values, baselines, extra, target: "the first 500 turns, ≤ 1.3" }
    })
}

/// W16: turns on 10,000 messages, against turns on 100.
pub(crate) fn long() -> Figure {
    on_worker(async {
        let (mut values, mut baselines) = (Vec::new(), Vec::new());
        let (mut first, mut medians) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let folder = TempDir::new().expect("a folder for the files");
            let (long, short) = (folder.path().join("long.db"), folder.path().join("short.db"));
            converse(&long, Wire::Edge, 10_000).await;
            converse(&short, Wire::Edge, 100).await;
            let (at_100, at_10_000) = (turns(&short).await, turns(&long).await);
            baselines.push(mean(&at_100));
            values.push(mean(&at_10_000));
            first.push(at_10_000[0]);
            medians.push(median(&at_10_000) / median(&at_100));
        }
        let mut extra = Map::new();
        extra.insert("us_of_first".into(), round(median(&first)).into());
        extra.insert("ratio_of_medians".into(), round(median(&medians)).into());
        let target = "turns on 100 messages, ≤ 1.3";
        Figure { unit: "µs/turn", values, baselines, extra, target }
    })
}
