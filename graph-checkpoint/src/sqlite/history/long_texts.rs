//! Long texts, stored once per content.

use std::cell::{Cell as Counter, RefCell};
use std::collections::{HashMap, HashSet};

use rusqlite::{OptionalExtension, params};
use superstep_core::checkpoint::StoreError;
use superstep_core::state::{Excess, Json};

use crate::checksum::Checksum;
use crate::encryption::{Cell, is_sealed};
use crate::error::corrupt;
use crate::history::manifest::Bodies;
use crate::limited::{too_large, undecoded};
use crate::sqlite::column::LongText;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;

/// The table `body`, indexed by the BLAKE3 hash of the text.
pub(crate) struct BodyTable<'c>(pub(crate) &'c Connection);

/// Returns the checksum of a row. For a plain text it covers the hash; the hash of an encrypted text depends on a
/// secret. A file that is only partly encrypted has both kinds.
pub(crate) fn sum(id: i64, hash: &[u8], stored: &LongText<'_>) -> i64 {
    let sealed = |bytes| Checksum::of("sealed body").int(id).bytes(hash).bytes(bytes).finish();
    match stored {
        LongText::Encrypted(bytes) => sealed(bytes),
        LongText::Text(text) if is_sealed(text) => sealed(text.as_bytes()),
        LongText::Text(_) => Checksum::of("body").int(id).bytes(hash).finish(),
    }
}

/// Selects the long texts with their sizes in bytes.
pub(crate) const BODY_BYTES: &str =
    "SELECT id, octet_length(text) + coalesce(octet_length(sealed), 0) FROM body";

/// Returns the cell of a long text.
pub(crate) fn cell(id: i64) -> Cell {
    Cell::of("body", "text").named(id).int(id)
}

impl Bodies for BodyTable<'_> {
    fn keep(&self, text: &str) -> Result<i64, StoreError> {
        let hash = self.0.digest(text);
        let mut held = self.0.prepare_cached("SELECT id FROM body WHERE hash = ?").map_err(sqlite)?;
        let held = held.query_row([hash.as_bytes()], |row| row.get(0)).optional();
        if let Some(id) = held.map_err(sqlite)? {
            return Ok(id);
        }
        let mut last = self.0.prepare_cached("SELECT max(id) FROM body").map_err(sqlite)?;
        let last: Option<i64> = last.query_row([], |row| row.get(0)).map_err(sqlite)?;
        let id = last.unwrap_or(0) + 1;
        let stored = self.0.encrypt_long(text, || cell(id))?;
        let sum = sum(id, hash.as_bytes(), &stored);
        let (text, sealed) = stored.columns();
        self.0
            .prepare_cached("INSERT INTO body(id, hash, text, sum, sealed) VALUES(?, ?, ?, ?, ?)")
            .and_then(|mut insert| insert.execute(params![id, hash.as_bytes(), text, sum, sealed]))
            .map_err(sqlite)?;
        Ok(id)
    }

    fn find(&self, id: i64) -> Result<Json, StoreError> {
        let damaged = |reason: &str| corrupt(format_args!("body {id}"), reason);
        let mut find =
            self.0.prepare_cached("SELECT hash, text, sum, sealed FROM body WHERE id = ?").map_err(sqlite)?;
        let mut rows = find.query([id]).map_err(sqlite)?;
        let row = rows.next().map_err(sqlite)?.ok_or_else(|| damaged("the row is missing"))?;
        let hash: [u8; 32] = row.get(0).map_err(sqlite)?;
        let stored = LongText::read(row, 1, 3)?;
        let found: i64 = row.get(2).map_err(sqlite)?;
        if found != sum(id, &hash, &stored) {
            return Err(damaged("its checksum does not match"));
        }
        let text = self.0.decrypt_long(&stored, || cell(id))?;
        if *self.0.digest(&text).as_bytes() != hash {
            return Err(damaged("its checksum does not match"));
        }
        Json::parse_within(text, self.0.limits()).map_err(|error| undecoded(format_args!("body {id}"), error))
    }
}

/// The long texts that are read for successive checkpoints; each is held once, even if several checkpoints refer to it.
#[derive(Default)]
pub(crate) struct HeldBodies(RefCell<HashMap<i64, Json>>);

impl HeldBodies {
    /// Returns the long texts of the checkpoint in the row `seq`.
    pub(crate) fn of<'c>(&'c self, connection: &'c Connection, seq: i64) -> CheckpointBodies<'c> {
        let left = Counter::new(connection.limits().most_bytes());
        CheckpointBodies { table: BodyTable(connection), held: self, seq, left, counted: RefCell::default() }
    }
}

/// The long texts of one checkpoint. Together they do not exceed the maximum size of a record.
pub(crate) struct CheckpointBodies<'c> {
    table: BodyTable<'c>,
    held: &'c HeldBodies,
    seq: i64,
    /// The number of bytes that further long texts may have.
    left: Counter<usize>,
    counted: RefCell<HashSet<i64>>,
}

impl Bodies for CheckpointBodies<'_> {
    fn keep(&self, text: &str) -> Result<i64, StoreError> {
        self.table.keep(text)
    }

    fn find(&self, id: i64) -> Result<Json, StoreError> {
        let held = self.held.0.borrow().get(&id).cloned();
        let found = match held {
            Some(found) => found,
            None => {
                let found = self.table.find(id)?;
                self.held.0.borrow_mut().insert(id, found.clone());
                found
            }
        };
        if self.counted.borrow_mut().insert(id) {
            self.count(found.as_str().len())?;
        }
        Ok(found)
    }

    fn count(&self, bytes: usize) -> Result<(), StoreError> {
        let most = self.table.0.limits().most_bytes();
        let too_many = || too_large(format_args!("checkpoint row {}", self.seq), Excess::Bytes(most));
        self.left.set(self.left.get().checked_sub(bytes).ok_or_else(too_many)?);
        Ok(())
    }
}
