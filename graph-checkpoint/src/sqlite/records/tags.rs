//! The table `server_tag`: a hash of each scalar entry of a thread's metadata, by which threads are found.
//!
//! In an encrypted file the hashes are keyed, so that they reveal nothing about the entries.

use std::collections::{BTreeSet, HashMap};

use rusqlite::params;
use serde_json::{Map, Value};
use superstep_core::checkpoint::StoreError;
use superstep_core::records::ThreadRow;

use super::execute;
use crate::error::corrupt;
use crate::records::{Tag, tag_with};
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;

/// The function that hashes entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Digests {
    /// That of the file.
    OfFile,
    /// That of a file that is not encrypted.
    #[cfg(feature = "encryption")]
    Plain,
}

/// The hashes of a thread's metadata.
#[derive(Default, PartialEq)]
pub(crate) struct Tags(BTreeSet<Tag>);

impl Tags {
    pub(crate) fn of(connection: &Connection, metadata: &Map<String, Value>, digests: Digests) -> Self {
        Self(metadata.iter().filter_map(|(name, value)| tag(connection, name, value, digests)).collect())
    }

    /// Returns the hashes of a thread, given the text of its row.
    pub(crate) fn of_text(connection: &Connection, text: &str, digests: Digests) -> Result<Self, StoreError> {
        let row: Result<ThreadRow, _> = serde_json::from_str(text);
        let row = row.map_err(|error| corrupt("a row of server_thread", error))?;
        Ok(Self::of(connection, &row.metadata, digests))
    }

    /// Replaces the stored hashes `before` of a thread by these.
    pub(crate) fn replace(
        &self,
        connection: &Connection,
        before: &Self,
        thread: i64,
    ) -> Result<(), StoreError> {
        for gone in before.0.difference(&self.0) {
            let sql = "DELETE FROM server_tag WHERE digest = ? AND thread = ?";
            execute(connection, sql, params![gone, thread])?;
        }
        for new in self.0.difference(&before.0) {
            let sql = "INSERT OR IGNORE INTO server_tag(digest, thread) VALUES(?, ?)";
            execute(connection, sql, params![new, thread])?;
        }
        Ok(())
    }
}

/// Returns the hash of an entry; `None` for an object or a list, which are not found by hashes.
pub(super) fn tag(connection: &Connection, name: &str, value: &Value, digests: Digests) -> Option<Tag> {
    tag_with(name, value, |text| match digests {
        Digests::OfFile => connection.digest(text),
        #[cfg(feature = "encryption")]
        Digests::Plain => blake3::hash(text.as_bytes()),
    })
}

/// Reads the hashes of all threads.
pub(crate) fn all(connection: &Connection) -> Result<HashMap<i64, Tags>, StoreError> {
    let mut found = HashMap::<i64, Tags>::new();
    let mut all = connection.prepare("SELECT thread, digest FROM server_tag").map_err(sqlite)?;
    let mut rows = all.query([]).map_err(sqlite)?;
    while let Some(row) = rows.next().map_err(sqlite)? {
        found.entry(row.get(0).map_err(sqlite)?).or_default().0.insert(row.get(1).map_err(sqlite)?);
    }
    Ok(found)
}

/// Deletes all hashes of a thread, also unknown ones.
pub(super) fn delete(connection: &Connection, thread: i64) -> Result<(), StoreError> {
    execute(connection, "DELETE FROM server_tag WHERE thread = ?", [thread]).map(drop)
}
