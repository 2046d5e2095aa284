//! Material for the items: a small graph, checkpoints of it, and work on top of them. Other tests may use it, too.
//!
//! The graph has one node, `n`, and a state with the fields `a`, `b`, `c` and `d`. A [`step`] is the checkpoint at the
//! end of a superstep.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{SystemTime, UNIX_EPOCH};

use superstep_core::checkpoint::{
    AnsweredBy, AskRecord, Cause, Checkpoint, Commit, Deadline, EffectId, EffectOutcome, EffectRecord,
    FailureRecord, Frontier, GraphDescription, NextTask, Source, TaskRecord, TaskResult,
};
use superstep_core::error::{ErrorReport, NodeErrorKind};
use superstep_core::id::{CheckpointId, Fingerprint, IdempotencyKey, InterruptId, RunId, TaskId, ThreadId};
use superstep_core::state::{
    Change, FieldId, FieldSchema, Json, Lifetime, Logged, LoggedWrite, Op, Schema, Writers,
};
use uuid::{Builder, Uuid};

/// The name of the graph.
pub const GRAPH: &str = "graph";

const TOPOLOGY: &str = r#"{"name":"graph","nodes":[{"name":"n"}]}"#;

/// Returns a stored field with this name, which several tasks may write.
#[must_use]
pub fn field(name: &str) -> FieldSchema {
    FieldSchema {
        name: name.into(),
        aliases: Vec::new(),
        rust_type: "T".into(),
        reducer: "R".into(),
        writers: Writers::Many,
        lifetime: Lifetime::Stored,
        secret: false,
    }
}

/// Returns the schema of a state with the fields `a`, `b`, `c` and `d`.
#[must_use]
pub fn schema() -> Schema {
    let fields = ["a", "b", "c", "d"].map(field).into();
    Schema { name: "S".into(), version: 1, embedded: BTreeMap::new(), fields }
}

/// Returns the graph with another state.
#[must_use]
pub fn described(schema: Schema) -> GraphDescription {
    GraphDescription {
        name: GRAPH.into(),
        schema,
        topology: json(TOPOLOGY),
        topology_fingerprint: topology(),
    }
}

/// Returns the graph.
#[must_use]
pub fn graph() -> GraphDescription {
    described(schema())
}

/// Returns the fingerprint of the graph's topology.
#[must_use]
pub fn topology() -> Fingerprint {
    Fingerprint::of(&json(TOPOLOGY))
}

/// Returns the thread with this name.
#[must_use]
pub fn thread(name: &str) -> ThreadId {
    name.into()
}

/// Parses a JSON text.
///
/// # Panics
/// Panics if the text is not JSON.
#[must_use]
pub fn json(text: &str) -> Json {
    Json::parse(text).expect("it is written as JSON")
}

/// Returns a change that sets a field to this JSON text.
#[must_use]
pub fn set(field: u16, text: &str) -> Change {
    change(field, [Op::Set(json(text))])
}

/// Returns a change that extends a list by the items of this JSON text.
#[must_use]
pub fn extend(field: u16, text: &str) -> Change {
    change(field, [Op::Extend(json(text))])
}

/// Returns a change of a field by these operations.
#[must_use]
pub fn change(field: u16, ops: impl Into<Vec<Op>>) -> Change {
    Change { field: FieldId(field), ops: ops.into() }
}

/// Returns a unique id with a later time than all earlier ones.
#[must_use]
pub fn next_id() -> CheckpointId {
    static BEGUN: LazyLock<u64> = LazyLock::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or_default()
    });
    static DRAWN: AtomicU64 = AtomicU64::new(0);
    id_of_time(*BEGUN + DRAWN.fetch_add(1, Ordering::Relaxed))
}

/// Returns a unique id with a time in milliseconds since the Unix epoch.
#[must_use]
pub fn id_of_time(unix_ms: u64) -> CheckpointId {
    // The standard library has no other random source: each new hasher has random keys.
    let [high, low] = [0, 1].map(|part: u64| RandomState::new().hash_one(part).to_le_bytes());
    let mut random = [0; 10];
    random[..8].copy_from_slice(&high);
    random[8..].copy_from_slice(&low[..2]);
    CheckpointId(Builder::from_unix_timestamp_millis(unix_ms, &random).into_uuid())
}

/// Returns the run with this number.
#[must_use]
pub fn run(number: u128) -> RunId {
    RunId(Uuid::from_u128(number))
}

/// Returns a checkpoint after `parent` with these changes; node `n` ran, and is planned next. It belongs to its
/// parent's run; a first checkpoint is the input of a new run.
#[must_use]
pub fn step(parent: Option<&Checkpoint>, changes: impl Into<Vec<Change>>) -> Checkpoint {
    Checkpoint {
        id: next_id(),
        parent: parent.map(|parent| parent.id),
        run: parent.map_or_else(|| RunId(next_id().0), |parent| parent.run),
        step: parent.map_or(-1, |parent| parent.step + 1),
        source: if parent.is_some() { Source::Loop } else { Source::Input },
        schema: schema().fingerprint(),
        topology: topology(),
        changes: changes.into(),
        tasks: vec![TaskRecord {
            node: "n".into(),
            writes: Vec::new(),
            route: None,
            targets: Vec::new(),
            handled: None,
        }],
        frontier: Frontier {
            tasks: vec![NextTask {
                node: "n".into(),
                cause: Cause::Tasks([0].into_iter().collect()),
                input: None,
            }],
            ..Frontier::default()
        },
        metadata: BTreeMap::new(),
    }
}

/// Returns the commit of a checkpoint to a thread whose head is its parent.
#[must_use]
pub fn commit_of(name: &str, checkpoint: &Checkpoint) -> Commit {
    Commit {
        thread: thread(name),
        graph: GRAPH.into(),
        expected: checkpoint.parent,
        recorded: None,
        input: None,
        checkpoint: Arc::new(checkpoint.clone()),
        carried: None,
        emitted: Vec::new(),
        is_last: false,
    }
}

/// Returns the task with this number.
#[must_use]
pub fn task(number: u8) -> TaskId {
    TaskId::from_bytes([number; 16])
}

/// Returns the result of the task with this number, which sets field `a` to this JSON text.
#[must_use]
pub fn result(number: u8, written: &str) -> TaskResult {
    TaskResult {
        task: task(number),
        node: "n".into(),
        writes: vec![LoggedWrite { field: FieldId(0), write: Logged::Op(Op::Set(json(written))) }],
        route: None,
        targets: Some(Vec::new()),
        kept: None,
        handled: None,
        emitted: None,
    }
}

/// Returns the failure of the task with this number.
#[must_use]
pub fn failure(number: u8, message: &str) -> FailureRecord {
    let error = ErrorReport {
        kind: NodeErrorKind::Failed,
        message: message.to_owned(),
        causes: vec!["why".to_owned()],
    };
    FailureRecord { task: task(number), node: "n".into(), attempts: 2, error }
}

/// Returns the question with this number, of task 1.
#[must_use]
pub fn ask(number: u8) -> AskRecord {
    AskRecord {
        id: InterruptId::from_bytes([number; 16]),
        task: task(1),
        node: "n".into(),
        path: Vec::new(),
        key: number.to_string(),
        argument: Some(u32::from(number)),
        question: json(&format!("\"question {number}\"")),
        deadline: None,
        answer: None,
        answered_by: AnsweredBy::Caller,
    }
}

/// Returns the question with this number and a deadline in milliseconds since the Unix epoch, whose default answer is
/// the number.
#[must_use]
pub fn due(number: u8, at_ms: u64) -> AskRecord {
    AskRecord { deadline: Some(Deadline { at_ms, default: json(&number.to_string()) }), ..ask(number) }
}

/// Returns the question of [`due`] after its deadline, with its default answer.
#[must_use]
pub fn expired(number: u8, at_ms: u64) -> AskRecord {
    let answer = Some(json(&number.to_string()));
    AskRecord { answer, answered_by: AnsweredBy::Deadline, ..due(number, at_ms) }
}

/// Returns a question that a caller has answered with this JSON text.
#[must_use]
pub fn answered(ask: AskRecord, answer: &str) -> AskRecord {
    AskRecord { answer: Some(json(answer)), ..ask }
}

/// Returns the effect with this number, of task 1, which has begun.
#[must_use]
pub fn effect(number: u32) -> EffectRecord {
    EffectRecord {
        id: EffectId { task: task(1), name: "call".into(), key: String::new(), occurrence: number },
        attempt: 1,
        starts: 1,
        token: IdempotencyKey::from_bytes([7; 16]),
        outcome: None,
    }
}

/// Returns an effect after it succeeded with this JSON text.
#[must_use]
pub fn ended(effect: EffectRecord, value: &str) -> EffectRecord {
    EffectRecord { outcome: Some(ok(value)), ..effect }
}

/// Returns the outcome of an effect that succeeded with this JSON text.
#[must_use]
pub fn ok(value: &str) -> EffectOutcome {
    EffectOutcome::Ok(json(value))
}
