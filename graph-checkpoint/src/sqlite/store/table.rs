//! The tables of the store, and their statements.

use rusqlite::{Connection, OptionalExtension, Row, params};
use superstep_core::state::Json;
use superstep_core::store::{AccessError, Entry, Namespace, Put, Search, words_in};

use super::sqlite_store::failed;
use crate::checksum::Checksum;

/// The statements that create the tables of entries and of the words of their texts, in the form of [`words_in`]. The
/// tokenizer does not change those: a word consists of lower-case letters and digits, and the tokenizer accepts every
/// character beyond ASCII as part of a word.
pub(super) const TABLES: &str = "
CREATE TABLE IF NOT EXISTS item(
    id INTEGER PRIMARY KEY, namespace TEXT NOT NULL, key TEXT NOT NULL, created INTEGER NOT NULL,
    updated INTEGER NOT NULL, expires INTEGER, value TEXT NOT NULL, sum INTEGER NOT NULL, UNIQUE(namespace, key)
) STRICT;
CREATE INDEX IF NOT EXISTS item_expires ON item(expires) WHERE expires IS NOT NULL;
CREATE VIRTUAL TABLE IF NOT EXISTS item_words USING fts5(
    words, content='', contentless_delete=1, detail=none, tokenize='ascii'
);
";

/// The maximum number of words that a search looks up in the index; the found entries are checked for all words.
const MOST_WORDS: usize = 64;

const COLUMNS: &str = "namespace, key, created, updated, expires, value, sum";

fn sum(path: &str, key: &str, times: (i64, i64, Option<i64>), value: &str) -> i64 {
    let (created, updated, expires) = times;
    let place = Checksum::of("item").int(i64::try_from(path.len()).unwrap_or(i64::MAX)).text(path).text(key);
    place.int(created).int(updated).optional_int(expires).text(value).finish()
}

fn millis(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

/// Reads a row of [`COLUMNS`].
fn entry(row: &Row<'_>) -> Result<Entry, AccessError> {
    let (path, key): (String, String) = (row.get(0).map_err(failed)?, row.get(1).map_err(failed)?);
    let created: i64 = row.get(2).map_err(failed)?;
    let updated: i64 = row.get(3).map_err(failed)?;
    let expires: Option<i64> = row.get(4).map_err(failed)?;
    let text: String = row.get(5).map_err(failed)?;
    let stored: i64 = row.get(6).map_err(failed)?;
    let damaged = |reason: &str| AccessError::Damaged {
        place: format!("the entry {key:?} at {path:?}"),
        reason: reason.to_owned(),
    };
    if stored != sum(&path, &key, (created, updated, expires), &text) {
        return Err(damaged("its checksum does not fit"));
    }
    let namespace = Namespace::from_path(&path).ok_or_else(|| damaged("its namespace is none"))?;
    let value = Json::parse(text).map_err(|error| damaged(&error.to_string()))?;
    let time = |time: i64| time.max(0).unsigned_abs();
    Ok(Entry {
        namespace,
        value,
        created_ms: time(created),
        updated_ms: time(updated),
        expires_ms: expires.map(time),
        key,
    })
}

/// Returns `true` if the file has a store.
pub(crate) fn is_there(connection: &Connection) -> Result<bool, rusqlite::Error> {
    let there = "SELECT count(*) FROM sqlite_schema WHERE name = 'item'";
    connection.query_row(there, [], |row| row.get::<_, i64>(0)).map(|found| found > 0)
}

/// Reads every entry of a file that has a store: `visit` receives the row's id and its problem, if it has one.
pub(crate) fn check(
    connection: &Connection,
    mut visit: impl FnMut(i64, Option<AccessError>),
) -> Result<(), AccessError> {
    if !is_there(connection).map_err(failed)? {
        return Ok(());
    }
    let sql = format!("SELECT {COLUMNS}, id FROM item ORDER BY id");
    let mut all = connection.prepare(&sql).map_err(failed)?;
    let mut rows = all.query([]).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        visit(row.get(7).map_err(failed)?, entry(row).err());
    }
    Ok(())
}

pub(crate) fn get(
    connection: &Connection,
    path: &str,
    key: &str,
    now: u64,
) -> Result<Option<Entry>, AccessError> {
    let sql = format!("SELECT {COLUMNS} FROM item WHERE namespace = ?1 AND key = ?2");
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    let mut rows = statement.query([path, key]).map_err(failed)?;
    match rows.next().map_err(failed)? {
        Some(row) => Ok(Some(entry(row)?).filter(|entry| entry.is_alive(now))),
        None => Ok(None),
    }
}

pub(super) fn put(connection: &Connection, put: &Put, now: u64) -> Result<(), AccessError> {
    let path = put.namespace.path();
    let held = connection
        .prepare_cached("SELECT id, created, expires FROM item WHERE namespace = ?1 AND key = ?2")
        .and_then(|mut statement| {
            statement
                .query_row([&path, &put.key], |row| {
                    Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, Option<i64>>(2)?))
                })
                .optional()
        })
        .map_err(failed)?;
    let now = millis(now);
    let created = match held {
        Some((_, created, expires)) if expires.is_none_or(|expires| now < expires) => created,
        _ => now,
    };
    if let Some((id, ..)) = held {
        remove(connection, id)?;
    }
    let expires = put.expires_ms.map(millis);
    let sum = sum(&path, &put.key, (created, now, expires), put.value.as_str());
    connection
        .prepare_cached(
            "INSERT INTO item(namespace, key, created, updated, expires, value, sum)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )
        .and_then(|mut statement| {
            statement.execute(params![path, put.key, created, now, expires, put.value.as_str(), sum])
        })
        .map_err(failed)?;
    let words: Vec<String> = words_in(&put.value).into_iter().collect();
    connection
        .prepare_cached("INSERT INTO item_words(rowid, words) VALUES(?1, ?2)")
        .and_then(|mut statement| statement.execute(params![connection.last_insert_rowid(), words.join(" ")]))
        .map(drop)
        .map_err(failed)
}

fn remove(connection: &Connection, id: i64) -> Result<(), AccessError> {
    for sql in ["DELETE FROM item_words WHERE rowid = ?1", "DELETE FROM item WHERE id = ?1"] {
        connection.prepare_cached(sql).and_then(|mut statement| statement.execute([id])).map_err(failed)?;
    }
    Ok(())
}

pub(super) fn delete(connection: &Connection, path: &str, key: &str, now: u64) -> Result<bool, AccessError> {
    let held = connection
        .prepare_cached("SELECT id, expires FROM item WHERE namespace = ?1 AND key = ?2")
        .and_then(|mut statement| {
            statement
                .query_row([path, key], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?)))
                .optional()
        })
        .map_err(failed)?;
    let Some((id, expires)) = held else { return Ok(false) };
    remove(connection, id)?;
    Ok(expires.is_none_or(|expires| millis(now) < expires))
}

/// Returns the end of the range of paths that begin with `path`; `None` at the root. A path ends with a slash, and the
/// next character after a slash is 0.
fn end_of(path: &str) -> Option<String> {
    path.strip_suffix('/').map(|path| format!("{path}0"))
}

pub(crate) fn search(connection: &Connection, search: &Search, now: u64) -> Result<Vec<Entry>, AccessError> {
    let path = search.namespace().path();
    // A quoted word is never an operator of the index's query language.
    let words = search.wanted_words().map(|words| {
        words.iter().take(MOST_WORDS).map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" ")
    });
    if words.as_ref().is_some_and(String::is_empty) {
        return Ok(Vec::new());
    }
    let indexed = match words {
        Some(_) => "AND id IN (SELECT rowid FROM item_words WHERE item_words MATCH ?3)",
        None => "AND ?3 IS NULL",
    };
    let sql = format!(
        "SELECT {COLUMNS} FROM item
         WHERE namespace >= ?1 AND (?2 IS NULL OR namespace < ?2) {indexed} ORDER BY namespace, key"
    );
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    let mut rows = statement.query(params![path, end_of(&path), words]).map_err(failed)?;
    let mut failure = None;
    let found =
        std::iter::from_fn(|| match rows.next().map_err(failed).and_then(|row| row.map(entry).transpose()) {
            Ok(entry) => entry,
            Err(error) => {
                failure = Some(error);
                None
            }
        });
    let page = search.page(found.filter(|entry| entry.is_alive(now) && search.finds(entry)));
    failure.map_or(Ok(page), Err)
}

pub(crate) fn namespaces(
    connection: &Connection,
    path: &str,
    now: u64,
) -> Result<Vec<Namespace>, AccessError> {
    let sql = "SELECT DISTINCT namespace FROM item
               WHERE namespace >= ?1 AND (?2 IS NULL OR namespace < ?2) AND (expires IS NULL OR ?3 < expires)
               ORDER BY namespace";
    let mut statement = connection.prepare_cached(sql).map_err(failed)?;
    let paths = statement.query_map(params![path, end_of(path), millis(now)], |row| row.get::<_, String>(0));
    let namespaces = paths.map_err(failed)?.map(|path| {
        let path = path.map_err(failed)?;
        Namespace::from_path(&path).ok_or_else(|| AccessError::Damaged {
            place: format!("the namespace {path:?}"),
            reason: "it is none".to_owned(),
        })
    });
    namespaces.collect()
}

pub(super) fn sweep(connection: &Connection, now: u64) -> Result<u64, AccessError> {
    let now = millis(now);
    connection
        .execute("DELETE FROM item_words WHERE rowid IN (SELECT id FROM item WHERE expires <= ?1)", [now])
        .map_err(failed)?;
    let removed = connection.execute("DELETE FROM item WHERE expires <= ?1", [now]).map_err(failed)?;
    Ok(removed as u64)
}
