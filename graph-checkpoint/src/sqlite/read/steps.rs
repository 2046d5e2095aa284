//! Reads checkpoints with their supersteps, and without their values.

use superstep_core::checkpoint::{At, Seq, StepRecord, StoreError};
use superstep_core::id::ThreadId;

use crate::history::rows::ThreadRow;
use crate::pending::Seen;
use crate::sqlite::connection::Connection;
use crate::sqlite::pending;
use crate::sqlite::pending::emitted;
use crate::sqlite::read::reader::{self, Material, Names, Read};

/// Returns the requested checkpoint of `thread` and those that it continues, at most `limit` of them.
pub(crate) fn steps(
    connection: &Connection,
    thread: &ThreadId,
    from: &At,
    limit: usize,
) -> Result<Vec<StepRecord>, StoreError> {
    let Some(thread) = ThreadRow::find(connection, thread)? else {
        return Ok(Vec::new());
    };
    let mut next = Some(reader::place(connection, &thread, from)?);
    let mut names = Names::from([(thread.id, thread.name.clone())]);
    let mut material = Material::default();
    let mut steps = Vec::new();
    while let Some(seen) = next.filter(|_| steps.len() < limit) {
        let Read { row, schema, checkpoint } = reader::checkpoint(connection, seen.seq, &mut material)?;
        steps.push(StepRecord {
            seq: Seq(seen.seq.cast_unsigned()),
            graph: thread.graph.as_str().into(),
            thread: reader::name(connection, &mut names, row.thread)?,
            checkpoint,
            schema,
            work: pending::on(connection, seen)?,
            emitted: emitted::of(connection, seen.seq)?,
        });
        next = row.parent.map(|parent| Seen { seq: parent, worker: row.thread, head: false });
    }
    Ok(steps)
}
