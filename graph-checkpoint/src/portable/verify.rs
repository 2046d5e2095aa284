//! Checks that the parts of a document fit together. A document may come from anywhere, so nothing in it is trusted.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use superstep_core::checkpoint::{Checkpoint, Fold, Record, StateSize, StoreError};
use superstep_core::id::{CheckpointId, Fingerprint};
use superstep_core::state::{Excess, FieldValue, LoggedWrite, Op, Schema, SizeLimits};

use super::NoExport;
use super::document::{Document, ThreadPart};

/// Checks that a document is consistent, and that nothing exceeds the size limits.
pub(super) fn verify(document: &Document, limits: SizeLimits) -> Result<(), NoExport> {
    fits(document).map_err(NoExport::Inconsistent)?;
    let too_large = |error| match error {
        StoreError::TooLarge { excess, .. } => NoExport::TooLarge(excess),
        other => NoExport::Inconsistent(other.to_string()),
    };
    for part in &document.checkpoints {
        part.checkpoint.check(&limits).map_err(too_large)?;
        part.emitted.iter().try_for_each(|(_, emitted)| emitted.check(&limits)).map_err(too_large)?;
        part.work.iter().try_for_each(|work| work.carried().check(&limits)).map_err(too_large)?;
    }
    let schemas = schemas(document).map_err(NoExport::Inconsistent)?;
    let all: HashMap<CheckpointId, &Checkpoint> =
        document.checkpoints.iter().map(|part| (part.checkpoint.id, &part.checkpoint)).collect();
    let continued: HashSet<CheckpointId> = all.values().filter_map(|checkpoint| checkpoint.parent).collect();
    let ends = document.checkpoints.iter().map(|part| &part.checkpoint);
    let mut ends = ends.filter(|end| !continued.contains(&end.id));
    ends.try_for_each(|end| folds(end, &all, &schemas, limits))
}

/// Checks that a document is consistent; otherwise returns a description of the problem.
fn fits(document: &Document) -> Result<(), String> {
    threads(&document.threads)?;
    let schemas = schemas(document)?;
    for (fingerprint, part) in &document.topologies {
        if Fingerprint::of(&part.topology) != *fingerprint {
            return Err(format!("topology {fingerprint} is another one"));
        }
    }
    let mut seen: HashMap<CheckpointId, &Checkpoint> = HashMap::new();
    for part in &document.checkpoints {
        let checkpoint = &part.checkpoint;
        let id = checkpoint.id;
        let schema = schemas
            .get(&checkpoint.schema)
            .ok_or_else(|| format!("the schema of checkpoint {id} is missing"))?;
        if !document.topologies.contains_key(&checkpoint.topology) {
            return Err(format!("the topology of checkpoint {id} is missing"));
        }
        if checkpoint.parent.is_some_and(|parent| !seen.contains_key(&parent)) {
            return Err(format!("the parent of checkpoint {id} is not before it"));
        }
        let workers = part.work.iter().map(|work| work.thread);
        if workers.chain([part.thread]).any(|thread| thread >= document.threads.len()) {
            return Err(format!("checkpoint {id} is of a thread that is not there"));
        }
        let results = part.work.iter().flat_map(|work| &work.results);
        let written = checkpoint.tasks.iter().map(|task| &task.writes);
        fields(checkpoint, written.chain(results.map(|result| &result.writes)), schema)
            .ok_or_else(|| format!("checkpoint {id} writes a field that its schema does not have"))?;
        if part.emitted.iter().any(|(task, _)| *task as usize >= checkpoint.tasks.len()) {
            return Err(format!("something was emitted by no task of checkpoint {id}"));
        }
        if seen.insert(id, checkpoint).is_some() {
            return Err(format!("checkpoint {id} is there twice"));
        }
    }
    for thread in &document.threads {
        if thread.head.is_some_and(|head| !seen.contains_key(&head)) {
            return Err(format!("the latest checkpoint of thread {} is missing", thread.name));
        }
        if let Some((name, _)) = thread.names.iter().find(|(_, named)| !seen.contains_key(*named)) {
            return Err(format!("the checkpoint that thread {} calls {name} is missing", thread.name));
        }
        if thread.head.is_none() && !thread.names.is_empty() {
            return Err(format!("thread {} has names and no latest checkpoint", thread.name));
        }
    }
    Ok(())
}

fn threads(threads: &[ThreadPart]) -> Result<(), String> {
    let Some((root, others)) = threads.split_first() else {
        return Err("there is no thread".into());
    };
    if root.head.is_none() || root.name.is_below() || root.name.as_str().is_empty() {
        return Err("the first thread is not the one that was exported".into());
    }
    let mut names = BTreeSet::new();
    for thread in others.iter().filter(|thread| thread.head.is_some()) {
        if !thread.name.is_below() || thread.name.before_deletion() != thread.name {
            return Err(format!("thread {} is no subgraph's", thread.name));
        }
        if !names.insert(&thread.name) {
            return Err(format!("thread {} is there twice", thread.name));
        }
    }
    Ok(())
}

fn schemas(document: &Document) -> Result<BTreeMap<Fingerprint, Schema>, String> {
    let schemas = document.schemas.iter().map(|(fingerprint, text)| {
        if Fingerprint::of(text) != *fingerprint {
            return Err(format!("schema {fingerprint} is another one"));
        }
        let schema =
            text.decode().map_err(|error| format!("schema {fingerprint} does not decode: {error}"))?;
        Ok((*fingerprint, schema))
    });
    schemas.collect()
}

/// Returns `None` if the schema does not have a field, or if a change has no operation.
fn fields<'w>(
    checkpoint: &Checkpoint,
    mut writes: impl Iterator<Item = &'w Vec<LoggedWrite>>,
    schema: &Schema,
) -> Option<()> {
    let known = schema.fields.len();
    let sound =
        checkpoint.changes.iter().all(|change| change.field.index() < known && !change.ops.is_empty())
            && writes.all(|writes| writes.iter().all(|write| write.field.index() < known));
    sound.then_some(())
}

/// Checks that all values at the end of a branch can be folded, and do not exceed the size limit of a state.
fn folds(
    end: &Checkpoint,
    all: &HashMap<CheckpointId, &Checkpoint>,
    schemas: &BTreeMap<Fingerprint, Schema>,
    limits: SizeLimits,
) -> Result<(), NoExport> {
    let mut line = vec![end];
    while let Some(parent) = line.last().and_then(|last| all.get(&last.parent?)) {
        line.push(parent);
    }
    let mut values: Vec<Vec<&Op>> = Vec::new();
    let mut before: Option<Fingerprint> = None;
    for checkpoint in line.into_iter().rev() {
        let schema = &schemas[&checkpoint.schema];
        let mut now = match before {
            Some(before) if before != checkpoint.schema => {
                let mut now = vec![Vec::new(); schema.fields.len()];
                for (value, target) in values.into_iter().zip(schema.carried_from(&schemas[&before])) {
                    if let Some(target) = target {
                        now[target.index()] = value;
                    }
                }
                now
            }
            _ => values,
        };
        now.resize(schema.fields.len(), Vec::new());
        for change in &checkpoint.changes {
            let value = &mut now[change.field.index()];
            if change.ops[0].is_whole() {
                value.clear();
            }
            value.extend(&change.ops);
        }
        before = Some(checkpoint.schema);
        values = now;
    }
    let schema = &schemas[&end.schema];
    let (mut state, mut bytes) = (Vec::new(), 0);
    for ((value, field), id) in values.into_iter().zip(&schema.fields).zip(schema.ids()) {
        let mut fold = Fold::within(limits);
        let folded = value.into_iter().try_for_each(|op| fold.apply(op)).and_then(|()| fold.finish());
        let folded = folded.map_err(|error| match error.excess() {
            Some(excess) => NoExport::TooLarge(excess),
            None => NoExport::Inconsistent(format!("field {} of checkpoint {}: {error}", field.name, end.id)),
        })?;
        bytes += folded.as_ref().map_or(0, |value| value.as_str().len());
        if bytes > limits.most_bytes() {
            return Err(NoExport::TooLarge(Excess::Bytes(limits.most_bytes())));
        }
        state.extend(folded.map(|value| FieldValue { field: id, value }));
    }
    StateSize::of(&state).check(&limits).map_err(NoExport::TooLarge)
}

#[cfg(test)]
mod tests;
