//! Operations are moved to segments without a visible effect: every value stays the same.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use rusqlite::Connection;
use superstep_checkpoint::maintenance::{self, Retention};
use superstep_checkpoint::{CheckpointReader, Durability, SqliteReader, SqliteSaver};
use superstep_core::checkpoint::{
    At, Checkpoint, CheckpointerExt, Commit, Committed, Loaded, MemorySaver, Source, StoreError,
};
use superstep_core::state::{Change, Op};

use super::written::long;
use crate::material::*;

const PATIENCE: Duration = Duration::from_secs(300);

/// Segments have nothing to do with the disk.
async fn open(path: &Path) -> Saver {
    let saver = SqliteSaver::options().durability(Durability::Process).open(path).await;
    registered(Arc::new(saver.unwrap())).await
}

fn segments(path: &Path, which: &str) -> i64 {
    let file = Connection::open(path).unwrap();
    file.query_row(&format!("SELECT count(*) FROM segment WHERE {which}"), [], |row| row.get(0)).unwrap()
}

/// Returns the changes of a step to the four fields: a list, a keyed list, a map and a set, all of them small.
fn changes(number: usize, what: u8) -> Vec<Change> {
    let key = what % 5;
    let listed = match what % 16 {
        0 => set(0, &format!("[{number}]")),
        1 => extend(0, "[]"),
        2 => extend(0, &format!("[{}]", long(&key.to_string()))),
        3 => change(0, [Op::Extend(json(&format!("[{number}]"))), Op::Extend(json("[\"and\"]"))]),
        _ => extend(0, &format!("[{number}, {{\"é\": {what}}}]")),
    };
    let row = match what % 7 {
        0 => format!(r#"[{{"id":"{key}"}}]"#),
        _ => format!(r#"[{{"id":"{key}","item":{{"id":"{key}","n":{number}}}}}]"#),
    };
    let keyed = change(1, [Op::Keyed(json(&row))]);
    let mapped = match what % 9 {
        0 => change(2, [Op::MapRemove(json(&format!(r#"{{"{key}":null}}"#)))]),
        1 => change(2, [Op::MapPut(json(&format!(r#"{{"{key}":{}}}"#, long("m"))))]),
        _ => change(2, [Op::MapPut(json(&format!(r#"{{"{key}":{number}}}"#)))]),
    };
    let grouped = match what % 3 {
        0 => change(3, [Op::SetRemove(json(&format!("[{key}]")))]),
        _ => change(3, [Op::SetAdd(json(&format!("[{key}]")))]),
    };
    let all = [listed, keyed, mapped, grouped];
    all.into_iter().enumerate().filter(|(at, _)| what >> at & 3 != 3).map(|(_, change)| change).collect()
}

/// The same in a file and in memory.
struct Both {
    file: Saver,
    memory: Saver,
    /// The checkpoints of each thread, the head last.
    threads: Vec<(String, Vec<Checkpoint>)>,
}

impl Both {
    async fn new(path: &Path) -> Self {
        let memory = registered(Arc::new(MemorySaver::new())).await;
        Self { file: open(path).await, memory, threads: Vec::new() }
    }

    async fn put(&mut self, which: usize, from: Option<Checkpoint>, changes: Vec<Change>) {
        let (name, line) = &mut self.threads[which];
        let next = step(from.as_ref(), changes);
        let expected = line.last().map(|head| head.id);
        for saver in [&self.file, &self.memory] {
            let commit = Commit { expected, ..commit_of(name, &next) };
            assert!(matches!(saver.commit(commit).await.unwrap(), Committed::New));
        }
        line.push(next);
    }

    async fn fork(&mut self, which: usize, from: Checkpoint, to: String) {
        let name = self.threads[which].0.clone();
        for saver in [&self.file, &self.memory] {
            saver.fork(&thread(&name), from.id, &thread(&to)).await.unwrap();
        }
        self.threads.push((to, vec![from]));
    }

    /// Compares all whole checkpoints.
    async fn compare(&self, path: &Path) {
        let reader = SqliteReader::open(path).unwrap();
        for (name, _) in &self.threads {
            for step in reader.steps(&thread(name), &At::Head, usize::MAX).unwrap() {
                if step.checkpoint.source == Source::Pruned {
                    break;
                }
                let read = at(&self.file, name, step.checkpoint.id).await;
                let expected = at(&self.memory, name, step.checkpoint.id).await;
                assert_eq!(read.checkpoint, expected.checkpoint);
                assert_eq!(read.checkpoint, step.checkpoint);
                same_values(&read, &expected);
            }
        }
        let verified = maintenance::verify(path).unwrap();
        assert_eq!(verified.findings, []);
    }
}

/// As values: texts may differ in white space.
fn same_values(read: &Loaded, expected: &Loaded) {
    let values = |loaded: &Loaded| -> Vec<(u16, serde_json::Value)> {
        let values = loaded.values.iter();
        values.map(|value| (value.field.0, value.value.decode().unwrap())).collect()
    };
    assert_eq!(values(read), values(expected), "checkpoint {}", read.checkpoint.id);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_version_folds_to_what_it_was(actions in proptest::collection::vec(any::<(u8, u16, u8)>(), 40..160)) {
        run(async {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("t.db");
            let mut both = Both::new(&path).await;
            both.threads.push(("t".into(), Vec::new()));
            let mut current = 0;
            for (number, (which, back, what)) in actions.into_iter().enumerate() {
                let line = &both.threads[current].1;
                let head = line.last().cloned();
                let older = head.as_ref().map(|_| line[usize::from(back) % line.len()].clone());
                let is_whole = older.as_ref().is_some_and(|older| {
                    let reader = SqliteReader::open(&path).unwrap();
                    reader.load(&thread(&both.threads[current].0), &At::Id(older.id)).is_ok_and(|loaded| {
                        loaded.is_some_and(|loaded| loaded.checkpoint.source != Source::Pruned)
                    })
                });
                match which % 40 {
                    0 => {
                        both.file = open(&path).await;
                    }
                    1 if is_whole => {
                        both.put(current, older, changes(number, what)).await;
                    }
                    2 if is_whole => {
                        both.fork(current, older.unwrap(), format!("f{number}")).await;
                        current = both.threads.len() - 1;
                    }
                    3 => current = usize::from(back) % both.threads.len(),
                    4 => {
                        let retention = Retention::new().keep_last(usize::from(what) % 90);
                        maintenance::prune(&path, &retention, PATIENCE).unwrap();
                        if back % 2 == 0 {
                            maintenance::collect(&path, PATIENCE).unwrap();
                        }
                    }
                    _ => both.put(current, head, changes(number, what)).await,
                }
            }
            both.compare(&path).await;
            maintenance::prune(&path, &Retention::new().keep_last(3), PATIENCE).unwrap();
            maintenance::collect(&path, PATIENCE).unwrap();
            both.compare(&path).await;
            for (name, _) in &both.threads[1..] {
                both.file.delete(&"graph".into(), &thread(name)).await.unwrap();
            }
            both.threads.truncate(1);
            both.compare(&path).await;
            let unused = maintenance::verify(&path).unwrap().unused;
            assert_eq!((unused.bodies, unused.segments), (0, 0), "deletions leave nothing");
        });
    }
}

/// A thread of `count` checkpoints, each of which overwrites one of five entries.
async fn overwriting(saver: &Saver, name: &str, count: usize) -> Vec<Checkpoint> {
    let mut line: Vec<Checkpoint> = Vec::new();
    for number in 0..count {
        let entry = format!(r#"{{"key {}":"value number {number}"}}"#, number % 5);
        let next = advance(saver, name, line.last(), [change(2, [Op::MapPut(json(&entry))])]).await;
        line.push(next);
    }
    line
}

/// The operations folded for a load do not grow with the history: the whole value is stored now and then.
#[test]
fn a_value_that_is_overwritten_is_read_without_its_history() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let saver = open(&path).await;
        let line = overwriting(&saver, "t", 1_500).await;
        saver.flush(&thread("t")).await.unwrap();
        assert!(segments(&path, "whole NOT NULL") > 15, "nearly every one ends with the whole value");
        let file = Connection::open(&path).unwrap();
        let all: i64 =
            file.query_row("SELECT sum(octet_length(text)) FROM segment", [], |row| row.get(0)).unwrap();
        let whole: i64 =
            file.query_row("SELECT sum(octet_length(whole)) FROM segment", [], |row| row.get(0)).unwrap();
        assert!(whole * 2 <= all, "{whole} bytes of whole values for {all} of operations");
        // Rows and segments that the head does not need may be damaged.
        file.execute_batch(
            "UPDATE segment SET text = 'x' WHERE id < (SELECT max(id) - 1 FROM segment);
             UPDATE checkpoint SET changes = 'x' WHERE seq < 1400",
        )
        .unwrap();
        let value: serde_json::Value = head(&saver, "t").await.values[0].value.decode().unwrap();
        assert_eq!(value["key 4"], "value number 1499");
        let damaged = saver.read(&thread("t"), At::Id(line[100].id)).await.unwrap_err();
        assert!(matches!(damaged, StoreError::Corrupt { .. }), "{damaged}");
    });
}

/// A segment that is damaged is named, and never read as a value.
#[test]
fn a_damaged_segment_is_no_value() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let saver = open(&path).await;
        let mut line = overwriting(&saver, "t", 70).await;
        for number in 0..140 {
            let next = [extend(0, &format!("[\"item number {number}\"]"))];
            line.push(advance(&saver, "t", line.last(), next).await);
        }
        let whole = head(&saver, "t").await;
        drop(saver);
        assert!(segments(&path, "is_list = 1") >= 2 && segments(&path, "is_list = 0") >= 1);
        let text = std::fs::read(&path).unwrap();
        let damages = [
            "UPDATE segment SET text = replace(text, 'number 7', 'number 8')",
            "UPDATE segment SET ends = replace(ends, '[', '[ ')",
            "UPDATE segment SET prev = prev - 1",
            "UPDATE segment SET prev_field = 1",
            "UPDATE segment SET versions = versions - 1",
            "UPDATE segment SET is_list = 1 - is_list",
            "UPDATE segment SET whole = NULL WHERE whole NOT NULL",
            "UPDATE segment SET weight = weight + 1",
            "UPDATE segment SET thread = 2",
            "UPDATE segment SET id = id + 100",
            "UPDATE segment SET id = -id; UPDATE segment SET id = id + 4",
            "DELETE FROM segment",
        ];
        for damage in damages {
            std::fs::write(&path, &text).unwrap();
            Connection::open(&path).unwrap().execute_batch(damage).unwrap();
            let reader = SqliteReader::open(&path).unwrap();
            let mut damaged = 0;
            for checkpoint in line.iter().step_by(7) {
                match reader.load(&thread("t"), &At::Id(checkpoint.id)) {
                    Err(StoreError::Corrupt { .. }) => damaged += 1,
                    Err(other) => panic!("{damage}: {other}"),
                    Ok(loaded) => assert_eq!(loaded.unwrap().checkpoint, *checkpoint, "{damage}"),
                }
            }
            assert!(damaged > 8, "{damage}: {damaged}");
            assert!(!maintenance::verify(&path).unwrap().is_sound(), "{damage}");
        }
        std::fs::write(&path, &text).unwrap();
        assert_eq!(SqliteReader::open(&path).unwrap().load(&thread("t"), &At::Head).unwrap(), Some(whole));
    });
}

/// A writer continues when the operations to be moved are damaged, and the damage is left unchanged.
#[test]
fn a_damaged_version_does_not_stop_who_writes() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let saver = open(&path).await;
        let line = overwriting(&saver, "t", 40).await;
        saver.flush(&thread("t")).await.unwrap();
        let damage = "UPDATE checkpoint SET changes = replace(changes, 'number 20', 'number 21')";
        Connection::open(&path).unwrap().execute_batch(damage).unwrap();
        let mut last = line[39].clone();
        for number in 0..200 {
            last = advance(
                &saver,
                "t",
                Some(&last),
                [change(2, [Op::MapPut(json(&format!(r#"{{"k":{number}}}"#)))])],
            )
            .await;
        }
        let damaged = saver.read(&thread("t"), At::Head).await.unwrap_err();
        assert!(matches!(damaged, StoreError::Corrupt { .. }), "{damaged}");
        assert!(saver.read(&thread("t"), At::Id(line[10].id)).await.unwrap().is_some());
        let next = advance(&saver, "t", Some(&last), [set(2, "{}")]).await;
        assert_eq!(head(&saver, "t").await.checkpoint, next);
    });
}

/// While a program writes and moves operations, its past is pruned and unused data is collected.
#[test]
fn segments_are_made_beside_a_pruning() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let saver = open(&path).await;
        let mut line = overwriting(&saver, "t", 30).await;
        let stop = std::sync::atomic::AtomicBool::new(false);
        let (path, stop) = (&path, &stop);
        std::thread::scope(|scope| {
            let pruning = scope.spawn(move || {
                let mut pruned = 0;
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let retention = Retention::new().keep_last(90);
                    pruned += maintenance::prune(path, &retention, PATIENCE).unwrap().checkpoints;
                    maintenance::collect(path, PATIENCE).unwrap();
                }
                pruned
            });
            tokio::task::block_in_place(|| {
                tokio::runtime::Handle::current().block_on(async {
                    for number in 0..500 {
                        let entry = format!(r#"{{"{}":"{}"}}"#, number % 9, "v".repeat(number % 50));
                        let next = [extend(0, &format!("[{number}]")), change(2, [Op::MapPut(json(&entry))])];
                        line.push(advance(&saver, "t", line.last(), next).await);
                    }
                });
            });
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(pruning.join().unwrap() > 100);
        });
        let loaded = head(&saver, "t").await;
        let list: Vec<usize> = loaded.values[0].value.decode().unwrap();
        assert_eq!(list, (0..500).collect::<Vec<_>>());
        let made = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'segment'";
        let made: i64 = Connection::open(path).unwrap().query_row(made, [], |row| row.get(0)).unwrap();
        assert!(made > 4, "{made}");
        assert_eq!(maintenance::verify(path).unwrap().findings, []);
    });
}
