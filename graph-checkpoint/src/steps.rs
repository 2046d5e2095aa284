//! Reading what happened: checkpoints with their supersteps, and without the values that they hold.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::Connection;
use superstep_core::checkpoint::{At, Seq, StepRecord, StoreError};
use superstep_core::id::{Fingerprint, ThreadId};
use superstep_core::state::Schema;

use crate::described::{Key, schema};
use crate::emitted;
use crate::fault::corrupt;
use crate::reader::{self, Names, Seen};
use crate::rows::{CheckpointRow, ThreadRow};
use crate::work;

/// The checkpoint of `thread` that is meant and those it continues, at most `limit` of them.
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
    let mut schemas: HashMap<Fingerprint, Arc<Schema>> = HashMap::new();
    let mut steps = Vec::new();
    while let Some(seen) = next.filter(|_| steps.len() < limit) {
        let row = CheckpointRow::visit(connection, seen.seq, |row, _| Ok(row))?;
        let checkpoint = reader::checkpoint(connection, seen.seq)?;
        let schema = match schemas.get(&checkpoint.schema) {
            Some(schema) => Arc::clone(schema),
            None => {
                let (_, fingerprint, found) = schema(connection, Key::Fingerprint(checkpoint.schema))?
                    .ok_or_else(|| corrupt("the schemas", "one is missing"))?;
                let found = Arc::new(found);
                schemas.insert(fingerprint, Arc::clone(&found));
                found
            }
        };
        steps.push(StepRecord {
            seq: Seq(seen.seq.cast_unsigned()),
            graph: thread.graph.as_str().into(),
            thread: reader::name(connection, &mut names, row.thread)?,
            checkpoint,
            schema,
            work: work::on(connection, seen)?,
            emitted: emitted::of(connection, seen.seq)?,
        });
        next = row.parent.map(|parent| Seen { seq: parent, worker: row.thread, head: false });
    }
    Ok(steps)
}
