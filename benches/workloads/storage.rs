//! Benchmarks of the engine with a store on disk.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use rusqlite::Connection;
use serde_json::Map;
use superstep::checkpoint::{Durability, SqliteSaver};
use tempfile::TempDir;

use crate::engine::{Counter, STEPS, cycle_by_hand, cycle_graph, on_worker, timed_cycle};
use crate::floor::Ledger;
use crate::report::{Figure, median, round};

/// The number of rounds of the workloads that write to the disk.
const ROUNDS: usize = 5;

/// W3: the cycle of W1 with `Process` durability.
pub(crate) fn cycle_process() -> Figure {
    cycle(
        Durability::Process,
        "NORMAL",
        "a checkpoint and a head by hand, WAL NORMAL, ≤ 1.3; raw inserts ≤ 2.5",
    )
}

/// W3p: the cycle of W1 with `Power` durability, the default.
pub(crate) fn cycle_power() -> Figure {
    cycle(Durability::Power, "FULL", "a checkpoint and a head by hand, WAL FULL, ≤ 1.3; raw inserts ≤ 1.3")
}

fn cycle(durability: Durability, synchronous: &'static str, target: &'static str) -> Figure {
    on_worker(async move {
        let (mut values, mut baselines) = (Vec::new(), Vec::new());
        let (mut inserts, mut syncs) = (Vec::new(), Vec::new());
        let mut extra = Map::new();
        for _ in 0..ROUNDS {
            let folder = TempDir::new().expect("a folder for the files");
            let path = folder.path().join("cycle.db");
            let saver =
                SqliteSaver::options().durability(durability).open(&path).await.expect("a new file opens");
            let graph = cycle_graph(STEPS).checkpointer(saver);
            values.push(timed_cycle(&graph).await / 1_000.0);
            drop(graph);
            let bytes = row_bytes(&path) / (STEPS + 2);
            extra.insert("bytes_per_step".into(), bytes.into());
            extra.insert("file_bytes".into(), file_bytes(&path).into());
            baselines.push(by_hand(&folder.path().join("hand.db"), synchronous, bytes).await);
            inserts.push(raw_inserts(&folder.path().join("raw.db"), synchronous, bytes, STEPS));
            syncs.push(sync_us(folder.path()));
        }
        extra.insert("raw_insert_us".into(), round(median(&inserts)).into());
        let to_insert: Vec<f64> = values.iter().zip(&inserts).map(|(value, insert)| value / insert).collect();
        extra.insert("ratio_to_raw_insert".into(), round(median(&to_insert)).into());
        extra.insert("sync_us".into(), round(median(&syncs)).into());
        extra.insert("steps_per_round".into(), STEPS.into());
        Figure { unit: "µs/step", values, baselines, extra, target }
    })
}

/// The cycle by hand, with a row of `bytes` bytes and the head in a transaction for each step, in microseconds.
async fn by_hand(path: &Path, synchronous: &str, bytes: u64) -> f64 {
    let ledger = Ledger::create(path, synchronous);
    let body = "x".repeat(usize::try_from(bytes).expect("a row fits into memory"));
    let mut head = None;
    let begun = Instant::now();
    let commit = move |_: &[_]| ledger.commit(&mut head, &body);
    let counter = cycle_by_hand(STEPS).run(Counter::default(), STEPS, commit).await;
    assert_eq!(counter.count, STEPS, "every step counted");
    begun.elapsed().as_secs_f64() * 1_000_000.0 / STEPS as f64
}

/// The time in which the disk syncs a page that was appended to a file, in microseconds.
pub(crate) fn sync_us(folder: &Path) -> f64 {
    let mut file = File::create(folder.join("synced")).expect("a new file");
    let times: Vec<f64> = (0..50)
        .map(|_| {
            file.write_all(&[1; 4096]).expect("the disk has room");
            let begun = Instant::now();
            file.sync_data().expect("the disk syncs");
            begun.elapsed().as_secs_f64() * 1_000_000.0
        })
        .collect();
    median(&times)
}

/// Returns the size of a file that no program has open, in bytes.
pub(crate) fn file_bytes(path: &Path) -> u64 {
    std::fs::metadata(path).expect("the file is there").len()
}

/// Returns the number of bytes in the columns of all checkpoints.
pub(crate) fn row_bytes(path: &Path) -> u64 {
    let file = Connection::open(path).expect("the file opens");
    let mut columns =
        file.prepare("SELECT name FROM pragma_table_info('checkpoint')").expect("a sound query");
    let names = columns.query_map([], |row| row.get::<_, String>(0)).expect("the columns are listed");
    let lengths: Vec<String> =
        names.map(|name| format!("coalesce(length({}), 0)", name.expect("a column has a name"))).collect();
    let query = format!("SELECT sum({}) FROM checkpoint", lengths.join(" + "));
    let sum: i64 = file.query_row(&query, [], |row| row.get(0)).expect("a sound query");
    u64::try_from(sum).expect("lengths are not negative")
}

/// Returns the time of one of `count` raw inserts of `bytes` bytes, each in its own transaction, in microseconds.
pub(crate) fn raw_inserts(path: &Path, synchronous: &str, bytes: u64, count: u64) -> f64 {
    let file = Connection::open(path).expect("a new file opens");
    file.pragma_update(None, "journal_mode", "WAL").expect("WAL is available");
    file.pragma_update(None, "synchronous", synchronous).expect("a known level");
    file.execute_batch("CREATE TABLE log (id INTEGER PRIMARY KEY, body TEXT)").expect("a new table");
    let body = "x".repeat(usize::try_from(bytes).expect("a row fits into memory"));
    let begun = Instant::now();
    for _ in 0..count {
        let mut insert =
            file.prepare_cached("INSERT INTO log (body) VALUES (?1)").expect("a sound statement");
        insert.execute([&body]).expect("an insert succeeds");
    }
    round(begun.elapsed().as_nanos() as f64 / 1_000.0 / count as f64)
}
