//! Reads the parts of a document from a file.

use std::cell::RefCell;

use superstep_core::checkpoint::{Carried, Checkpoint, CheckpointName, Emitted, StoreError};
use superstep_core::id::ThreadId;
use superstep_core::state::Json;

use crate::history::rows::ThreadRow;
use crate::pending::Seen;
use crate::portable::document::Document;
use crate::portable::read::{Link, Rows, read};
use crate::sqlite::connection::Connection;
use crate::sqlite::history::branch;
use crate::sqlite::history::described::{Key, schema_text, topology_part};
use crate::sqlite::history::rows::CheckpointRow;
use crate::sqlite::pending;
use crate::sqlite::pending::emitted;
use crate::sqlite::read::named;
use crate::sqlite::read::reader::{self, Material, Read};
use crate::sqlite::write::delete::{kept, place};

/// The rows of a file.
struct FileRows<'c> {
    connection: &'c Connection,
    material: RefCell<Material>,
}

impl Rows for FileRows<'_> {
    /// Their rows.
    type Described = (i64, i64);

    fn on_or_below(&self, thread: &ThreadId) -> Result<Vec<ThreadRow>, StoreError> {
        ThreadRow::on_or_below(self.connection, thread)
    }

    fn thread(&self, id: i64) -> Result<ThreadRow, StoreError> {
        ThreadRow::get(self.connection, id)
    }

    fn names(&self, thread: i64) -> Result<Vec<(CheckpointName, i64)>, StoreError> {
        named::of(self.connection, thread)
    }

    fn ends(&self, thread: i64) -> Result<Vec<i64>, StoreError> {
        branch::of(self.connection, thread)
    }

    fn link(&self, seq: i64) -> Result<Link, StoreError> {
        let link =
            |row: CheckpointRow, _: &str| Ok(Link { id: row.id, parent: row.parent, thread: row.thread });
        CheckpointRow::visit(self.connection, seq, link)
    }

    fn kept(&self, seq: i64, named: &mut Vec<i64>) -> Result<Vec<i64>, StoreError> {
        let kept = kept(self.connection, place(seq), named)?;
        Ok(kept.into_iter().map(|kept| kept.0.cast_signed()).collect())
    }

    fn checkpoint(&self, seq: i64) -> Result<(Checkpoint, (i64, i64)), StoreError> {
        let Read { row, checkpoint, .. } =
            reader::checkpoint(self.connection, seq, &mut self.material.borrow_mut())?;
        Ok((checkpoint, (row.schema, row.topology)))
    }

    fn schema(&self, (schema, _): &(i64, i64)) -> Result<Option<Json>, StoreError> {
        schema_text(self.connection, Key::Row(*schema))
    }

    fn topology(&self, (_, topology): &(i64, i64)) -> Result<Option<(String, Json)>, StoreError> {
        topology_part(self.connection, Key::Row(*topology))
    }

    fn emitted(&self, seq: i64) -> Result<Vec<(u32, Emitted)>, StoreError> {
        emitted::of(self.connection, seq)
    }

    fn work(&self, seen: Seen) -> Result<Carried, StoreError> {
        pending::on(self.connection, seen)
    }
}

/// Reads the document of a thread of a file.
pub(crate) fn of_file(connection: &Connection, thread: &ThreadId) -> Result<Option<Document>, StoreError> {
    read(&FileRows { connection, material: RefCell::default() }, thread)
}
