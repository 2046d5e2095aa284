//! A damaged row is an error, never a value.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::types::Value;
use superstep_checkpoint::SqliteSaver;
use superstep_core::checkpoint::{
    Acquired, AnsweredBy, AskRecord, At, CheckpointerExt, Claim, Commit, Committed, Deadline, EffectId,
    EffectRecord, Emitted, EmittedEvent, LeaseRecord, Loaded, StepRecord, StoreError, Summary, ThreadSummary,
};
use superstep_core::id::{CheckpointId, InterruptId};

use crate::material::*;

/// Everything that can be read of the file.
#[derive(Debug, PartialEq)]
struct All {
    loaded: Vec<Loaded>,
    history: Vec<Summary>,
    threads: Vec<ThreadSummary>,
    steps: Vec<StepRecord>,
    leases: Vec<LeaseRecord>,
}

async fn read(path: &std::path::Path, ids: &[CheckpointId]) -> Result<All, StoreError> {
    let saver: Saver = Arc::new(SqliteSaver::open(path).await?);
    let name = thread("t");
    let mut loaded = Vec::new();
    loaded.extend(saver.read(&name, At::Head).await?);
    for id in ids {
        loaded.extend(saver.read(&name, At::Id(*id)).await?);
    }
    Ok(All {
        loaded,
        history: saver.history(&name, At::Head, 99).await?,
        threads: saver.threads().await?,
        steps: saver.steps(&name, At::Head, 99).await?,
        leases: saver.leases().await?,
    })
}

async fn write(path: &std::path::Path) -> Vec<CheckpointId> {
    let saver = registered(Arc::new(SqliteSaver::open(path).await.unwrap())).await;
    let long = format!("[\"{}\"]", "x".repeat(5000));
    let first = advance(&saver, "t", None, [set(0, "[1]"), set(1, "\"one\"")]).await;
    let second = advance(&saver, "t", Some(&first), [extend(0, &long), set(2, "2")]).await;
    let third = step(Some(&second), [extend(0, "[3]"), set(1, "\"two\"")]);
    let said = Emitted { dropped: 1, events: vec![EmittedEvent::Message { at_ms: 7, chunk: json("\"a\"") }] };
    let commit = Commit { emitted: vec![(0, said.clone()), (5, said)], ..commit_of("t", &third) };
    assert!(matches!(saver.commit(commit).await.unwrap(), Committed::New));
    let name = thread("t");
    for number in 1..3 {
        saver.record_result(&name, third.id, result(number, "1")).await.unwrap();
        let ask = AskRecord {
            id: InterruptId::from_bytes([number; 16]),
            task: task(number),
            node: "n".into(),
            path: Vec::new(),
            key: "0".into(),
            argument: Some(0),
            question: json(&number.to_string()),
            deadline: Some(Deadline { at_ms: 1, default: json("0") }),
            answer: None,
            answered_by: AnsweredBy::Caller,
        };
        saver.ask(&name, third.id, vec![ask]).await.unwrap();
        let id = EffectId { task: task(number), name: "call".into(), key: "key".into(), occurrence: 0 };
        let effect = EffectRecord {
            id,
            attempt: 1,
            starts: 1,
            token: superstep_core::id::IdempotencyKey::from_bytes([3; 16]),
            outcome: None,
        };
        saver.begin_effect(&name, third.id, effect).await.unwrap();
    }
    let claim = Claim { thread: name, holder: "somebody".into(), ttl: Duration::from_secs(60) };
    assert!(matches!(saver.acquire(claim).await.unwrap(), Acquired::Now(_)));
    vec![first.id, second.id, third.id]
}

/// Columns in which a change cannot be seen from the row alone, with the reason.
///
/// An index holds its own copy of these, so after the change the row is not found by its old value; reading the row in
/// another way is an error.
const LOOKED_UP_BY: &[(&str, &str)] = &[
    ("thread", "name"),
    ("pending", "thread"),
    ("pending", "base"),
    ("ask", "thread"),
    ("ask", "base"),
    ("effect", "thread"),
    ("effect", "base"),
    ("emitted", "checkpoint"),
];

fn altered(value: &Value) -> Vec<Value> {
    match value {
        Value::Integer(number) => (0..63).step_by(7).map(|bit| Value::Integer(number ^ (1 << bit))).collect(),
        Value::Text(text) => {
            let swap = |at: usize| {
                let mut bytes = text.clone().into_bytes();
                bytes[at] = if bytes[at] == b'1' { b'2' } else { b'1' };
                String::from_utf8(bytes).ok().map(Value::Text)
            };
            let mut all: Vec<_> = (0..text.len()).step_by(text.len() / 40 + 1).filter_map(swap).collect();
            all.push(Value::Text(text.chars().skip(1).collect()));
            all.push(Value::Text(String::new()));
            all
        }
        Value::Blob(bytes) => {
            let flip = |at: usize| {
                let mut bytes = bytes.clone();
                bytes[at] ^= 0x10;
                Value::Blob(bytes)
            };
            (0..bytes.len()).step_by(3).map(flip).collect()
        }
        Value::Null => vec![Value::Integer(1), Value::Text("[]".into()), Value::Blob(b"~1.".into())],
        Value::Real(_) => Vec::new(),
    }
}

#[test]
fn every_column_of_every_row_is_guarded() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let ids = write(&path).await;
        let whole = read(&path, &ids).await.unwrap();
        let connection = Connection::open(&path).unwrap();
        let mut damages = 0;
        for table in [
            "thread",
            "checkpoint",
            "body",
            "schema",
            "topology",
            "pending",
            "ask",
            "effect",
            "emitted",
            "lease",
        ] {
            let columns: Vec<String> = connection
                .prepare("SELECT name FROM pragma_table_info(?) WHERE pk = 0")
                .unwrap()
                .query_map([table], |row| row.get(0))
                .unwrap()
                .map(Result::unwrap)
                .collect();
            let rows: Vec<i64> = connection
                .prepare(&format!("SELECT rowid FROM {table}"))
                .unwrap()
                .query_map([], |row| row.get(0))
                .unwrap()
                .map(Result::unwrap)
                .collect();
            assert!(!rows.is_empty(), "{table} has no rows");
            for row in rows {
                for column in
                    columns.iter().filter(|column| !LOOKED_UP_BY.contains(&(table, column.as_str())))
                {
                    let select = format!("SELECT {column} FROM {table} WHERE rowid = ?");
                    let value: Value = connection.query_row(&select, [row], |row| row.get(0)).unwrap();
                    let update = format!("UPDATE {table} SET {column} = ? WHERE rowid = ?");
                    for damage in altered(&value) {
                        if connection.execute(&update, rusqlite::params![damage, row]).is_err() {
                            continue;
                        }
                        damages += 1;
                        match read(&path, &ids).await {
                            Err(StoreError::Corrupt { .. } | StoreError::NoCheckpoint { .. }) => {}
                            Err(other) => panic!("{table}.{column} = {damage:?}: {other}"),
                            Ok(all) => assert_eq!(all, whole, "{table}.{column} = {damage:?} passed"),
                        }
                        connection.execute(&update, rusqlite::params![value, row]).unwrap();
                    }
                }
            }
        }
        assert!(damages > 500, "only {damages} damages");
        assert_eq!(read(&path, &ids).await.unwrap(), whole);
    });
}

#[test]
fn swapped_rows_are_found_out() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let ids = write(&path).await;
        let connection = Connection::open(&path).unwrap();
        let swap = "UPDATE checkpoint SET seq = CASE seq WHEN 1 THEN -2 WHEN 2 THEN -1 ELSE seq END;
                    UPDATE checkpoint SET seq = -seq WHERE seq < 0";
        connection.execute_batch(swap).unwrap();
        let error = read(&path, &ids).await.unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    });
}

#[test]
fn flipped_bytes_of_the_file_never_make_a_wrong_value() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let ids = write(&path).await;
        let whole = read(&path, &ids).await.unwrap();
        let sound = std::fs::read(&path).unwrap();
        let copy = folder.path().join("copy.db");
        // A fixed sequence of places: every run damages the same bytes.
        let mut place = 12_345_usize;
        for round in 0..400_u32 {
            place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let mut bytes = sound.clone();
            let at = (place >> 20) % bytes.len();
            bytes[at] ^= 1 << (round % 8);
            std::fs::write(&copy, bytes).unwrap();
            if let Ok(all) = read(&copy, &ids).await {
                // Work that an index no longer leads to is lost, which only makes tasks run again.
                for (read, right) in all.loaded.iter().zip(&whole.loaded) {
                    assert_eq!(read.checkpoint, right.checkpoint, "byte {at}");
                    assert_eq!(read.values, right.values, "byte {at}");
                    assert!(read.results.iter().all(|result| right.results.contains(result)), "byte {at}");
                    assert!(read.asks.iter().all(|ask| right.asks.contains(ask)), "byte {at}");
                }
                assert!(all.history.is_empty() || all.history == whole.history, "byte {at}");
            }
        }
    });
}
