//! Work on top of a checkpoint: results and failures of tasks, questions, and the effect journal.
//!
//! Rows belong to a thread and a base. At the barrier, results, failures, open questions and effects without an
//! outcome go; answers and outcomes stay, for replay. A reader ignores what another process left on a checkpoint that
//! is no longer a head.

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;
use superstep_core::checkpoint::{Carried, EffectId, EffectOutcome, EffectRecord, StoreError};
use superstep_core::id::{IdempotencyKey, TaskId};

use crate::ask;
use crate::checksum::Checksum;
use crate::fault::{Trouble, corrupt, sqlite};
use crate::pending::{fail, pending, record};
use crate::reader::Seen;
use crate::rows::mismatch;

/// Where work belongs: the row of a thread, and the sequence number of its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) thread: i64,
    pub(crate) base: i64,
}

impl Place {
    pub(crate) fn sum(self, table: &str) -> Checksum {
        Checksum::of(table).int(self.thread).int(self.base)
    }
}

/// Everything on top of a checkpoint.
pub(crate) fn on(connection: &Connection, seen: Seen) -> Result<Carried, StoreError> {
    let (results, failures) = pending(connection, seen)?;
    let (asks, effects) = (ask::on(connection, seen)?, effects(connection, seen)?);
    Ok(Carried { results, failures, asks, effects })
}

pub(crate) fn encode<T: Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Io(Box::new(error)))
}

pub(crate) fn place_of(seen: Seen) -> Place {
    Place { thread: seen.worker, base: seen.seq }
}

/// Stores the work that a commit carries; whether there is any.
pub(crate) fn carry(connection: &Connection, place: Place, carried: &Carried) -> Result<bool, StoreError> {
    for result in &carried.results {
        record(connection, place, result)?;
    }
    carried.failures.iter().try_for_each(|failure| fail(connection, place, failure))?;
    carried.asks.iter().try_for_each(|asked| ask::keep(connection, place, asked))?;
    carried.effects.iter().try_for_each(|effect| begin_effect(connection, place, effect).map(drop))?;
    Ok(!carried.is_empty())
}

fn effects(connection: &Connection, seen: Seen) -> Result<Vec<EffectRecord>, StoreError> {
    let place = place_of(seen);
    let mut find = connection
        .prepare_cached(
            "SELECT task, name, key, occurrence, attempt, outcome, sum, starts, token FROM effect \
             WHERE thread = ? AND base = ? ORDER BY id",
        )
        .map_err(sqlite)?;
    let mut rows = find.query([place.thread, place.base]).map_err(sqlite)?;
    let mut effects = Vec::new();
    while let Some(row) = rows.next().map_err(sqlite)? {
        let (found, outcome) = read_effect(row, 0, place)?;
        if outcome.is_some() || seen.head {
            effects.push(complete(found, outcome)?);
        }
    }
    Ok(effects)
}

/// Reads the row whose columns begin at `first`; the outcome is not decoded yet.
fn read_effect(
    row: &Row<'_>,
    first: usize,
    place: Place,
) -> Result<(EffectRecord, Option<String>), StoreError> {
    let id = EffectId {
        task: TaskId::from_bytes(row.get(first).map_err(sqlite)?),
        name: row.get(first + 1).map_err(sqlite)?,
        key: row.get(first + 2).map_err(sqlite)?,
        occurrence: row.get(first + 3).map_err(sqlite)?,
    };
    let attempt = row.get(first + 4).map_err(sqlite)?;
    let outcome: Option<String> = row.get(first + 5).map_err(sqlite)?;
    let sum: i64 = row.get(first + 6).map_err(sqlite)?;
    let starts = row.get(first + 7).map_err(sqlite)?;
    let token = IdempotencyKey::from_bytes(row.get(first + 8).map_err(sqlite)?);
    if sum != effect_sum(place, &id, (attempt, starts, token), outcome.as_deref()) {
        return Err(mismatch(format_args!("effect {} of task {}", id.name, id.task)));
    }
    let (starts, token) = match starts {
        0 => (1, IdempotencyKey::derive(&"".into(), id.task, &id.name, &id.key, id.occurrence)),
        starts => (starts, token),
    };
    Ok((EffectRecord { id, attempt, starts, token, outcome: None }, outcome))
}

fn complete(found: EffectRecord, outcome: Option<String>) -> Result<EffectRecord, StoreError> {
    let outcome = outcome.map(|outcome| serde_json::from_str(&outcome)).transpose();
    let at = format_args!("effect {} of task {}", found.id.name, found.id.task);
    let outcome = outcome.map_err(|error| corrupt(at, error))?;
    Ok(EffectRecord { outcome, ..found })
}

/// Reads every row of `effect`.
pub(crate) fn check_effects(connection: &Connection, visit: &mut Visit<'_>) -> Result<(), StoreError> {
    let sql = "SELECT id, thread, base, task, name, key, occurrence, attempt, outcome, sum, starts, token \
               FROM effect ORDER BY id";
    let check = |row: &Row<'_>, place| {
        let (found, outcome) = read_effect(row, 3, place)?;
        complete(found, outcome).map(drop)
    };
    check_rows(connection, sql, check, visit)
}

/// Who is told of each row of work: its id, where it belongs, and whether it is sound.
pub(crate) type Visit<'v> = dyn FnMut(i64, Place, Result<(), StoreError>) + 'v;

/// Reads every row that `sql` finds, whose first columns are its id and its place.
pub(crate) fn check_rows(
    connection: &Connection,
    sql: &str,
    check: impl Fn(&Row<'_>, Place) -> Result<(), StoreError>,
    visit: &mut Visit<'_>,
) -> Result<(), StoreError> {
    let mut all = connection.prepare_cached(sql).map_err(sqlite)?;
    let mut rows = all.query([]).map_err(sqlite)?;
    while let Some(row) = rows.next().map_err(sqlite)? {
        let id = row.get(0).map_err(sqlite)?;
        let place = Place { thread: row.get(1).map_err(sqlite)?, base: row.get(2).map_err(sqlite)? };
        visit(id, place, check(row, place));
    }
    Ok(())
}

/// The attempt, the number of starts, and the idempotency key of an effect.
type Start = (u32, u32, IdempotencyKey);

fn effect_sum(place: Place, id: &EffectId, start: Start, outcome: Option<&str>) -> i64 {
    let (attempt, starts, token) = start;
    let sum = place.sum("effect").bytes(id.task.as_bytes()).text(&id.name).text(&id.key);
    let sum = sum.int(i64::from(id.occurrence)).int(i64::from(attempt)).optional_text(outcome);
    // A row of format 1, which counted no starts and knew no keys.
    if starts == 0 {
        return sum.finish();
    }
    sum.int(i64::from(starts)).bytes(token.as_bytes()).finish()
}

/// Stores that an effect starts, in the place of what an earlier start left. Where that is no earlier one, it stays
/// and is returned.
pub(crate) fn begin_effect(
    connection: &Connection,
    place: Place,
    effect: &EffectRecord,
) -> Result<Option<EffectRecord>, StoreError> {
    let id = &effect.id;
    let outcome = effect.outcome.as_ref().map(encode).transpose()?;
    let stored = connection
        .prepare_cached(
            "INSERT INTO effect(thread, base, task, name, key, occurrence, attempt, starts, token, outcome, sum) \
             VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE \
             SET attempt = excluded.attempt, starts = excluded.starts, token = excluded.token, \
             outcome = excluded.outcome, sum = excluded.sum WHERE effect.starts < excluded.starts",
        )
        .and_then(|mut insert| {
            insert.execute(params![
                place.thread,
                place.base,
                id.task.as_bytes(),
                id.name,
                id.key,
                id.occurrence,
                effect.attempt,
                effect.starts,
                effect.token.as_bytes(),
                outcome,
                effect_sum(place, id, (effect.attempt, effect.starts, effect.token), outcome.as_deref()),
            ])
        })
        .map_err(sqlite)?;
    if stored > 0 {
        return Ok(None);
    }
    let on_place = Seen { seq: place.base, worker: place.thread, head: true };
    let held = effects(connection, on_place)?.into_iter().find(|held| held.id == *id);
    Ok(Some(held.ok_or(Trouble::Raced)?))
}

/// Stores how an effect that was begun ended.
pub(crate) fn end_effect(
    connection: &Connection,
    place: Place,
    id: &EffectId,
    outcome: &EffectOutcome,
) -> Result<(), StoreError> {
    let outcome = encode(outcome)?;
    let begun: Option<(i64, u32, u32, [u8; 16])> = connection
        .prepare_cached(
            "SELECT id, attempt, starts, token FROM effect \
             WHERE thread = ? AND base = ? AND task = ? AND name = ? AND key = ? AND occurrence = ?",
        )
        .and_then(|mut find| {
            let key = params![place.thread, place.base, id.task.as_bytes(), id.name, id.key, id.occurrence];
            find.query_row(key, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))).optional()
        })
        .map_err(sqlite)?;
    let Some((row, attempt, starts, token)) = begun else {
        return Ok(());
    };
    let token = IdempotencyKey::from_bytes(token);
    let sum = effect_sum(place, id, (attempt, starts, token), Some(&outcome));
    let updated = connection
        .prepare_cached("UPDATE effect SET outcome = ?, sum = ? WHERE id = ?")
        .and_then(|mut update| update.execute(params![outcome, sum, row]))
        .map_err(sqlite)?;
    if updated == 1 { Ok(()) } else { Err(Trouble::Raced.into()) }
}

/// The barrier: what goes when a checkpoint continues `place`.
pub(crate) fn settle(connection: &Connection, place: Place) -> Result<(), StoreError> {
    execute(connection, "DELETE FROM pending WHERE thread = ? AND base = ?", place)?;
    discard(connection, place)
}

/// What goes when the superstep on `place` is given up. What it has come to stays, to be looked at.
pub(crate) fn discard(connection: &Connection, place: Place) -> Result<(), StoreError> {
    execute(connection, "DELETE FROM ask WHERE thread = ? AND base = ? AND answer IS NULL", place)?;
    execute(connection, "DELETE FROM effect WHERE thread = ? AND base = ? AND outcome IS NULL", place)
}

fn execute(connection: &Connection, sql: &str, place: Place) -> Result<(), StoreError> {
    connection
        .prepare_cached(sql)
        .and_then(|mut delete| delete.execute([place.thread, place.base]))
        .map(drop)
        .map_err(sqlite)
}
