//! Replaces the encryption of a file in a program that was built without it.

use rusqlite::Connection;
use superstep_core::checkpoint::{KeyProblem, StoreError};

use crate::encryption::{Cell, SharedKeys};
use crate::error::keys;
use crate::sqlite::error::sqlite;

/// The phase of a file's texts. Without encryption there is only one.
pub(crate) enum Phase {
    Whole,
}

/// The encryption of a file, of which there is none.
pub(crate) enum Encryption {}

impl Encryption {
    /// Returns an error if the file is encrypted.
    pub(crate) fn attach(
        connection: &Connection,
        _keys: Option<&SharedKeys>,
        file: &str,
        _alone: bool,
    ) -> Result<Option<Self>, StoreError> {
        let sql = "SELECT EXISTS(SELECT 1 FROM seal)";
        match connection.query_row(sql, [], |row| row.get(0)).map_err(sqlite)? {
            false => Ok(None),
            true => Err(keys(file, KeyProblem::NotBuiltIn)),
        }
    }

    /// Never called, because there are no keys.
    pub(crate) fn begin(_: &Connection, keys: &SharedKeys, _: &str, _: Phase) -> Result<(), StoreError> {
        match *keys {}
    }

    pub(crate) fn encrypt(&self, _: &Connection, _: &str, _: &Cell) -> Result<String, StoreError> {
        match *self {}
    }

    pub(crate) fn encrypt_long(&self, _: &Connection, _: &str, _: &Cell) -> Result<Vec<u8>, StoreError> {
        match *self {}
    }

    pub(crate) fn decrypt_long(&self, _: &Connection, _: &[u8], _: &Cell) -> Result<String, StoreError> {
        match *self {}
    }

    pub(crate) fn decrypt(&self, _: &Connection, _: &str, _: &Cell) -> Result<String, StoreError> {
        match *self {}
    }

    pub(crate) fn digest(&self, _: &str) -> blake3::Hash {
        match *self {}
    }
}
