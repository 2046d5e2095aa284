//! Finds the last author of each part of a value.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use superstep_core::checkpoint::{Source, StepRecord};
use superstep_core::id::{CheckpointId, NodeName};
use superstep_core::state::{CodecError, FieldId, Json, Logged, LoggedWrite, Op};

use super::diff::{Difference, Edit};
use super::owned::Owned;
use super::path::Path;
use super::walk::{Walk, Written};

/// A part of a value, with its last author.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Blame {
    /// The path of the part. The part is everything at that path that has no line of its own.
    pub path: Path,
    /// Its value.
    pub value: Value,
    /// Its last author.
    pub author: Author,
    /// The value that this replaced, and its author; `None` if there was no value before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overwrote: Option<Overwritten>,
}

/// A value that another one replaced.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overwritten {
    /// The value.
    pub value: Value,
    /// Its author.
    pub author: Author,
}

/// The author of a value: a checkpoint and the tasks that wrote the value in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Author {
    /// The checkpoint of the superstep, or of the edit.
    pub checkpoint: CheckpointId,
    /// Its step.
    pub step: i64,
    /// The source of the checkpoint.
    pub source: Source,
    /// The tasks, by position in the superstep and by node; several if their writes were reduced to one value.
    pub tasks: Vec<(u32, NodeName)>,
    /// The item of `each` that the task was given, if exactly one task wrote the value and had an item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<Value>,
}

/// Returns the last author of each part of the value at `path` in the newest of `steps`. `steps` is a checkpoint with
/// its whole past, newest first. A write that does not change a value does not change its author.
///
/// # Errors
/// Returns an error if a stored operation does not fit the value to which it was applied.
pub fn blame(steps: &[StepRecord], path: &Path) -> Result<Vec<Blame>, CodecError> {
    let Some(newest) = steps.first() else { return Ok(Vec::new()) };
    let (mut walk, mut authors) = (Walk::under(Arc::clone(&newest.schema)), Vec::new());
    let mut owned = Owned::new(walk.state(), 0);
    let mut before = None;
    for step in steps.iter().rev() {
        let superstep = Superstep { step, before };
        let written = walk.step(step)?;
        for (position, write) in written.iter().enumerate() {
            let occurrence = written[..position].iter().filter(|other| other.is_like(write)).count();
            let writer = superstep.writer(write, occurrence);
            for difference in &write.differences {
                let tasks = match &writer {
                    Some(task) => vec![task.clone()],
                    None => superstep.reduced(write.field, difference)?,
                };
                let author = superstep.author(tasks)?;
                if authors.last() != Some(&author) {
                    authors.push(author);
                }
                let fits = owned.apply(difference, authors.len() - 1);
                fits.expect("the walk applied it to the same value");
            }
        }
        before = Some(step);
    }
    let mut parts = Vec::new();
    match (owned.find(path), path.segments()) {
        (Some(state), []) => state.members(&mut parts),
        (Some(part), _) => part.parts(path.clone(), &mut parts),
        (None, _) => {}
    }
    let blamed = parts.into_iter().map(|(path, owned)| Blame {
        path,
        value: owned.value(),
        author: authors[owned.by].clone(),
        overwrote: owned
            .replaced()
            .map(|(value, by)| Overwritten { value: value.clone(), author: authors[by].clone() }),
    });
    Ok(blamed.collect())
}

/// A superstep, and the checkpoint on which it was planned.
struct Superstep<'s> {
    step: &'s StepRecord,
    before: Option<&'s StepRecord>,
}

impl Superstep<'_> {
    /// Returns the task that logged an operation; if several logged the same one, that of the `occurrence`th, because
    /// operations are in merge order. `None` if a reducer made one value of several writes.
    fn writer(&self, written: &Written<'_>, occurrence: usize) -> Option<(u32, NodeName)> {
        let exact = self.writers(|write| is_of(write, written.field, written.op));
        exact.get(occurrence).or(exact.last()).cloned()
    }

    fn author(&self, tasks: Vec<(u32, NodeName)>) -> Result<Author, CodecError> {
        let checkpoint = &self.step.checkpoint;
        let item = match &*tasks {
            [(position, node)] => self.item(*position, node)?,
            _ => None,
        };
        Ok(Author {
            checkpoint: checkpoint.id,
            step: checkpoint.step,
            source: checkpoint.source,
            tasks,
            item,
        })
    }

    /// Returns the tasks with such a write, in merge order; a task with several such writes appears several times.
    fn writers(&self, is_meant: impl Fn(&LoggedWrite) -> bool) -> Vec<(u32, NodeName)> {
        let tasks = (0u32..).zip(&self.step.checkpoint.tasks);
        let writers = tasks.flat_map(|(position, task)| {
            let count = task.writes.iter().filter(|write| is_meant(write)).count();
            std::iter::repeat_n((position, task.node.clone()), count)
        });
        writers.collect()
    }

    /// Returns the tasks whose writes were reduced to the value of a field and contain the new value at the place; if
    /// there are none, those that contain the place; otherwise all.
    fn reduced(&self, field: FieldId, difference: &Difference) -> Result<Vec<(u32, NodeName)>, CodecError> {
        let all = || {
            let mut all = self.writers(|write| write.field == field);
            all.dedup();
            all
        };
        let within: Path = difference.path.segments().iter().skip(1).cloned().collect();
        if within.segments().is_empty() {
            return Ok(all());
        }
        let new = match &difference.edit {
            Edit::Added { value, .. } | Edit::Changed { to: value, .. } => Some(value),
            Edit::Removed { .. } | Edit::Reordered { .. } => None,
        };
        let (mut same, mut there) = (Vec::new(), Vec::new());
        for (position, task) in (0u32..).zip(&self.step.checkpoint.tasks) {
            for write in task.writes.iter().filter(|write| write.field == field) {
                let operand: Value = operand(write).decode()?;
                let held = within.get(&operand);
                let who = (position, task.node.clone());
                same.extend((held.is_some() && held == new).then(|| who.clone()));
                there.extend(held.is_some().then_some(who));
            }
        }
        let found = [same, there].into_iter().find(|tasks| !tasks.is_empty());
        let mut tasks = found.unwrap_or_else(all);
        tasks.dedup();
        Ok(tasks)
    }

    /// Returns the item of `each` that a task was given.
    fn item(&self, position: u32, node: &NodeName) -> Result<Option<Value>, CodecError> {
        let planned = self.before.and_then(|before| before.checkpoint.frontier.tasks.get(position as usize));
        let planned = planned.filter(|task| task.node == *node && task.cause.each().is_some());
        planned.and_then(|task| task.input.as_ref()).map(Json::decode).transpose()
    }
}

fn is_of(write: &LoggedWrite, field: FieldId, op: &Op) -> bool {
    write.field == field && matches!(&write.write, Logged::Op(logged) if logged == op)
}

fn operand(write: &LoggedWrite) -> &Json {
    match &write.write {
        Logged::Op(op) => op.operand(),
        Logged::Reduce(argument) => argument,
    }
}

#[cfg(test)]
mod tests;
