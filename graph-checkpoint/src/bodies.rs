//! Long texts, stored once per content.

use rusqlite::{Connection, OptionalExtension, params};
use superstep_core::checkpoint::StoreError;
use superstep_core::state::Json;

use crate::checksum::Checksum;
use crate::fault::{corrupt, sqlite};
use crate::manifest::Bodies;

/// The table `body`, by BLAKE3 of the text.
pub(crate) struct BodyTable<'c>(pub(crate) &'c Connection);

fn sum(id: i64, hash: &[u8]) -> i64 {
    Checksum::of("body").int(id).bytes(hash).finish()
}

impl Bodies for BodyTable<'_> {
    fn keep(&self, text: &str) -> Result<i64, StoreError> {
        let hash = blake3::hash(text.as_bytes());
        let mut held = self.0.prepare_cached("SELECT id FROM body WHERE hash = ?").map_err(sqlite)?;
        let held = held.query_row([hash.as_bytes()], |row| row.get(0)).optional();
        if let Some(id) = held.map_err(sqlite)? {
            return Ok(id);
        }
        let mut last = self.0.prepare_cached("SELECT max(id) FROM body").map_err(sqlite)?;
        let last: Option<i64> = last.query_row([], |row| row.get(0)).map_err(sqlite)?;
        let id = last.unwrap_or(0) + 1;
        self.0
            .prepare_cached("INSERT INTO body(id, hash, text, sum) VALUES(?, ?, ?, ?)")
            .and_then(|mut insert| {
                insert.execute(params![id, hash.as_bytes(), text, sum(id, hash.as_bytes())])
            })
            .map_err(sqlite)?;
        Ok(id)
    }

    fn find(&self, id: i64) -> Result<Json, StoreError> {
        let damaged = |reason: &str| corrupt(format_args!("body {id}"), reason);
        let mut find =
            self.0.prepare_cached("SELECT hash, text, sum FROM body WHERE id = ?").map_err(sqlite)?;
        let mut rows = find.query([id]).map_err(sqlite)?;
        let row = rows.next().map_err(sqlite)?.ok_or_else(|| damaged("the row is missing"))?;
        let hash: [u8; 32] = row.get(0).map_err(sqlite)?;
        let text: String = row.get(1).map_err(sqlite)?;
        let found: i64 = row.get(2).map_err(sqlite)?;
        if found != sum(id, &hash) || *blake3::hash(text.as_bytes()).as_bytes() != hash {
            return Err(damaged("its checksum does not match"));
        }
        Json::parse(text).map_err(|error| corrupt(format_args!("body {id}"), error))
    }
}
