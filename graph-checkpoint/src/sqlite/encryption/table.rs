//! The table `seal`: the keys of an encrypted file, one row per key. A file without rows is not encrypted.

use chacha20poly1305::XChaCha20Poly1305;
use rusqlite::{Connection, Row, params};
use superstep_core::checkpoint::{KeyProblem, StoreError};
use zeroize::Zeroizing;

use super::text::{parts, prefix};
use crate::checksum::Checksum;
use crate::encryption::text::{encrypt, open};
use crate::encryption::{Cell, KeyId, secret_of, secret_text};
use crate::error::{corrupt, keys as wrong, mismatch};
use crate::sqlite::column::text as text_of;
use crate::sqlite::error::sqlite;

/// The share of a file's texts that are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// All of them.
    Whole,
    /// Some: the file is being encrypted.
    Encrypting,
    /// Some: the file is being decrypted.
    Decrypting,
}

impl Phase {
    fn code(self) -> i64 {
        match self {
            Self::Whole => 0,
            Self::Encrypting => 1,
            Self::Decrypting => 2,
        }
    }
}

/// A key of an encrypted file. Its proof is the file's secret, encrypted with the key.
pub(super) struct SealRow {
    pub(super) number: i64,
    pub(super) key: KeyId,
    pub(super) file: [u8; 16],
    pub(super) phase: Phase,
}

impl SealRow {
    /// Reads all rows, in the order in which the keys were added.
    pub(super) fn all(connection: &Connection) -> Result<Vec<Self>, StoreError> {
        let mut all = connection
            .prepare_cached("SELECT id, key, file, phase, proof, sum FROM seal ORDER BY id")
            .map_err(sqlite)?;
        let mut rows = all.query([]).map_err(sqlite)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(sqlite)? {
            found.push(Self::read(row)?);
        }
        Ok(found)
    }

    fn read(row: &Row<'_>) -> Result<Self, StoreError> {
        let number: i64 = row.get(0).map_err(sqlite)?;
        let place = format_args!("seal row {number}");
        let found = Self {
            number,
            key: text_of(row, 1)?.into(),
            file: row.get(2).map_err(sqlite)?,
            phase: match row.get(3).map_err(sqlite)? {
                0 => Phase::Whole,
                1 => Phase::Encrypting,
                2 => Phase::Decrypting,
                other => return Err(corrupt(place, format_args!("it has the unknown phase {other}"))),
            },
        };
        if row.get::<_, i64>(5).map_err(sqlite)? != found.sum(text_of(row, 4)?) {
            return Err(mismatch(place));
        }
        Ok(found)
    }

    /// Returns the number of the next key.
    pub(super) fn next(connection: &Connection) -> Result<i64, StoreError> {
        let sql = "SELECT coalesce(max(id), 0) + 1 FROM seal";
        connection.query_row(sql, [], |row| row.get(0)).map_err(sqlite)
    }

    pub(super) fn insert(
        &self,
        connection: &Connection,
        cipher: &XChaCha20Poly1305,
        secret: &Zeroizing<[u8; 32]>,
    ) -> Result<(), StoreError> {
        let prefix = prefix(self.number);
        let proof = encrypt(cipher, prefix, &secret_text(secret), &self.authenticated())?;
        let row =
            params![self.number, self.key.as_str(), self.file, self.phase.code(), proof, self.sum(&proof)];
        connection
            .execute("INSERT INTO seal(id, key, file, phase, proof, sum) VALUES(?, ?, ?, ?, ?, ?)", row)
            .map(drop)
            .map_err(sqlite)
    }

    pub(super) fn delete(connection: &Connection, number: i64) -> Result<(), StoreError> {
        connection.execute("DELETE FROM seal WHERE id = ?", [number]).map(drop).map_err(sqlite)
    }

    /// Returns the file's secret; only the right key decrypts it.
    pub(super) fn open(
        &self,
        connection: &Connection,
        cipher: &XChaCha20Poly1305,
        name: &str,
    ) -> Result<Zeroizing<[u8; 32]>, StoreError> {
        let proof: String = connection
            .query_row("SELECT proof FROM seal WHERE id = ?", [self.number], |row| row.get(0))
            .map_err(sqlite)?;
        let opened = parts(&proof).and_then(|(_, sealed)| open(cipher, sealed, &self.authenticated()));
        let secret = opened.and_then(|text| secret_of(&Zeroizing::new(text)));
        secret.ok_or_else(|| wrong(name, KeyProblem::WrongKey { key: self.key.to_string() }))
    }

    fn authenticated(&self) -> Vec<u8> {
        let cell = Cell::of("seal", "proof").int(self.number).text(self.key.as_str());
        [&self.file, cell.int(self.phase.code()).as_bytes()].concat()
    }

    fn sum(&self, proof: &str) -> i64 {
        let sum = Checksum::of("seal").int(self.number).text(self.key.as_str()).bytes(&self.file);
        sum.int(self.phase.code()).text(proof).finish()
    }
}
