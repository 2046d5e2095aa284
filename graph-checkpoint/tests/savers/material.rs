//! The material of the tests: a small graph description, checkpoints, and the savers they run against.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use superstep_checkpoint::SqliteSaver;
use superstep_core::checkpoint::{
    At, Cause, Checkpoint, Checkpointer, Commit, Committed, FailureRecord, Frontier, GraphDescription,
    Loaded, MemorySaver, NextTask, Source, TaskRecord, TaskResult,
};
use superstep_core::error::{ErrorReport, NodeErrorKind};
use superstep_core::id::{CheckpointId, Fingerprint, RunId, TaskId, ThreadId};
use superstep_core::state::{Change, FieldId, FieldSchema, Json, Lifetime, Op, Schema, Writers};
use uuid::Uuid;

pub(crate) type Saver = Arc<dyn Checkpointer>;

/// Runs one test against a saver.
pub(crate) fn run<F: Future<Output = ()>>(test: F) {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap().block_on(test);
}

/// Runs `test` against every saver.
pub(crate) fn on_every_saver<F: Future<Output = ()>>(test: impl Fn(Saver) -> F) {
    run(async {
        test(registered(Arc::new(MemorySaver::new())).await).await;
        test(registered(Arc::new(SqliteSaver::in_memory().await.unwrap())).await).await;
        let folder = tempfile::tempdir().unwrap();
        let file = SqliteSaver::open(folder.path().join("on_every_saver.db")).await.unwrap();
        test(registered(Arc::new(file)).await).await;
    });
}

/// A saver that knows [`graph`].
pub(crate) async fn registered(saver: Saver) -> Saver {
    saver.register(&graph()).await.unwrap();
    saver
}

pub(crate) fn field(name: &str) -> FieldSchema {
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

/// A state with the fields `a`, `b`, `c` and `d`.
pub(crate) fn schema() -> Schema {
    Schema { name: "S".into(), fields: ["a", "b", "c", "d"].map(field).into(), ..Schema::default() }
}

pub(crate) fn described(schema: Schema) -> GraphDescription {
    GraphDescription {
        name: "graph".into(),
        schema,
        topology: Json::parse(r#"{"name":"graph","nodes":[{"name":"n"}]}"#).unwrap(),
        topology_fingerprint: topology(),
    }
}

pub(crate) fn graph() -> GraphDescription {
    described(schema())
}

pub(crate) fn topology() -> Fingerprint {
    Fingerprint::from_bytes([7; 16])
}

pub(crate) fn thread(name: &str) -> ThreadId {
    name.into()
}

pub(crate) fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

pub(crate) fn set(field: u16, text: &str) -> Change {
    change(field, [Op::Set(json(text))])
}

pub(crate) fn extend(field: u16, text: &str) -> Change {
    change(field, [Op::Extend(json(text))])
}

pub(crate) fn change<const N: usize>(field: u16, ops: [Op; N]) -> Change {
    Change { field: FieldId(field), ops: ops.into() }
}

/// A checkpoint after `parent` with these changes; node `n` ran, and is next.
pub(crate) fn step(parent: Option<&Checkpoint>, changes: impl Into<Vec<Change>>) -> Checkpoint {
    Checkpoint {
        id: CheckpointId(Uuid::now_v7()),
        parent: parent.map(|parent| parent.id),
        run: parent.map_or_else(|| RunId(Uuid::now_v7()), |parent| parent.run),
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

pub(crate) fn commit_of(name: &str, checkpoint: &Checkpoint) -> Commit {
    Commit {
        thread: thread(name),
        graph: "graph".into(),
        expected: checkpoint.parent,
        checkpoint: Arc::new(checkpoint.clone()),
        carried: None,
        emitted: Vec::new(),
    }
}

/// Commits, expecting it to be new.
pub(crate) async fn put(saver: &Saver, name: &str, checkpoint: &Checkpoint) {
    let committed = saver.commit(commit_of(name, checkpoint)).await.unwrap();
    assert!(matches!(committed, Committed::New), "{committed:?}");
}

/// Commits a step after `parent` and returns it.
pub(crate) async fn advance(
    saver: &Saver,
    name: &str,
    parent: Option<&Checkpoint>,
    changes: impl Into<Vec<Change>>,
) -> Checkpoint {
    let next = step(parent, changes);
    put(saver, name, &next).await;
    next
}

pub(crate) async fn head(saver: &Saver, name: &str) -> Loaded {
    saver.load(&thread(name), At::Head).await.unwrap().unwrap()
}

pub(crate) async fn at(saver: &Saver, name: &str, id: CheckpointId) -> Loaded {
    saver.load(&thread(name), At::Id(id)).await.unwrap().unwrap()
}

/// The values as text, by field id.
pub(crate) fn values(loaded: &Loaded) -> Vec<(u16, String)> {
    loaded.values.iter().map(|value| (value.field.0, value.value.as_str().to_owned())).collect()
}

pub(crate) fn task(number: u8) -> TaskId {
    TaskId::from_bytes([number; 16])
}

pub(crate) fn failure(number: u8, message: &str) -> FailureRecord {
    let error = ErrorReport {
        kind: NodeErrorKind::Failed,
        message: message.to_owned(),
        causes: vec!["why".to_owned()],
    };
    FailureRecord { task: task(number), node: "n".into(), attempts: 2, error }
}

pub(crate) fn result(number: u8, writes: &str) -> TaskResult {
    TaskResult {
        task: task(number),
        node: "n".into(),
        writes: vec![superstep_core::state::LoggedWrite {
            field: FieldId(0),
            write: superstep_core::state::Logged::Op(Op::Set(json(writes))),
        }],
        route: None,
        targets: Some(Vec::new()),
        kept: None,
        handled: None,
        emitted: None,
    }
}
