//! The effect journal: the table `effect`, one row per effect.

use std::borrow::Cow;

use rusqlite::{OptionalExtension, Row, params};
use superstep_core::checkpoint::{EffectId, EffectOutcome, EffectRecord, StoreError};
use superstep_core::id::{IdempotencyKey, TaskId};

use crate::encryption::Cell;
use crate::error::{corrupt, mismatch};
use crate::pending::{Seen, encode};
use crate::sqlite::connection::Connection;
use crate::sqlite::error::{FileError, sqlite};
use crate::sqlite::pending::key::{Visit, WorkKey, check_rows};

/// Returns the effects on top of a checkpoint.
pub(crate) fn on(connection: &Connection, seen: Seen) -> Result<Vec<EffectRecord>, StoreError> {
    let place = seen.place();
    let mut find = connection
        .prepare_cached(
            "SELECT task, name, key, occurrence, attempt, outcome, sum, starts, token FROM effect \
             WHERE thread = ? AND base = ? ORDER BY id",
        )
        .map_err(sqlite)?;
    let mut rows = find.query([place.thread, place.base]).map_err(sqlite)?;
    let mut effects = Vec::new();
    while let Some(row) = rows.next().map_err(sqlite)? {
        let found = Stored::read(row, 0, place)?;
        if found.outcome.is_some() || seen.head {
            effects.push(found.record(connection, place)?);
        }
    }
    Ok(effects)
}

/// A row of `effect`, as it is stored.
pub(crate) struct Stored {
    /// The id; its key is in its stored form.
    pub(crate) id: EffectId,
    start: Start,
    pub(crate) outcome: Option<String>,
}

impl Stored {
    /// Reads the row whose columns begin at `first`.
    pub(crate) fn read(row: &Row<'_>, first: usize, place: WorkKey) -> Result<Self, StoreError> {
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
        let found = Self { id, start: (attempt, starts, token), outcome };
        if sum != found.sum(place) {
            return Err(mismatch(format_args!("effect {} of task {}", found.id.name, found.id.task)));
        }
        Ok(found)
    }

    pub(crate) fn sum(&self, place: WorkKey) -> i64 {
        sum_of(place, &self.id, &self.id.key, self.start, self.outcome.as_deref())
    }

    fn record(mut self, connection: &Connection, place: WorkKey) -> Result<EffectRecord, StoreError> {
        let opened = |column, stored: &str| -> Result<String, StoreError> {
            Ok(connection.decrypt(stored, || cell(column, place, &self.id))?.into_owned())
        };
        let outcome = self.outcome.as_deref().map(|outcome| opened("outcome", outcome)).transpose()?;
        self.id.key = opened("key", &self.id.key)?;
        let id = self.id;
        let (attempt, starts, token) = self.start;
        let (starts, token) = match starts {
            0 => (1, IdempotencyKey::derive(&"".into(), id.task, &id.name, &id.key, id.occurrence)),
            starts => (starts, token),
        };
        let at = format_args!("effect {} of task {}", id.name, id.task);
        let outcome = outcome.map(|outcome| serde_json::from_str(&outcome)).transpose();
        let outcome = outcome.map_err(|error| corrupt(at, error))?;
        Ok(EffectRecord { id, attempt, starts, token, outcome })
    }
}

/// Returns the cell of a text of an effect.
pub(crate) fn cell(column: &'static str, place: WorkKey, id: &EffectId) -> Cell {
    let row = Cell::of("effect", column).int(place.thread).int(place.base).bytes(id.task.as_bytes());
    row.text(&id.name).int(i64::from(id.occurrence))
}

/// Returns the stored form of an effect's key: that of its row, or a new one. Encrypting a key twice gives different
/// texts, so a row of an encrypted file cannot be found by its stored key.
fn stored_key<'i>(
    connection: &Connection,
    place: WorkKey,
    id: &'i EffectId,
) -> Result<Cow<'i, str>, StoreError> {
    if !connection.is_encrypted() {
        return Ok(Cow::Borrowed(&id.key));
    }
    let mut find = connection
        .prepare_cached(
            "SELECT key FROM effect WHERE thread = ? AND base = ? AND task = ? AND name = ? AND occurrence = ?",
        )
        .map_err(sqlite)?;
    let of = params![place.thread, place.base, id.task.as_bytes(), id.name, id.occurrence];
    let mut rows = find.query(of).map_err(sqlite)?;
    while let Some(row) = rows.next().map_err(sqlite)? {
        let stored: String = row.get(0).map_err(sqlite)?;
        if connection.decrypt(&stored, || cell("key", place, id))? == id.key {
            return Ok(Cow::Owned(stored));
        }
    }
    connection.encrypt(&id.key, || cell("key", place, id))
}

/// Reads and checks every row of `effect`.
pub(crate) fn check(connection: &Connection, visit: &mut Visit<'_>) -> Result<(), StoreError> {
    let sql = "SELECT id, thread, base, task, name, key, occurrence, attempt, outcome, sum, starts, token \
               FROM effect ORDER BY id";
    let is_sound = |row: &Row<'_>, place| Stored::read(row, 3, place)?.record(connection, place).map(drop);
    check_rows(connection, sql, is_sound, visit)
}

/// The attempt, the number of starts, and the idempotency key of an effect.
type Start = (u32, u32, IdempotencyKey);

/// Returns the checksum of a row. The key and the outcome are in their stored form.
fn sum_of(place: WorkKey, id: &EffectId, key: &str, start: Start, outcome: Option<&str>) -> i64 {
    let (attempt, starts, token) = start;
    let sum = place.sum("effect").bytes(id.task.as_bytes()).text(&id.name).text(key);
    let sum = sum.int(i64::from(id.occurrence)).int(i64::from(attempt)).optional_text(outcome);
    // A row of format 1 has no starts and no key.
    if starts == 0 {
        return sum.finish();
    }
    sum.int(i64::from(starts)).bytes(token.as_bytes()).finish()
}

/// The stored form of an effect: its texts as their columns hold them, and the checksum of the row.
struct Columns<'e> {
    key: Cow<'e, str>,
    outcome: Option<String>,
    sum: i64,
}

impl<'e> Columns<'e> {
    fn of(connection: &Connection, place: WorkKey, effect: &'e EffectRecord) -> Result<Self, StoreError> {
        let id = &effect.id;
        let key = stored_key(connection, place, id)?;
        let outcome = effect.outcome.as_ref().map(encode).transpose()?;
        let sealed = connection.encrypt_optional(outcome.as_deref(), || cell("outcome", place, id))?;
        let outcome = sealed.map(Cow::into_owned);
        let start = (effect.attempt, effect.starts, effect.token);
        let sum = sum_of(place, id, &key, start, outcome.as_deref());
        Ok(Self { key, outcome, sum })
    }
}

/// Stores the start of an effect, and replaces an earlier start. A record that it does not follow stays, and is
/// returned.
pub(crate) fn begin(
    connection: &Connection,
    place: WorkKey,
    effect: &EffectRecord,
) -> Result<Option<EffectRecord>, StoreError> {
    let id = &effect.id;
    let columns = Columns::of(connection, place, effect)?;
    let stored = connection
        .prepare_cached(
            "INSERT INTO effect(thread, base, task, name, key, occurrence, attempt, starts, token, outcome, sum) \
             VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE \
             SET attempt = excluded.attempt, starts = excluded.starts, token = excluded.token, \
             outcome = excluded.outcome, sum = excluded.sum \
             WHERE effect.starts < excluded.starts AND effect.outcome IS NULL",
        )
        .and_then(|mut insert| {
            insert.execute(params![
                place.thread,
                place.base,
                id.task.as_bytes(),
                id.name,
                columns.key,
                id.occurrence,
                effect.attempt,
                effect.starts,
                effect.token.as_bytes(),
                columns.outcome,
                columns.sum,
            ])
        })
        .map_err(sqlite)?;
    if stored > 0 {
        return Ok(None);
    }
    let on_place = Seen { seq: place.base, worker: place.thread, head: true };
    let held = on(connection, on_place)?.into_iter().find(|held| held.id == *id);
    let held = held.ok_or(FileError::Raced)?;
    if effect.follows(Some(&held)) {
        // The earlier start failed, or its value no longer decodes.
        replace(connection, place, effect, &columns)?;
        return Ok(None);
    }
    Ok(Some(held))
}

fn replace(
    connection: &Connection,
    place: WorkKey,
    effect: &EffectRecord,
    columns: &Columns<'_>,
) -> Result<(), StoreError> {
    let replaced = connection
        .prepare_cached(
            "UPDATE effect SET attempt = ?, starts = ?, token = ?, outcome = ?, sum = ? \
             WHERE thread = ? AND base = ? AND task = ? AND name = ? AND key = ? AND occurrence = ?",
        )
        .and_then(|mut update| {
            update.execute(params![
                effect.attempt,
                effect.starts,
                effect.token.as_bytes(),
                columns.outcome,
                columns.sum,
                place.thread,
                place.base,
                effect.id.task.as_bytes(),
                effect.id.name,
                columns.key,
                effect.id.occurrence,
            ])
        })
        .map_err(sqlite)?;
    if replaced == 1 { Ok(()) } else { Err(FileError::Raced.into()) }
}

/// Stores the outcome of an effect that was begun. Returns `false` if the effect had already succeeded with another
/// outcome.
pub(crate) fn end(
    connection: &Connection,
    place: WorkKey,
    id: &EffectId,
    outcome: &EffectOutcome,
) -> Result<bool, StoreError> {
    let key = stored_key(connection, place, id)?;
    let encoded = encode(outcome)?;
    let begun: Option<(i64, Start, Option<String>)> = connection
        .prepare_cached(
            "SELECT id, attempt, starts, token, outcome FROM effect \
             WHERE thread = ? AND base = ? AND task = ? AND name = ? AND key = ? AND occurrence = ?",
        )
        .and_then(|mut find| {
            let of = params![place.thread, place.base, id.task.as_bytes(), id.name, key, id.occurrence];
            find.query_row(of, |row| {
                let start = (row.get(1)?, row.get(2)?, IdempotencyKey::from_bytes(row.get(3)?));
                Ok((row.get(0)?, start, row.get(4)?))
            })
            .optional()
        })
        .map_err(sqlite)?;
    let Some((row, start, held)) = begun else {
        return Ok(true);
    };
    if held.is_some() {
        let id = EffectId { key: key.clone().into_owned(), ..id.clone() };
        let found = Stored { id, start, outcome: held };
        if found.record(connection, place)?.is_settled_otherwise(outcome) {
            return Ok(false);
        }
    }
    let encoded = connection.encrypt(&encoded, || cell("outcome", place, id))?;
    let sum = sum_of(place, id, &key, start, Some(&encoded));
    let updated = connection
        .prepare_cached("UPDATE effect SET outcome = ?, sum = ? WHERE id = ?")
        .and_then(|mut update| update.execute(params![encoded, sum, row]))
        .map_err(sqlite)?;
    if updated == 1 { Ok(true) } else { Err(FileError::Raced.into()) }
}
