//! The writes of a subgraph's nodes to its shared fields.

use std::vec::Vec;

use crate::checkpoint::{At, Checkpoint, Checkpointer, CheckpointerExt, Source};
use crate::graph::Program;
use crate::id::ThreadId;
use crate::run::runtime::field_map::FieldMap;
use crate::run::runtime::thread_error::ThreadError;
use crate::run::runtime::thread_head::ThreadHead;
use crate::state::{FieldId, Logged, LoggedWrite, Schema};

/// The writes to some fields, superstep by superstep, in the order in which they were merged.
pub(in crate::run) struct Delta {
    fields: Vec<FieldId>,
    pub(in crate::run) writes: Vec<LoggedWrite>,
}

impl Delta {
    pub(super) fn new(fields: Vec<FieldId>) -> Self {
        Self { fields, writes: Vec::new() }
    }

    /// Adds what the tasks of one superstep wrote, given in merge order. An overwrite replaces what siblings
    /// reduced.
    pub(in crate::run) fn add<'w>(&mut self, tasks: impl Iterator<Item = &'w [LoggedWrite]> + Clone) {
        let of_fields = |write: &&LoggedWrite| self.fields.contains(&write.field);
        let mut overwritten: Vec<(FieldId, usize)> = Vec::new();
        for (task, writes) in tasks.clone().enumerate() {
            let sets = writes.iter().filter(of_fields).filter(|write| is_overwrite(write));
            overwritten.extend(sets.map(|write| (write.field, task)));
        }
        for (task, writes) in tasks.enumerate() {
            let counts = |write: &&LoggedWrite| {
                overwritten.iter().all(|(field, by)| *field != write.field || *by == task)
            };
            self.writes.extend(writes.iter().filter(of_fields).filter(counts).cloned());
        }
    }

    /// Adds the writes of earlier runs of the subgraph, back to its input.
    pub(super) async fn read_back(
        &mut self,
        saver: &dyn Checkpointer,
        thread: &ThreadId,
        head: &ThreadHead,
        program: &Program,
    ) -> Result<(), ThreadError> {
        let mut steps = Vec::new();
        let mut next = None;
        loop {
            let at = next.as_ref().unwrap_or(head);
            let (checkpoint, schema) = (&at.checkpoint, at.schema(program));
            if checkpoint.source == Source::Input || merges_input(checkpoint) {
                break;
            }
            let wrote = checkpoint.tasks.iter().any(|task| !task.writes.is_empty());
            if wrote && schema.version != program.schema.version {
                let what = "what the subgraph has written";
                return Err(ThreadError::other_version(what, program, checkpoint.id, schema.version));
            }
            steps.push(own_writes(checkpoint, schema, &program.schema));
            let Some(parent) = checkpoint.parent else { break };
            next = saver.read(thread, At::Id(parent)).await?.map(ThreadHead::from);
            if next.is_none() {
                break;
            }
        }
        for step in steps.iter().rev() {
            self.add(step.iter().map(Vec::as_slice));
        }
        Ok(())
    }

    /// Replaces this driver's writes by those up to a checkpoint of another driver of the run.
    pub(in crate::run) async fn read_again(
        &mut self,
        saver: &dyn Checkpointer,
        thread: &ThreadId,
        head: &ThreadHead,
        program: &Program,
    ) -> Result<(), ThreadError> {
        self.writes.clear();
        self.read_back(saver, thread, head, program).await
    }
}

/// Returns the writes of each task of a checkpoint's superstep, in the fields of `own`.
fn own_writes(checkpoint: &Checkpoint, stored: &Schema, own: &Schema) -> Vec<Vec<LoggedWrite>> {
    let fields = FieldMap::new(stored, own);
    checkpoint.tasks.iter().map(|task| fields.own_writes(&task.writes)).collect()
}

/// Returns `true` if START ran in the superstep of a checkpoint. The input is not one of the subgraph's own writes.
fn merges_input(checkpoint: &Checkpoint) -> bool {
    checkpoint.tasks.iter().any(|task| task.node.is_start())
}

fn is_overwrite(write: &LoggedWrite) -> bool {
    matches!(&write.write, Logged::Op(op) if op.is_whole())
}

#[cfg(test)]
mod tests {
    use std::string::ToString;
    use std::vec;

    use super::*;
    use crate::state::{Json, Op};

    fn json(text: &str) -> Json {
        Json::parse(text.to_string()).expect("valid JSON")
    }

    fn extend(field: u16, items: &str) -> LoggedWrite {
        LoggedWrite { field: FieldId(field), write: Logged::Op(Op::Extend(json(items))) }
    }

    fn set(field: u16, value: &str) -> LoggedWrite {
        LoggedWrite { field: FieldId(field), write: Logged::Op(Op::Set(json(value))) }
    }

    #[test]
    fn other_fields_do_not_count() {
        let mut delta = Delta::new(vec![FieldId(1)]);
        delta.add([&[extend(0, "[1]"), extend(1, "[2]")][..]].into_iter());
        assert_eq!(delta.writes, [extend(1, "[2]")]);
    }

    #[test]
    fn an_overwrite_replaces_what_siblings_reduced_and_nothing_of_another_superstep() {
        let mut delta = Delta::new(vec![FieldId(0)]);
        delta.add([&[extend(0, "[1]")][..]].into_iter());
        delta.add([&[extend(0, "[2]")][..], &[set(0, "[3]"), extend(0, "[4]")][..]].into_iter());
        assert_eq!(delta.writes, [extend(0, "[1]"), set(0, "[3]"), extend(0, "[4]")]);
    }
}
