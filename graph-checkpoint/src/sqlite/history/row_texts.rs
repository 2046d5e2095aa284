//! The texts of a checkpoint's row: encrypted for its columns, and decrypted from them.

use std::borrow::Cow;

use rusqlite::Row;
#[cfg(feature = "encryption")]
use rusqlite::params;
use superstep_core::checkpoint::StoreError;

use crate::encryption::Cell;
#[cfg(feature = "encryption")]
use crate::error::{corrupt, mismatch};
#[cfg(feature = "encryption")]
use crate::sqlite::column::optional_text;
use crate::sqlite::column::text;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::history::rows::{Changed, CheckpointRow};

/// The columns of a row that may refer to other rows.
pub(crate) const REFERRING: &str =
    "seq, id, parent, thread, run, step, source, schema, topology, changes, manifest";

/// The texts of a row.
pub(crate) struct Stored<'t> {
    pub(crate) changes: Cow<'t, str>,
    pub(crate) fields: Option<Cow<'t, str>>,
    pub(crate) manifest: Cow<'t, str>,
}

/// The changes of an empty row, which only occupies a position in the store's order. They are never encrypted.
pub(crate) const NO_CHANGES: &str = "[]";
/// The manifest of an empty row.
pub(crate) const NO_MANIFEST: &str = "{}";

impl Changed<'_> {
    /// Returns the cell of a row's changes or of its map.
    pub(crate) fn cell(column: &'static str, seq: i64, parent: Option<i64>) -> Cell {
        Cell::of("checkpoint", column).named(seq).int(seq).optional_int(parent)
    }
}

impl CheckpointRow {
    /// Returns the cell of the manifest, which includes all other columns of the row.
    pub(crate) fn manifest_cell(&self) -> Cell {
        let (numbers, ids) = self.identity();
        let cell = Cell::of("checkpoint", "manifest").named(self.seq);
        cell.bytes(&numbers).bytes(&ids).optional_int(self.parent)
    }

    /// Returns the stored form of the row's texts.
    pub(crate) fn store<'t>(
        &self,
        connection: &Connection,
        changes: &'t str,
        fields: Option<&'t str>,
        manifest: &'t str,
    ) -> Result<Stored<'t>, StoreError> {
        self.each(changes, fields, manifest, |text, cell| connection.encrypt(text, cell))
    }

    /// Returns the changes and the manifest of a row of [`REFERRING`] without checking them, so that references are
    /// found even in damaged texts.
    pub(crate) fn unchecked<'r>(
        connection: &Connection,
        row: &'r Row<'_>,
    ) -> Result<[Cow<'r, str>; 2], StoreError> {
        let (changes, manifest) = (text(row, 9)?, text(row, 10)?);
        if !connection.is_encrypted() {
            return Ok([changes.into(), manifest.into()]);
        }
        let found = Self::header(row, row.get(0).map_err(sqlite)?)?;
        found.open(connection, changes, None, manifest).map(|texts| [texts.changes, texts.manifest])
    }

    /// Returns the plain form of the row's texts.
    pub(crate) fn open<'t>(
        &self,
        connection: &Connection,
        changes: &'t str,
        fields: Option<&'t str>,
        manifest: &'t str,
    ) -> Result<Stored<'t>, StoreError> {
        self.each(changes, fields, manifest, |text, cell| connection.decrypt(text, cell))
    }

    /// Applies a function to each text and its cell.
    fn each<'t>(
        &self,
        changes: &'t str,
        fields: Option<&'t str>,
        manifest: &'t str,
        done: impl Fn(&'t str, &dyn Fn() -> Cell) -> Result<Cow<'t, str>, StoreError>,
    ) -> Result<Stored<'t>, StoreError> {
        if self.thread == 0 && changes == NO_CHANGES {
            return Ok(Stored { changes: changes.into(), fields: None, manifest: manifest.into() });
        }
        let fields_cell = || Changed::cell("fields", self.seq, self.parent);
        Ok(Stored {
            changes: done(changes, &|| Changed::cell("changes", self.seq, self.parent))?,
            fields: fields.map(|fields| done(fields, &fields_cell)).transpose()?,
            manifest: done(manifest, &|| self.manifest_cell())?,
        })
    }

    /// Reads the row at `seq` with its stored texts, and checks its checksums.
    #[cfg(feature = "encryption")]
    pub(crate) fn stored(connection: &Connection, seq: i64) -> Result<(Self, Stored<'static>), StoreError> {
        let sql = format!("SELECT {REFERRING}, fields, sum, changes_sum FROM checkpoint WHERE seq = ?");
        let mut find = connection.prepare_cached(&sql).map_err(sqlite)?;
        let mut rows = find.query([seq]).map_err(sqlite)?;
        let missing = || corrupt(format_args!("checkpoint row {seq}"), "the row is missing");
        let row = rows.next().map_err(sqlite)?.ok_or_else(missing)?;
        let found = Self::header(row, seq)?;
        let (changes, manifest, fields) = (text(row, 9)?, text(row, 10)?, optional_text(row, 11)?);
        let sums: (i64, i64) = (row.get(12).map_err(sqlite)?, row.get(13).map_err(sqlite)?);
        if sums != (found.sum(manifest), Changed::sum(seq, found.parent, changes, fields)) {
            return Err(mismatch(format_args!("checkpoint row {seq}")));
        }
        let owned = |text: &str| Cow::Owned(text.to_owned());
        let texts = Stored { changes: owned(changes), fields: fields.map(owned), manifest: owned(manifest) };
        Ok((found, texts))
    }

    /// Replaces the texts of the row.
    #[cfg(feature = "encryption")]
    pub(crate) fn replace(&self, connection: &Connection, texts: &Stored<'_>) -> Result<(), StoreError> {
        let Stored { changes, fields, manifest } = texts;
        let (sum, fields) = (self.sum(manifest), fields.as_deref());
        let changes_sum = Changed::sum(self.seq, self.parent, changes, fields);
        connection
            .prepare_cached(
                "UPDATE checkpoint SET changes = ?, fields = ?, manifest = ?, sum = ?, changes_sum = ? \
                 WHERE seq = ?",
            )
            .and_then(|mut update| {
                update.execute(params![changes, fields, manifest, sum, changes_sum, self.seq])
            })
            .map(drop)
            .map_err(sqlite)
    }
}
