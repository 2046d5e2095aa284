//! Who last wrote each part of a value.

use serde::Serialize;
use serde_json::Value;
use superstep_core::checkpoint::{Source, StepRecord};
use superstep_core::id::{CheckpointId, NodeName};
use superstep_core::state::{CodecError, FieldId, Logged, Op};

use super::owned::Owned;
use super::path::{Path, Segment};

/// A part of a value, and who made it what it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Blame {
    /// The part: everything in it that has no line of its own.
    pub path: Path,
    /// Its value.
    pub value: Value,
    /// Who wrote it last.
    pub author: Author,
}

/// Who wrote something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Author {
    /// The checkpoint of the superstep, or of the edit.
    pub checkpoint: CheckpointId,
    /// Its step.
    pub step: i64,
    /// How it came about.
    pub source: Source,
    /// The tasks, by position in the superstep and by node; several where their writes were reduced to one value.
    pub tasks: Vec<(u32, NodeName)>,
}

/// Tells who last wrote each part of what is at `path` in the newest of `steps`: a checkpoint and its whole past,
/// newest first. An overwrite with what was there already changes no author.
///
/// # Errors
/// When a stored operation does not fit the value that it was applied to.
pub fn blame(steps: &[StepRecord], path: &Path) -> Result<Vec<Blame>, CodecError> {
    let Some(newest) = steps.first() else { return Ok(Vec::new()) };
    let mut blamed = Vec::new();
    for (id, field) in newest.schema.ids().zip(&newest.schema.fields) {
        let here = Path::from_iter([Segment::Key(field.name.clone())]);
        if !here.is_within(path) && !path.is_within(&here) {
            continue;
        }
        let Some((authors, owned)) = owned(steps, id)? else { continue };
        let inner: Path = path.segments().iter().skip(1).cloned().collect();
        if let Some((owned, at)) = owned.find(&inner, here) {
            let mut parts = Vec::new();
            owned.parts(at, &mut parts);
            let parts = parts.into_iter().map(|(path, owned)| Blame {
                path,
                value: owned.value(),
                author: authors[owned.by].clone(),
            });
            blamed.extend(parts);
        }
    }
    Ok(blamed)
}

/// The value of a field with the authors of its parts; `None` when nothing wrote it.
fn owned(steps: &[StepRecord], field: FieldId) -> Result<Option<(Vec<Author>, Owned)>, CodecError> {
    let (mut authors, mut value): (Vec<Author>, Option<Owned>) = (Vec::new(), None);
    for (step, field) in era(steps, field).into_iter().rev() {
        let changes = step.checkpoint.changes.iter().filter(|change| change.field == field);
        for op in changes.flat_map(|change| &change.ops) {
            let author = author(step, field, op);
            if authors.last() != Some(&author) {
                authors.push(author);
            }
            value = Owned::apply(value, op, authors.len() - 1)?;
        }
    }
    Ok(value.map(|value| (authors, value)))
}

/// The steps in which a field was there, newest first, with its id in each.
fn era(steps: &[StepRecord], mut field: FieldId) -> Vec<(&StepRecord, FieldId)> {
    let mut found: Vec<(&StepRecord, FieldId)> = Vec::new();
    for step in steps {
        if let Some((newer, _)) = found.last().filter(|(newer, _)| newer.schema != step.schema) {
            let carried = newer.schema.carried_from(&step.schema);
            let Some(older) = step.schema.ids().find(|id| carried[id.index()] == Some(field)) else { break };
            field = older;
        }
        found.push((step, field));
    }
    found
}

fn author(step: &StepRecord, field: FieldId, op: &Op) -> Author {
    let checkpoint = &step.checkpoint;
    let tasks = || (0u32..).zip(&checkpoint.tasks);
    let wrote = |exactly: bool| {
        tasks()
            .filter(|(_, task)| {
                let mut writes = task.writes.iter().filter(|write| write.field == field);
                writes.any(|write| !exactly || write.write == Logged::Op(op.clone()))
            })
            .map(|(position, task)| (position, task.node.clone()))
            .collect::<Vec<_>>()
    };
    let mut authors = wrote(true);
    authors.truncate(1);
    if authors.is_empty() {
        authors = wrote(false);
    }
    Author { checkpoint: checkpoint.id, step: checkpoint.step, source: checkpoint.source, tasks: authors }
}

#[cfg(test)]
mod tests;
