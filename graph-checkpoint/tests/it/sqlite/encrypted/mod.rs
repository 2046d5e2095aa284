//! Encrypted files.

#[path = "../../../../src/checksum.rs"]
mod checksum;

mod canary;
mod keys;
mod moved;
mod rekey;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use superstep_checkpoint::{
    CheckpointFile, CheckpointReader, Key, KeyRing, SqliteOptions, SqliteReader, SqliteSaver,
};
use superstep_core::checkpoint::{
    AnsweredBy, AskRecord, At, CheckpointerExt, Commit, Committed, Deadline, EffectId, EffectOutcome,
    EffectRecord, Emitted, EmittedEvent, Loaded, StepRecord,
};
use superstep_core::id::{IdempotencyKey, InterruptId};

use crate::material::*;

/// A text that must be found nowhere in an encrypted file.
pub(crate) const CANARY: &str = "canary-3b1f";

pub(crate) fn first_key() -> KeyRing {
    KeyRing::new("first", Key::new([1; 32]))
}

/// The ring after a rotation.
pub(crate) fn both_keys() -> KeyRing {
    KeyRing::new("second", Key::new([2; 32])).and("first", Key::new([1; 32]))
}

pub(crate) fn second_key() -> KeyRing {
    KeyRing::new("second", Key::new([2; 32]))
}

fn sealed() -> SqliteOptions {
    SqliteSaver::options().encrypt(first_key())
}

fn file(path: &Path, keys: KeyRing) -> CheckpointFile {
    CheckpointFile::at(path).keys(keys)
}

/// Writes something with the canary into every column that holds what states hold: threads `t` and `u`, of which `u` has
/// the same texts as `t`.
async fn everything(path: &Path, options: SqliteOptions) {
    fill(&registered(Arc::new(options.open(path).await.unwrap())).await).await;
}

/// The same with any saver.
pub(crate) async fn fill(saver: &Saver) {
    for name in ["t", "u"] {
        let text = |what: &str| json(&format!("\"{CANARY} {what}\""));
        let long = |letter: &str| format!("[\"{CANARY}{}\"]", letter.repeat(5000));
        let mut last = advance(saver, name, None, [set(0, &long("x")), set(1, text("set").as_str())]).await;
        for _ in 0..66 {
            last = advance(saver, name, Some(&last), [extend(0, &format!("[\"{CANARY}\"]"))]).await;
        }
        let mut end = step(Some(&last), [extend(0, &long("y"))]);
        end.metadata.insert("told".into(), text("metadata"));
        let events = vec![EmittedEvent::Message { at_ms: 7, chunk: text("emitted") }];
        let commit = Commit { emitted: vec![(0, Emitted { dropped: 0, events })], ..commit_of(name, &end) };
        assert!(matches!(saver.commit(commit).await.unwrap(), Committed::New));
        let name = thread(name);
        saver.record_result(&name, end.id, result(1, text("result").as_str())).await.unwrap();
        saver.fail(&name, end.id, failure(2, &format!("it said {CANARY}"))).await.unwrap();
        for number in 1..3 {
            let ask = AskRecord {
                id: InterruptId::from_bytes([number; 16]),
                task: task(number),
                node: "n".into(),
                path: Vec::new(),
                key: "0".into(),
                argument: Some(0),
                question: text("question"),
                deadline: Some(Deadline { at_ms: 1, default: text("fallback") }),
                answer: None,
                answered_by: AnsweredBy::Caller,
            };
            saver.ask(&name, end.id, vec![ask]).await.unwrap();
            let id = EffectId {
                task: task(number),
                name: "call".into(),
                key: format!("{CANARY} key"),
                occurrence: 0,
            };
            let token = IdempotencyKey::from_bytes([3; 16]);
            let effect = EffectRecord { id: id.clone(), attempt: 1, starts: 1, token, outcome: None };
            assert!(saver.begin_effect(&name, end.id, effect).await.unwrap().is_none());
            saver.end_effect(&name, end.id, &id, EffectOutcome::Ok(text("outcome"))).await.unwrap();
        }
        let answer = vec![(InterruptId::from_bytes([1; 16]), text("answer"))];
        saver.answer_all(&name, answer).await.unwrap();
        saver.flush(&name).await.unwrap();
    }
}

/// The readable data of both threads.
#[derive(Debug, PartialEq)]
struct All {
    heads: Vec<Loaded>,
    steps: Vec<StepRecord>,
}

fn read(file: CheckpointFile) -> Result<All, superstep_core::checkpoint::StoreError> {
    let reader = SqliteReader::open(file)?;
    let (mut heads, mut steps) = (Vec::new(), Vec::new());
    for name in ["t", "u"] {
        heads.extend(reader.load(&thread(name), &At::Head)?);
        steps.extend(reader.steps(&thread(name), &At::Head, 999)?);
    }
    Ok(All { heads, steps })
}

/// A file with everything in it, in a folder of its own.
async fn written(options: SqliteOptions) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    everything(&path, options).await;
    (folder, path)
}
