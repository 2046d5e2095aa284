//! The tables with texts, and the functions that rewrite the texts of their rows.

use rusqlite::{OptionalExtension, params};
use superstep_core::checkpoint::StoreError;
use superstep_core::id::TaskId;

use super::Form;
use crate::encryption::{Cell, is_sealed};
use crate::error::{corrupt, mismatch};
use crate::sqlite::column::LongText;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::history::long_texts;
use crate::sqlite::history::row_texts::Stored;
use crate::sqlite::history::rows::{Changed, CheckpointRow};
use crate::sqlite::history::segment::Segment;
use crate::sqlite::pending::ask::{self, AskRow};
use crate::sqlite::pending::effect;
use crate::sqlite::pending::emitted;
use crate::sqlite::pending::key::WorkKey;
use crate::sqlite::pending::results;
use crate::sqlite::records::{self, Digests, Tags};

/// A table with texts.
pub(super) struct Table {
    pub(super) name: &'static str,
    /// The columns with texts. The first one is present in every row.
    pub(super) columns: &'static [&'static str],
    /// The SQL condition for rows to skip.
    but: &'static str,
    /// Rewrites the texts of the row with this number.
    pub(super) rewrite: Rewrite,
}

/// The work of one transaction.
#[derive(Default)]
pub(super) struct Done {
    /// The last row.
    pub(super) last: i64,
    pub(super) rows: u64,
    pub(super) bytes: u64,
    /// `true` if there are no more rows.
    pub(super) is_all: bool,
}

impl Done {
    fn row(&mut self, row: i64, bytes: usize) {
        self.last = row;
        self.rows += 1;
        self.bytes += bytes as u64;
    }
}

/// The SQL condition for the empty rows of deletions, which have no texts.
const PLACES: &str = "thread = 0 AND changes = '[]'";

pub(super) const TABLES: [Table; 13] = [
    Table {
        name: "checkpoint",
        columns: &["changes", "fields", "manifest"],
        but: PLACES,
        rewrite: checkpoint,
    },
    Table { name: "segment", columns: &["text", "whole"], but: "0", rewrite: segment },
    Table { name: "body", columns: &["coalesce(sealed, text)"], but: "0", rewrite: body },
    Table { name: "pending", columns: &["text"], but: "0", rewrite: pending },
    Table { name: "ask", columns: &["text", "fallback", "answer"], but: "0", rewrite: ask },
    Table { name: "effect", columns: &["key", "outcome"], but: "0", rewrite: effect },
    Table { name: "emitted", columns: &["text"], but: "0", rewrite: emitted },
    server(records::TABLES[0], server_thread),
    server(records::TABLES[1], |connection, id, form, done| row(1, connection, id, form, done)),
    server(records::TABLES[2], |connection, id, form, done| row(2, connection, id, form, done)),
    server(records::TABLES[3], |connection, id, form, done| row(3, connection, id, form, done)),
    server(records::TABLES[4], |connection, id, form, done| row(4, connection, id, form, done)),
    server(records::TABLES[5], |connection, id, form, done| row(5, connection, id, form, done)),
];

type Rewrite = fn(&Connection, i64, Form, &mut Done) -> Result<(), StoreError>;

const fn server(table: &records::Table, rewrite: Rewrite) -> Table {
    Table { name: table.name, columns: &["text"], but: "0", rewrite }
}

impl Table {
    /// Returns the first row after this one that has a text in another form.
    pub(super) fn next(
        &self,
        connection: &Connection,
        after: i64,
        form: Form,
        prefix: &str,
    ) -> Result<Option<i64>, StoreError> {
        let (mark, other) = match form {
            Form::Encrypted => (prefix, "<>"),
            Form::Plain => ("~", "="),
        };
        let differs =
            self.columns.iter().map(|column| format!("{} {other} ?2", beginning(column, mark.len())));
        let differs = differs.collect::<Vec<_>>().join(" OR ");
        let sql = format!(
            "SELECT rowid FROM {} WHERE rowid > ?1 AND ({differs}) AND NOT ({}) ORDER BY rowid LIMIT 1",
            self.name, self.but
        );
        let mut next = connection.prepare_cached(&sql).map_err(sqlite)?;
        next.query_row(params![after, mark], |row| row.get(0)).optional().map_err(sqlite)
    }
}

/// Returns the SQL expression for the first `letters` characters of a column's texts, also for a column of bytes.
pub(super) fn beginning(column: &str, letters: usize) -> String {
    format!("CAST(substr({column}, 1, {letters}) AS TEXT)")
}

/// Returns a text in the given form.
fn formed(
    connection: &Connection,
    stored: &str,
    form: Form,
    cell: impl Fn() -> Cell,
) -> Result<String, StoreError> {
    let text = match is_sealed(stored) {
        true => connection.decrypt(stored, &cell)?,
        false => stored.into(),
    };
    match form {
        Form::Encrypted => Ok(connection.encrypt(&text, cell)?.into_owned()),
        Form::Plain => Ok(text.into_owned()),
    }
}

fn formed_optional(
    connection: &Connection,
    stored: Option<&str>,
    form: Form,
    cell: impl Fn() -> Cell,
) -> Result<Option<String>, StoreError> {
    stored.map(|stored| formed(connection, stored, form, cell)).transpose()
}

fn update(connection: &Connection, sql: &str, values: impl rusqlite::Params) -> Result<(), StoreError> {
    connection.prepare_cached(sql).and_then(|mut update| update.execute(values)).map(drop).map_err(sqlite)
}

fn checkpoint(connection: &Connection, seq: i64, form: Form, done: &mut Done) -> Result<(), StoreError> {
    let (row, stored) = CheckpointRow::stored(connection, seq)?;
    let cell = |column| move || Changed::cell(column, seq, row.parent);
    let texts = Stored {
        changes: formed(connection, &stored.changes, form, cell("changes"))?.into(),
        fields: formed_optional(connection, stored.fields.as_deref(), form, cell("fields"))?.map(Into::into),
        manifest: formed(connection, &stored.manifest, form, || row.manifest_cell())?.into(),
    };
    done.row(
        seq,
        texts.changes.len() + texts.fields.as_ref().map_or(0, |map| map.len()) + texts.manifest.len(),
    );
    row.replace(connection, &texts)
}

fn segment(connection: &Connection, id: i64, form: Form, done: &mut Done) -> Result<(), StoreError> {
    let (row, stored) = Segment::stored(connection, id)?;
    let text = formed(connection, &stored.text, form, || row.cell("text"))?;
    let whole = formed_optional(connection, stored.whole.as_deref(), form, || row.cell("whole"))?;
    done.row(id, text.len() + whole.as_ref().map_or(0, String::len));
    let sum = row.sum(whole.as_deref(), &text);
    let sql = "UPDATE segment SET text = ?, whole = ?, sum = ? WHERE id = ?";
    update(connection, sql, params![text, whole, sum, id])
}

fn body(connection: &Connection, id: i64, form: Form, done: &mut Done) -> Result<(), StoreError> {
    let sql = "SELECT hash, text, sum, sealed FROM body WHERE id = ?";
    let mut find = connection.prepare_cached(sql).map_err(sqlite)?;
    let damaged = || corrupt(format_args!("body {id}"), "its checksum does not match");
    let found = find.query_row([id], |row| {
        let (hash, sum): ([u8; 32], i64) = (row.get(0)?, row.get(2)?);
        Ok(LongText::read(row, 1, 3).and_then(|stored| {
            if sum != long_texts::sum(id, &hash, &stored) {
                return Err(damaged());
            }
            match &stored {
                LongText::Text(text) if !is_sealed(text) => Ok((hash, false, text.to_string())),
                sealed => {
                    let text = connection.decrypt_long(sealed, || long_texts::cell(id))?;
                    Ok((hash, true, text.into_owned()))
                }
            }
        }))
    });
    let (hash, was_sealed, text) = found.map_err(sqlite)??;
    let digest = |sealed| match sealed {
        true => connection.digest(&text),
        false => blake3::hash(text.as_bytes()),
    };
    if digest(was_sealed) != hash {
        return Err(damaged());
    }
    let stored = match form {
        Form::Encrypted => connection.encrypt_long(&text, || long_texts::cell(id))?,
        Form::Plain => LongText::Text(text.as_str().into()),
    };
    let hash = digest(form == Form::Encrypted);
    let sum = long_texts::sum(id, hash.as_bytes(), &stored);
    let (text, sealed) = stored.columns();
    done.row(id, text.len() + sealed.map_or(0, <[u8]>::len));
    update(
        connection,
        "UPDATE body SET hash = ?, text = ?, sum = ?, sealed = ? WHERE id = ?",
        params![hash.as_bytes(), text, sum, sealed, id],
    )
}

fn pending(connection: &Connection, id: i64, form: Form, done: &mut Done) -> Result<(), StoreError> {
    let sql = "SELECT thread, base, task, text, sum FROM pending WHERE id = ?";
    let (place, task, stored, sum): (WorkKey, TaskId, String, i64) = connection
        .query_row(sql, [id], |row| {
            let place = WorkKey { thread: row.get(0)?, base: row.get(1)? };
            Ok((place, TaskId::from_bytes(row.get(2)?), row.get(3)?, row.get(4)?))
        })
        .map_err(sqlite)?;
    if sum != results::sum_of(place, task, &stored) {
        return Err(mismatch(format_args!("the pending result of task {task}")));
    }
    let stored = formed(connection, &stored, form, || results::cell(place, task))?;
    done.row(id, stored.len());
    let sum = results::sum_of(place, task, &stored);
    update(connection, "UPDATE pending SET text = ?, sum = ? WHERE id = ?", params![stored, sum, id])
}

fn emitted(connection: &Connection, id: i64, form: Form, done: &mut Done) -> Result<(), StoreError> {
    let sql = "SELECT checkpoint, task, text, sum FROM emitted WHERE id = ?";
    let (seq, task, stored, sum): (i64, u32, String, i64) = connection
        .query_row(sql, [id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .map_err(sqlite)?;
    if sum != emitted::sum_of(seq, task, &stored) {
        return Err(mismatch(format_args!("what task {task} of checkpoint row {seq} emitted")));
    }
    let stored = formed(connection, &stored, form, || emitted::cell(seq, task))?;
    done.row(id, stored.len());
    let sum = emitted::sum_of(seq, task, &stored);
    update(connection, "UPDATE emitted SET text = ?, sum = ? WHERE id = ?", params![stored, sum, id])
}

fn ask(connection: &Connection, id: i64, form: Form, done: &mut Done) -> Result<(), StoreError> {
    let sql = "SELECT thread, base, interrupt, text, deadline, fallback, answer, by_deadline, sum FROM ask \
               WHERE id = ?";
    let mut find = connection.prepare_cached(sql).map_err(sqlite)?;
    let found = find.query_row([id], |row| {
        let place = WorkKey { thread: row.get(0)?, base: row.get(1)? };
        Ok((place, AskRow::read(row, 2, place)))
    });
    let (place, found) = found.map_err(sqlite)?;
    let mut found = found?;
    let interrupt = found.interrupt;
    let cell = |column| move || ask::cell(column, place, interrupt);
    found.text = formed(connection, &found.text, form, cell("text"))?;
    found.fallback = formed_optional(connection, found.fallback.as_deref(), form, cell("fallback"))?;
    found.answer = formed_optional(connection, found.answer.as_deref(), form, cell("answer"))?;
    let others = [&found.fallback, &found.answer].into_iter().flatten().map(String::len).sum::<usize>();
    done.row(id, found.text.len() + others);
    update(
        connection,
        "UPDATE ask SET text = ?, fallback = ?, answer = ?, sum = ? WHERE id = ?",
        params![found.text, found.fallback, found.answer, found.sum(place), id],
    )
}

fn effect(connection: &Connection, id: i64, form: Form, done: &mut Done) -> Result<(), StoreError> {
    let sql = "SELECT thread, base, task, name, key, occurrence, attempt, outcome, sum, starts, token FROM effect \
               WHERE id = ?";
    let mut find = connection.prepare_cached(sql).map_err(sqlite)?;
    let found = find.query_row([id], |row| {
        let place = WorkKey { thread: row.get(0)?, base: row.get(1)? };
        Ok((place, effect::Stored::read(row, 2, place)))
    });
    let (place, found) = found.map_err(sqlite)?;
    let mut found = found?;
    let of = found.id.clone();
    let of = &of;
    let cell = |column| move || effect::cell(column, place, of);
    found.id.key = formed(connection, &found.id.key, form, cell("key"))?;
    found.outcome = formed_optional(connection, found.outcome.as_deref(), form, cell("outcome"))?;
    done.row(id, found.id.key.len() + found.outcome.as_ref().map_or(0, String::len));
    update(
        connection,
        "UPDATE effect SET key = ?, outcome = ?, sum = ? WHERE id = ?",
        params![found.id.key, found.outcome, found.sum(place), id],
    )
}

/// Rewrites a row of a server's table.
fn row(
    table: usize,
    connection: &Connection,
    id: i64,
    form: Form,
    done: &mut Done,
) -> Result<(), StoreError> {
    let formed = |stored: &str, cell: &dyn Fn() -> Cell| formed(connection, stored, form, cell);
    let bytes = records::TABLES[table].rewrite(connection, id, formed)?;
    done.row(id, bytes);
    Ok(())
}

/// Rewrites a row of a server's threads, with the hashes of its metadata.
fn server_thread(connection: &Connection, id: i64, form: Form, done: &mut Done) -> Result<(), StoreError> {
    let digests = |sealed| if sealed { Digests::OfFile } else { Digests::Plain };
    let formed = |stored: &str, cell: &dyn Fn() -> Cell| {
        let was_sealed = is_sealed(stored);
        let text = if was_sealed { connection.decrypt(stored, cell)? } else { stored.into() };
        let before = Tags::of_text(connection, &text, digests(was_sealed))?;
        let after = Tags::of_text(connection, &text, digests(form == Form::Encrypted))?;
        after.replace(connection, &before, id)?;
        formed(connection, stored, form, cell)
    };
    let bytes = records::TABLES[0].rewrite(connection, id, formed)?;
    done.row(id, bytes);
    Ok(())
}
