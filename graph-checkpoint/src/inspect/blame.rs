//! Who last wrote each part of a value.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use superstep_core::checkpoint::{Source, StepRecord};
use superstep_core::id::{CheckpointId, NodeName};
use superstep_core::state::{CodecError, FieldId, Logged, Op};

use super::owned::Owned;
use super::path::Path;
use super::walk::Walk;

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
    let (mut walk, mut authors) = (Walk::under(Arc::clone(&newest.schema)), Vec::new());
    let mut owned = Owned::new(walk.state(), 0);
    for step in steps.iter().rev() {
        for written in walk.step(step)? {
            let author = author(step, written.field, written.op);
            if authors.last() != Some(&author) {
                authors.push(author);
            }
            for difference in &written.differences {
                let fits = owned.apply(difference, authors.len() - 1);
                fits.expect("the walk applied it to the same value");
            }
        }
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
    });
    Ok(blamed.collect())
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
