//! Questions: the rows of `ask`.
//!
//! A row has columns for the parts that queries need: the deadline, the default answer, the answer, and `true` if the
//! deadline gave the answer. `text` is the rest of the record.

use rusqlite::{Row, params};
use superstep_core::checkpoint::{AnsweredBy, AskRecord, Deadline, StoreError};
use superstep_core::id::{InterruptId, NodeName, ThreadId};
use superstep_core::state::Json;

use crate::encryption::Cell;
use crate::error::{corrupt, mismatch};
use crate::history::rows::ThreadRow;
use crate::limited::undecoded;
use crate::pending::{Seen, encode};
use crate::sqlite::column::text;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::pending::key::{Visit, WorkKey, check_rows};

/// A row of `ask`, as it is stored.
pub(crate) struct AskRow {
    pub(crate) interrupt: InterruptId,
    pub(crate) text: String,
    pub(crate) deadline: Option<i64>,
    pub(crate) fallback: Option<String>,
    pub(crate) answer: Option<String>,
    by_deadline: bool,
}

/// Returns the cell of a text of a question.
pub(crate) fn cell(column: &'static str, place: WorkKey, interrupt: InterruptId) -> Cell {
    Cell::of("ask", column).int(place.thread).int(place.base).bytes(interrupt.as_bytes())
}

impl AskRow {
    fn of(connection: &Connection, place: WorkKey, ask: &AskRecord) -> Result<Self, StoreError> {
        let rest = AskRecord { deadline: None, answer: None, answered_by: AnsweredBy::Caller, ..ask.clone() };
        let sealed = |column, text: &str| -> Result<String, StoreError> {
            Ok(connection.encrypt(text, || cell(column, place, ask.id))?.into_owned())
        };
        let fallback = ask.deadline.as_ref().map(|deadline| sealed("fallback", deadline.default.as_str()));
        let answer = ask.answer.as_ref().map(|answer| sealed("answer", answer.as_str()));
        Ok(Self {
            interrupt: ask.id,
            text: sealed("text", &encode(&rest)?)?,
            deadline: ask.deadline.as_ref().map(|deadline| deadline.at_ms.cast_signed()),
            fallback: fallback.transpose()?,
            answer: answer.transpose()?,
            by_deadline: ask.answered_by == AnsweredBy::Deadline,
        })
    }

    /// Reads the row whose columns begin at `first`.
    pub(crate) fn read(row: &Row<'_>, first: usize, place: WorkKey) -> Result<Self, StoreError> {
        let found = Self {
            interrupt: InterruptId::from_bytes(row.get(first).map_err(sqlite)?),
            text: text(row, first + 1)?.to_owned(),
            deadline: row.get(first + 2).map_err(sqlite)?,
            fallback: row.get(first + 3).map_err(sqlite)?,
            answer: row.get(first + 4).map_err(sqlite)?,
            by_deadline: row.get(first + 5).map_err(sqlite)?,
        };
        let sum: i64 = row.get(first + 6).map_err(sqlite)?;
        if sum != found.sum(place) {
            return Err(mismatch(format_args!("question {}", found.interrupt)));
        }
        Ok(found)
    }

    pub(crate) fn sum(&self, place: WorkKey) -> i64 {
        let sum = place.sum("ask").bytes(self.interrupt.as_bytes()).text(&self.text);
        let sum = sum.optional_text(self.answer.as_deref());
        // A row of format 1 has no deadline.
        if self.deadline.is_none() && self.fallback.is_none() && !self.by_deadline {
            return sum.finish();
        }
        let sum = sum.optional_int(self.deadline).optional_text(self.fallback.as_deref());
        sum.int(i64::from(self.by_deadline)).finish()
    }

    fn record(self, connection: &Connection, place: WorkKey) -> Result<AskRecord, StoreError> {
        let interrupt = self.interrupt;
        let opened = |column, stored: &str| -> Result<String, StoreError> {
            Ok(connection.decrypt(stored, || cell(column, place, interrupt))?.into_owned())
        };
        let text = opened("text", &self.text)?;
        let fallback = self.fallback.map(|fallback| opened("fallback", &fallback)).transpose()?;
        let answer = self.answer.map(|answer| opened("answer", &answer)).transpose()?;
        let damaged = |error: &dyn core::fmt::Display| corrupt(format_args!("question {interrupt}"), error);
        let value = |text| {
            let value = Json::parse_within(text, connection.limits());
            value.map_err(|error| undecoded(format_args!("question {interrupt}"), error))
        };
        let mut ask: AskRecord = serde_json::from_str(&text).map_err(|error| damaged(&error))?;
        ask.deadline = match (self.deadline, fallback) {
            (Some(at_ms), Some(fallback)) => {
                Some(Deadline { at_ms: at_ms.cast_unsigned(), default: value(fallback)? })
            }
            _ => None,
        };
        ask.answer = answer.map(value).transpose()?;
        ask.answered_by = if self.by_deadline { AnsweredBy::Deadline } else { AnsweredBy::Caller };
        Ok(ask)
    }
}

/// Returns the questions on top of a checkpoint, in the order in which they were asked.
pub(crate) fn on(connection: &Connection, seen: Seen) -> Result<Vec<AskRecord>, StoreError> {
    let place = seen.place();
    let mut find = connection
        .prepare_cached(
            "SELECT interrupt, text, deadline, fallback, answer, by_deadline, sum FROM ask \
             WHERE thread = ? AND base = ? ORDER BY id",
        )
        .map_err(sqlite)?;
    let mut rows = find.query([place.thread, place.base]).map_err(sqlite)?;
    let mut asks = Vec::new();
    while let Some(row) = rows.next().map_err(sqlite)? {
        let found = AskRow::read(row, 0, place)?;
        if found.answer.is_some() || seen.head {
            asks.push(found.record(connection, place)?);
        }
    }
    Ok(asks)
}

/// Reads and checks every row.
pub(crate) fn check(connection: &Connection, visit: &mut Visit<'_>) -> Result<(), StoreError> {
    let sql = "SELECT id, thread, base, interrupt, text, deadline, fallback, answer, by_deadline, sum \
               FROM ask ORDER BY id";
    let check = |row: &Row<'_>, place| AskRow::read(row, 3, place)?.record(connection, place).map(drop);
    check_rows(connection, sql, check, visit)
}

/// Stores the questions of paused tasks. They replace the earlier questions of these tasks, except answered ones.
pub(crate) fn instead(
    connection: &Connection,
    place: WorkKey,
    asked: &[AskRecord],
) -> Result<(), StoreError> {
    let held = on(connection, Seen { seq: place.base, worker: place.thread, head: true })?;
    let given_up = |held: &&AskRecord| {
        held.answer.is_none()
            && asked.iter().any(|ask| ask.task == held.task)
            && asked.iter().all(|ask| ask.id != held.id)
    };
    for ask in held.iter().filter(given_up) {
        connection
            .prepare_cached("DELETE FROM ask WHERE thread = ? AND base = ? AND interrupt = ?")
            .and_then(|mut delete| delete.execute(params![place.thread, place.base, ask.id.as_bytes()]))
            .map_err(sqlite)?;
    }
    asked.iter().try_for_each(|asked| keep(connection, place, asked))
}

/// Stores a question, unless it is already stored.
pub(crate) fn keep(connection: &Connection, place: WorkKey, ask: &AskRecord) -> Result<(), StoreError> {
    let row = AskRow::of(connection, place, ask)?;
    connection
        .prepare_cached(
            "INSERT INTO ask(thread, base, interrupt, text, deadline, fallback, answer, by_deadline, sum) \
             VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        )
        .and_then(|mut insert| {
            insert.execute(params![
                place.thread,
                place.base,
                row.interrupt.as_bytes(),
                row.text,
                row.deadline,
                row.fallback,
                row.answer,
                row.by_deadline,
                row.sum(place),
            ])
        })
        .map(drop)
        .map_err(sqlite)
}

/// Stores the answer of an existing question, and its source.
pub(crate) fn answer(
    connection: &Connection,
    place: WorkKey,
    answered: &AskRecord,
) -> Result<(), StoreError> {
    let row = AskRow::of(connection, place, answered)?;
    connection
        .prepare_cached(
            "UPDATE ask SET text = ?, fallback = ?, answer = ?, by_deadline = ?, sum = ? \
             WHERE thread = ? AND base = ? AND interrupt = ?",
        )
        .and_then(|mut update| {
            update.execute(params![
                row.text,
                row.fallback,
                row.answer,
                row.by_deadline,
                row.sum(place),
                place.thread,
                place.base,
                row.interrupt.as_bytes(),
            ])
        })
        .map(drop)
        .map_err(sqlite)
}

/// Selects open questions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Open {
    /// All of them.
    All,
    /// Questions whose deadline is not after this time, in milliseconds since the Unix epoch.
    Due(i64),
}

/// Returns the heads of a graph's threads that have such questions, by the threads' names. Reads no other thread.
pub(crate) fn open(
    connection: &Connection,
    graph: &NodeName,
    which: Open,
) -> Result<Vec<(ThreadId, WorkKey)>, StoreError> {
    let sql = match which {
        Open::All => "SELECT DISTINCT thread, base FROM ask INDEXED BY ask_open WHERE answer IS NULL",
        Open::Due(_) => {
            "SELECT DISTINCT thread, base FROM ask INDEXED BY ask_open WHERE answer IS NULL AND deadline <= ?"
        }
    };
    let latest = match which {
        Open::All => None,
        Open::Due(latest) => Some(latest),
    };
    let mut find = connection.prepare_cached(sql).map_err(sqlite)?;
    let places = find
        .query_map(rusqlite::params_from_iter(latest), |row| {
            Ok(WorkKey { thread: row.get(0)?, base: row.get(1)? })
        })
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(sqlite)?;
    let mut found = Vec::new();
    for place in places {
        let thread = ThreadRow::get(connection, place.thread)?;
        // Questions that another process left on a checkpoint that is no longer a head have no effect.
        if thread.graph == graph.as_str() && thread.head == place.base && !thread.name.is_below() {
            found.push((thread.name, place));
        }
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(found)
}
