//! Loads and history. Each call reads one snapshot, and returns an error for a damaged row.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use superstep_core::checkpoint::{
    At, Carried, Checkpoint, Load, Loaded, Seq, Source, StateSize, StoreError, Summary,
};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::state::{Change, Excess, FieldId, FieldValue, Op, Schema};
use tokio::sync::Semaphore;

use crate::error::corrupt;
use crate::history::decode::{self, Outline, Outlines};
use crate::history::rows::ThreadRow;
use crate::limited::too_large;
use crate::pending::Seen;
use crate::sqlite::connection::Connection;
use crate::sqlite::file::{File, snapshot};
use crate::sqlite::history::changes::{Fields, changed_fields, parse_changes, parse_fields};
use crate::sqlite::history::described::Descriptions;
use crate::sqlite::history::long_texts::HeldBodies;
use crate::sqlite::history::rows::{Changed, CheckpointRow, Manifested};
use crate::sqlite::history::segment::Segments;
use crate::sqlite::history::versions::{self, Rows};
use crate::sqlite::pending;
use crate::sqlite::read::named;

/// Idle connections for reading.
pub(crate) struct Readers {
    idle: Mutex<Vec<Connection>>,
    /// Limits the number of simultaneous reads, because opening a connection takes longer than most reads.
    pub(crate) places: Semaphore,
}

/// The number of connections that stay open for the next read.
const IDLE: usize = 4;

impl Readers {
    pub(crate) fn new() -> Self {
        let places = thread::available_parallelism().map_or(IDLE, |cores| cores.get().max(IDLE));
        Self { idle: Mutex::new(Vec::new()), places: Semaphore::new(places) }
    }

    /// Closes the idle connections.
    pub(crate) fn close(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Lends a connection to `read`. After a failure it is closed, not kept.
    pub(crate) fn with<T>(
        &self,
        file: &File,
        read: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let held = idle().pop();
        let connection = match held {
            Some(connection) => connection,
            None => file.open_reader()?,
        };
        let result = snapshot(&connection, read);
        if !matches!(result, Err(StoreError::Io(_) | StoreError::Corrupt { .. })) {
            let mut idle = idle();
            if idle.len() < IDLE {
                idle.push(connection);
            }
        }
        result
    }
}

fn missing(thread: &ThreadId, checkpoint: impl ToString) -> StoreError {
    StoreError::NoCheckpoint { thread: thread.clone(), checkpoint: checkpoint.to_string() }
}

/// Walks from `from` back to the first checkpoint for which `stop` returns `true`.
pub(crate) fn walk(
    connection: &Connection,
    from: i64,
    mut stop: impl FnMut(&CheckpointRow, &str) -> Result<bool, StoreError>,
) -> Result<Option<CheckpointRow>, StoreError> {
    let mut found = None;
    CheckpointRow::descend(connection, from, |row, manifest| {
        if stop(&row, manifest)? {
            found = Some(row);
            return Ok(None);
        }
        Ok(row.parent)
    })?;
    Ok(found)
}

/// Returns the checkpoint with this `id` from the view of `thread`.
pub(crate) fn seen(
    connection: &Connection,
    thread: &ThreadRow,
    id: CheckpointId,
) -> Result<Seen, StoreError> {
    let missing = || missing(&thread.name, id);
    let seq = CheckpointRow::seq_of(connection, id)?.ok_or_else(missing)?;
    let own = CheckpointRow::visit(connection, seq, |row, _| {
        if row.id == id {
            Ok(row.thread == thread.id)
        } else {
            Err(corrupt("the index on checkpoint ids", "it points at another checkpoint"))
        }
    })?;
    if own || seq == thread.head {
        return Ok(Seen { seq, worker: thread.id, head: seq == thread.head });
    }
    let mut worker = thread.id;
    let found = walk(connection, thread.head, |row, _| {
        if row.seq > seq {
            worker = row.thread;
        }
        Ok(row.seq <= seq)
    })?;
    match found {
        Some(row) if row.seq == seq => Ok(Seen { seq, worker, head: false }),
        _ if named::is_named_by(connection, thread.id, seq)? => {
            let worker = CheckpointRow::visit(connection, seq, |row, _| Ok(row.thread))?;
            Ok(Seen { seq, worker, head: false })
        }
        _ => Err(missing()),
    }
}

/// Reads the requested checkpoint; if it is `known`, only the work on top of it.
pub(crate) fn load(
    connection: &Connection,
    thread: &ThreadId,
    at: &At,
    known: Option<CheckpointId>,
) -> Result<Load, StoreError> {
    let Some(row) = ThreadRow::find(connection, thread)? else {
        return Ok(Load::Missing);
    };
    let place = place(connection, &row, at)?;
    if let Some(known) = known
        && CheckpointRow::visit(connection, place.seq, |row, _| Ok(row.id == known))?
    {
        return pending::on(connection, place).map(Load::Unchanged);
    }
    load_at(connection, &row.graph, place).map(|loaded| Load::Whole(Box::new(loaded)))
}

/// Returns the requested checkpoint of a thread.
pub(crate) fn place(connection: &Connection, row: &ThreadRow, at: &At) -> Result<Seen, StoreError> {
    Ok(match at {
        At::Head => Seen { seq: row.head, worker: row.id, head: true },
        At::Id(id) => seen(connection, row, *id)?,
        At::Named(name) => {
            let missing = || StoreError::no_name(&row.name, name);
            let seq = named::find(connection, row.id, name)?.ok_or_else(missing)?;
            seen(connection, row, CheckpointRow::visit(connection, seq, |row, _| Ok(row.id))?)?
        }
        At::Before(node) => {
            let mut worker = row.id;
            let found = walk(connection, row.head, |at, manifest| {
                let stop = Outline::parse(manifest)?.is_next(node);
                if !stop {
                    worker = at.thread;
                }
                Ok(stop)
            })?;
            let found = found.ok_or_else(|| missing(&row.name, format_args!("before node {node}")))?;
            Seen { seq: found.seq, worker, head: found.seq == row.head }
        }
    })
}

/// Loads the checkpoint at `place`, of a thread of `graph`, with its values and the work on top of it.
pub(crate) fn load_at(connection: &Connection, graph: &str, place: Seen) -> Result<Loaded, StoreError> {
    let Read { row, schema, checkpoint } = checkpoint(connection, place.seq, &mut Material::default())?;
    let (fields, _) = fields_at(connection, place.seq)?;
    let values =
        values(connection, &fields).map_err(|(field, error)| match schema.fields.get(field.index()) {
            None => error,
            Some(field) => {
                let place = format_args!("field {} of checkpoint {}", field.name, checkpoint.id);
                match error {
                    StoreError::Io(_) => error,
                    StoreError::TooLarge { excess, .. } => too_large(place, excess),
                    error => corrupt(place, error),
                }
            }
        })?;
    if fields.len() > schema.fields.len() {
        return Err(corrupt(
            format_args!("schema row {}", row.schema),
            "a value belongs to none of its fields",
        ));
    }
    let Carried { results, failures, asks, effects } = pending::on(connection, place)?;
    Ok(Loaded {
        seq: Seq(place.seq.cast_unsigned()),
        graph: graph.into(),
        checkpoint,
        values,
        schema: Arc::unwrap_or_clone(schema),
        results,
        failures,
        asks,
        effects,
    })
}

/// Data that was read for one checkpoint and is reused for others.
#[derive(Default)]
pub(crate) struct Material {
    descriptions: Descriptions,
    segments: Segments,
    bodies: HeldBodies,
}

/// A checkpoint with its row and its fields.
pub(crate) struct Read {
    pub(crate) row: CheckpointRow,
    pub(crate) schema: Arc<Schema>,
    pub(crate) checkpoint: Checkpoint,
}

/// Reads the checkpoint at `seq`.
pub(crate) fn checkpoint(
    connection: &Connection,
    seq: i64,
    material: &mut Material,
) -> Result<Read, StoreError> {
    let Manifested { row, manifest } = CheckpointRow::get(connection, seq)?;
    let mut changes = Vec::new();
    Changed::descend(connection, seq, |_, changed| {
        changes = parse_changes(changed.changes)?;
        Ok(None)
    })?;
    let bodies = &material.bodies.of(connection, seq);
    let changes = changes.iter().map(|change| change.resolve(connection, &mut material.segments, bodies));
    let mut parts = decode::decode(changes.collect::<Result<_, _>>()?, &manifest, bodies)?;
    if row.source == Source::Pruned {
        // The changes of a pruned checkpoint only serve newer versions. A reader sees the whole state instead.
        let (fields, _) = fields_at(connection, seq)?;
        let values = values(connection, &fields).map_err(|(_, error)| error)?.into_iter();
        let whole = |FieldValue { field, value }| Change { field, ops: [Op::Set(value)].into() };
        parts.changes = values.map(whole).collect();
    }
    let parent = match row.parent {
        None => None,
        Some(parent) => Some(CheckpointRow::visit(connection, parent, |row, _| Ok(row.id))?),
    };
    let described = material.descriptions.of(connection, &row)?;
    let checkpoint = Checkpoint {
        id: row.id,
        parent,
        run: row.run,
        step: row.step,
        source: row.source,
        schema: described.fingerprint,
        topology: described.topology,
        changes: parts.changes,
        tasks: parts.tasks,
        frontier: parts.frontier,
        metadata: parts.metadata,
    };
    Ok(Read { row, schema: described.schema, checkpoint })
}

/// Returns the map from field to version at `seq`, and the number of checkpoints since the last whole map.
pub(crate) fn fields_at(connection: &Connection, seq: i64) -> Result<(Fields, u32), StoreError> {
    let mut fields = Fields::new();
    let mut back = 0;
    Changed::descend(connection, seq, |seq, changed| {
        let known = match changed.fields {
            Some(map) => parse_fields(map)?,
            None => changed_fields(changed.changes, seq)?,
        };
        fields.resize(fields.len().max(known.len()), None);
        for (field, known) in fields.iter_mut().zip(known) {
            *field = field.or(known);
        }
        if changed.fields.is_some() {
            return Ok(None);
        }
        back += 1;
        Ok(changed.parent)
    })?;
    Ok((fields, back))
}

/// Folds the versions of all fields. Their total size is limited to that of a state.
fn values(connection: &Connection, fields: &Fields) -> Result<Vec<FieldValue>, (FieldId, StoreError)> {
    let limits = connection.limits();
    let mut rows = Rows::default();
    let mut values = Vec::new();
    let mut bytes = 0;
    for (version, field) in fields.iter().zip((0..=u16::MAX).map(FieldId)) {
        let Some(version) = *version else { continue };
        let Some(value) = versions::value(connection, version, &mut rows).map_err(|error| (field, error))?
        else {
            continue;
        };
        bytes += value.as_str().len();
        if bytes > limits.most_bytes() {
            return Err((field, too_large("the state", Excess::Bytes(limits.most_bytes()))));
        }
        values.push(FieldValue { field, value });
    }
    // A value has at least two bytes, so values need not be counted in a small state.
    if bytes / 2 > limits.most_values()
        && let Err(excess) = StateSize::of(&values).check(&limits)
    {
        return Err((FieldId(0), too_large("the state", excess)));
    }
    Ok(values)
}

/// Returns the requested checkpoint of `thread` and those that it continues, at most `limit` of them.
pub(crate) fn history(
    connection: &Connection,
    thread: &ThreadId,
    from: &At,
    limit: usize,
) -> Result<Vec<Summary>, StoreError> {
    let Some(thread) = ThreadRow::find(connection, thread)? else {
        return Ok(Vec::new());
    };
    let from = place(connection, &thread, from)?.seq;
    let mut names = Names::from([(thread.id, thread.name)]);
    let mut outlines = Outlines::default();
    let mut lines: Vec<Summary> = Vec::new();
    // One more row than the page has is read: each entry names its parent, which is the next row.
    let _oldest = walk(connection, from, |row, manifest| {
        if let Some(younger) = lines.last_mut() {
            younger.parent = Some(row.id);
        }
        if lines.len() == limit {
            return Ok(true);
        }
        let name = name(connection, &mut names, row.thread)?;
        lines.push(row.summary(outlines.of(manifest)?, None, name)?);
        Ok(false)
    })?;
    Ok(lines)
}

/// The names of threads that were read, by row.
pub(crate) type Names = HashMap<i64, ThreadId>;

/// Returns the name of the thread in the row `id`.
pub(crate) fn name(connection: &Connection, names: &mut Names, id: i64) -> Result<ThreadId, StoreError> {
    if let Some(name) = names.get(&id) {
        return Ok(name.clone());
    }
    let name = ThreadRow::get(connection, id)?.name.before_deletion();
    names.insert(id, name.clone());
    Ok(name)
}
