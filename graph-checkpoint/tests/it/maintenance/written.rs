//! A file with something in every table.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use superstep_checkpoint::{SqliteSaver, SqliteStore};
use superstep_core::checkpoint::{
    Acquired, AnsweredBy, AskRecord, Checkpoint, CheckpointerExt, Claim, Commit, Committed, Deadline,
    EffectId, EffectRecord, Emitted, EmittedEvent,
};
use superstep_core::id::InterruptId;
use superstep_core::store::{Namespace, Put, StoreBackend};
use tempfile::TempDir;

use crate::material::*;

pub(crate) struct Written {
    pub(crate) folder: TempDir,
    pub(crate) path: PathBuf,
}

pub(crate) fn long(letter: &str) -> String {
    format!("\"{}\"", letter.repeat(5000))
}

pub(crate) async fn open(path: &Path) -> Saver {
    registered(Arc::new(SqliteSaver::open(path).await.unwrap())).await
}

/// Thread `t` of 70 checkpoints with a long text, work and events, `u` that shares a part of it, and an entry of a store.
pub(crate) async fn written() -> Written {
    written_of(70).await
}

/// The same with so many checkpoints of `t`; `u` begins at the 31st, if it exists. Fewer than 16 are stored in the same
/// way in all formats.
pub(crate) async fn written_of(checkpoints: i64) -> Written {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let saver = open(&path).await;
    let mut last = advance(&saver, "t", None, [set(0, "[0]"), set(1, &long("b"))]).await;
    for number in 1..checkpoints - 1 {
        last = advance(&saver, "t", Some(&last), [extend(0, &format!("[{number}]"))]).await;
        if number == 30 {
            saver.fork(&thread("t"), last.id, &thread("u")).await.unwrap();
            advance(&saver, "u", Some(&last), [set(1, "\"u\"")]).await;
        }
    }
    let third = step(Some(&last), [extend(0, "[70]"), set(2, "\"two\"")]);
    let said = Emitted { dropped: 1, events: vec![EmittedEvent::Message { at_ms: 7, chunk: json("\"a\"") }] };
    let commit = Commit { emitted: vec![(0, said)], ..commit_of("t", &third) };
    assert!(matches!(saver.commit(commit).await.unwrap(), Committed::New));
    work_on(&saver, &third).await;
    saver.flush(&thread("t")).await.unwrap();
    let claim = Claim { thread: thread("t"), holder: "somebody".into(), ttl: Duration::from_secs(60) };
    assert!(matches!(saver.acquire(claim).await.unwrap(), Acquired::Now(_)));
    drop(saver);
    let store = SqliteStore::open(&path).await.unwrap();
    let namespace = Namespace::from_path("notes/").unwrap();
    store.put(Put { namespace, key: "k".into(), value: json("1"), expires_ms: None }, 1).await.unwrap();
    drop(store);
    Written { folder, path }
}

async fn work_on(saver: &Saver, base: &Checkpoint) {
    let name = thread("t");
    saver.record_result(&name, base.id, result(1, "1")).await.unwrap();
    let ask = AskRecord {
        id: InterruptId::from_bytes([1; 16]),
        task: task(1),
        node: "n".into(),
        path: Vec::new(),
        key: "0".into(),
        argument: Some(0),
        question: json("1"),
        deadline: Some(Deadline { at_ms: 1, default: json("0") }),
        answer: None,
        answered_by: AnsweredBy::Caller,
    };
    saver.ask(&name, base.id, vec![ask]).await.unwrap();
    let id = EffectId { task: task(1), name: "call".into(), key: "key".into(), occurrence: 0 };
    let token = superstep_core::id::IdempotencyKey::from_bytes([3; 16]);
    let effect = EffectRecord { id, attempt: 1, starts: 1, token, outcome: None };
    saver.begin_effect(&name, base.id, effect).await.unwrap();
}
