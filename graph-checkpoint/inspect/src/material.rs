//! Creates histories for the tests of this module.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use superstep_core::checkpoint::{
    Carried, Cause, Checkpoint, Fold, Frontier, NextTask, Seq, Source, StepRecord, TaskRecord,
};
use superstep_core::id::{CheckpointId, Fingerprint, RunId};
use superstep_core::state::{
    Change, FieldId, FieldSchema, Json, Lifetime, Logged, LoggedWrite, Op, Schema, Writers,
};
use uuid::Uuid;

pub(crate) fn json(value: &Value) -> Json {
    Json::parse(value.to_string()).unwrap()
}

/// A task's node, and the operations that it writes to the field `x`.
pub(crate) type Doing = (&'static str, Vec<Op>);

/// Returns a history with the single field `x`, newest first: an input, then for each step its tasks, each planned by
/// all tasks of the step before.
pub(crate) fn past(steps: &[Vec<Doing>]) -> Vec<StepRecord> {
    let mut past: Vec<StepRecord> = Vec::new();
    let input = (Source::Input, &[][..]);
    let all = [input].into_iter().chain(steps.iter().map(|tasks| (Source::Loop, &**tasks)));
    for (number, (source, tasks)) in all.enumerate() {
        let by = (0..).take(tasks.len()).collect();
        let cause = if source == Source::Input { Cause::Input } else { Cause::Tasks(by) };
        let next = steps.get(number).map(|next| next.iter()).into_iter().flatten();
        let next = next.map(|(node, _)| NextTask { node: (*node).into(), cause: cause.clone(), input: None });
        let ops: Vec<Op> = tasks.iter().flat_map(|(_, ops)| ops.clone()).collect();
        let change = (!ops.is_empty()).then_some(Change { field: FieldId(0), ops });
        past.push(step(past.last(), source, tasks, change, next.collect()));
    }
    past.reverse();
    past
}

fn step(
    parent: Option<&StepRecord>,
    source: Source,
    tasks: &[Doing],
    change: Option<Change>,
    next: Vec<NextTask>,
) -> StepRecord {
    let task = |(node, ops): &Doing| TaskRecord {
        node: (*node).into(),
        writes: ops
            .iter()
            .map(|op| LoggedWrite { field: FieldId(0), write: Logged::Op(op.clone()) })
            .collect(),
        route: None,
        targets: Vec::new(),
        handled: None,
    };
    let number = parent.map_or(1, |parent| parent.seq.0 + 1);
    StepRecord {
        seq: Seq(number),
        graph: "g".into(),
        thread: "t".into(),
        checkpoint: Checkpoint {
            id: CheckpointId(Uuid::from_u128(u128::from(number))),
            parent: parent.map(|parent| parent.checkpoint.id),
            run: RunId(Uuid::nil()),
            step: parent.map_or(-1, |parent| parent.checkpoint.step + 1),
            source,
            schema: Fingerprint::from_bytes([1; 16]),
            topology: Fingerprint::from_bytes([2; 16]),
            changes: change.into_iter().collect(),
            tasks: tasks.iter().map(task).collect(),
            frontier: Frontier { tasks: next, ..Frontier::default() },
            metadata: BTreeMap::new(),
        },
        schema: Arc::new(Schema {
            name: "S".into(),
            fields: vec![FieldSchema {
                name: "x".into(),
                aliases: Vec::new(),
                rust_type: "T".into(),
                reducer: "R".into(),
                writers: Writers::Many,
                lifetime: Lifetime::Stored,
                secret: false,
            }],
            ..Schema::default()
        }),
        work: Carried::default(),
        emitted: Vec::new(),
    }
}

/// Returns the value of the field after each step, oldest first; null before it was written.
pub(super) fn values(past: &[StepRecord]) -> Vec<Value> {
    let mut ops: Vec<&Op> = Vec::new();
    let states = past.iter().rev().map(|step| {
        ops.extend(step.checkpoint.changes.iter().flat_map(|change| &change.ops));
        let mut fold = Fold::new();
        ops.iter().for_each(|op| fold.apply(op).unwrap());
        fold.finish().unwrap().map_or(Value::Null, |value| value.decode().unwrap())
    });
    states.collect()
}
