//! Pending work, on top of a checkpoint: results and failures of tasks, questions, and the effect journal.
//!
//! Rows belong to a thread and a base. A commit deletes results, failures, open questions and effects without an
//! outcome; answers and outcomes stay, for replay. A reader ignores work that another process left on a checkpoint that
//! is no longer a head.

pub(crate) mod ask;
pub(crate) mod drawn;
pub(crate) mod effect;
pub(crate) mod emitted;
pub(crate) mod key;
pub(crate) mod results;

use superstep_core::checkpoint::{Carried, Recorded, StoreError};

use crate::pending::Seen;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::pending::key::WorkKey;
use crate::sqlite::pending::results::{fail, pending, record};

/// Returns all work on top of a checkpoint.
pub(crate) fn on(connection: &Connection, seen: Seen) -> Result<Carried, StoreError> {
    let (results, failures) = pending(connection, seen)?;
    let (asks, effects) = (ask::on(connection, seen)?, effect::on(connection, seen)?);
    Ok(Carried { results, failures, asks, effects })
}

/// Returns the part of the work that a commit must know.
pub(crate) fn recorded(connection: &Connection, seen: Seen) -> Result<Recorded, StoreError> {
    let (results, _) = pending(connection, seen)?;
    Ok(Recorded::of(&results, &effect::on(connection, seen)?))
}

/// Stores the work that a commit carries; returns `true` if there is any.
pub(crate) fn carry(connection: &Connection, place: WorkKey, carried: &Carried) -> Result<bool, StoreError> {
    for result in &carried.results {
        record(connection, place, result)?;
    }
    carried.failures.iter().try_for_each(|failure| fail(connection, place, failure))?;
    carried.asks.iter().try_for_each(|asked| ask::keep(connection, place, asked))?;
    carried.effects.iter().try_for_each(|begun| effect::begin(connection, place, begun).map(drop))?;
    Ok(!carried.is_empty())
}

/// Deletes the unfinished work on `place` when a checkpoint continues it.
pub(crate) fn settle(connection: &Connection, place: WorkKey) -> Result<(), StoreError> {
    execute(connection, "DELETE FROM pending WHERE thread = ? AND base = ?", place)?;
    discard(connection, place)
}

/// Deletes open questions and unfinished effects when the superstep on `place` is discarded. Its other work stays, to
/// be inspected.
pub(crate) fn discard(connection: &Connection, place: WorkKey) -> Result<(), StoreError> {
    execute(connection, "DELETE FROM ask WHERE thread = ? AND base = ? AND answer IS NULL", place)?;
    execute(connection, "DELETE FROM effect WHERE thread = ? AND base = ? AND outcome IS NULL", place)
}

fn execute(connection: &Connection, sql: &str, place: WorkKey) -> Result<(), StoreError> {
    connection
        .prepare_cached(sql)
        .and_then(|mut delete| delete.execute([place.thread, place.base]))
        .map(drop)
        .map_err(sqlite)
}
