//! Benchmarks of encryption.

use std::time::Instant;

use serde_json::Map;
use superstep::checkpoint::{Durability, Key, KeyRing, SqliteOptions, SqliteSaver};
use superstep::prelude::*;
use tempfile::TempDir;

use crate::engine::on_worker;
use crate::report::{Figure, median, round};
use crate::storage::file_bytes;

const STEPS: u64 = 1_000;
const ROUNDS: usize = 5;

/// A text of 10 kB, which each step replaces with another one.
#[derive(State, Clone, Debug, Default)]
struct Page {
    step: u64,
    text: String,
}

async fn rewrite(page: Snapshot<Page>) -> Update<Page> {
    let step = page.step + 1;
    Page::update().step(step).text(format!("{step:08}").repeat(1_250))
}

/// W12: a step that stores 10 kB, in an encrypted file against a plain one.
pub(crate) fn encrypted() -> Figure {
    on_worker(async {
        let (mut values, mut baselines, mut added) = (Vec::new(), Vec::new(), Vec::new());
        let mut extra = Map::new();
        for _ in 0..ROUNDS {
            let options = || SqliteSaver::options().durability(Durability::Process);
            let keys = KeyRing::new("key", Key::new([7; Key::BYTES]));
            let (plain, plain_bytes) = timed(options()).await;
            let (sealed, bytes) = timed(options().encrypt(keys)).await;
            extra.insert("file_bytes".into(), bytes.into());
            extra.insert("plain_file_bytes".into(), plain_bytes.into());
            values.push(sealed);
            baselines.push(plain);
            added.push(sealed - plain);
        }
        extra.insert("added_us_per_10_kb".into(), round(median(&added)).into());
        let target = "the same step in a plain file; ≤ 20 µs more";
        Figure { unit: "µs/step", values, baselines, extra, target }
    })
}

/// Returns the time of a step in microseconds, and the size of the file in bytes.
async fn timed(options: SqliteOptions) -> (f64, u64) {
    let folder = TempDir::new().expect("a folder for the files");
    let path = folder.path().join("pages.db");
    let mut g = StateGraph::<Page>::new("pages");
    let rewrite = g.node("rewrite", rewrite);
    g.edge(START, rewrite);
    g.edge(rewrite, rewrite);
    g.edge(rewrite, END);
    let graph = g.compile().expect("a loop is a sound graph").recursion_limit(STEPS);
    let graph = graph.checkpointer(options.open(&path).await.expect("a new file opens"));
    let begun = Instant::now();
    let run = graph.thread("page").run(Page::update()).await.expect("the loop runs");
    let taken = begun.elapsed().as_secs_f64() * 1_000_000.0 / STEPS as f64;
    assert_eq!(run.state.step, STEPS, "every step counted");
    drop(graph);
    (taken, file_bytes(&path))
}
