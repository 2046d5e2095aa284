//! Encryption of a file: its keys and its secret are in the table `seal`.

mod table;
mod text;

use std::cell::RefCell;

use chacha20poly1305::XChaCha20Poly1305;
use rusqlite::Connection;
use superstep_core::checkpoint::{KeyProblem, StoreError};
use zeroize::Zeroizing;

pub(crate) use self::table::Phase;
use self::table::SealRow;
use crate::encryption::text::{encrypt, open, open_bytes};
use crate::encryption::{Cell, Key, KeyId, SharedKeys, cipher, random};
use crate::error::{corrupt, keys as wrong};

/// The keys and the secret that a file is encrypted with.
pub(crate) struct Encryption {
    keys: SharedKeys,
    /// The name of the file in errors.
    name: Box<str>,
    file: [u8; 16],
    secret: Zeroizing<[u8; 32]>,
    phase: std::cell::Cell<Phase>,
    /// The keys that the file names and that were read so far.
    ring: RefCell<Vec<Held>>,
}

/// A key that the file names.
struct Held {
    number: i64,
    id: KeyId,
    cipher: Option<XChaCha20Poly1305>,
    /// `true` if the transaction that named it may have been rolled back.
    in_doubt: bool,
}

impl Encryption {
    /// Returns the [`Encryption`] of an open file; `None` if the file is not encrypted and no encryption is expected.
    /// Only a caller that is `alone` with the file may open one that is not encrypted yet although keys are given, or
    /// whose texts are only partly encrypted.
    pub(crate) fn attach(
        connection: &Connection,
        keys: Option<&SharedKeys>,
        name: &str,
        alone: bool,
    ) -> Result<Option<Self>, StoreError> {
        let found = Self::find(connection, keys, name)?;
        match &found {
            None if keys.is_some() && !alone => Err(wrong(name, KeyProblem::NotEncrypted)),
            Some(encryption) if encryption.phase.get() != Phase::Whole && !alone => {
                Err(wrong(name, KeyProblem::Interrupted))
            }
            _ => Ok(found),
        }
    }

    fn find(
        connection: &Connection,
        keys: Option<&SharedKeys>,
        name: &str,
    ) -> Result<Option<Self>, StoreError> {
        let rows = SealRow::all(connection)?;
        let Some(newest) = rows.last() else { return Ok(None) };
        let Some(keys) = keys else {
            return Err(wrong(name, KeyProblem::NoKeys { key: newest.key.to_string() }));
        };
        let (file, phase) = (newest.file, newest.phase);
        let mut opened = None;
        let mut lacking = None;
        let mut ring = Vec::new();
        for row in rows.iter().rev() {
            if row.file != file || row.phase != phase {
                return Err(corrupt("the table of keys", "its rows are of several files"));
            }
            let mut held = Held { number: row.number, id: row.key.clone(), cipher: None, in_doubt: false };
            // One right key is enough. The others are requested when they are needed.
            if opened.is_none() {
                match keys.key(&row.key) {
                    Ok(key) => {
                        let cipher = cipher(&key, &file);
                        opened = Some(row.open(connection, &cipher, name)?);
                        held.cipher = Some(cipher);
                    }
                    Err(reason) => {
                        let problem =
                            KeyProblem::Lacking { key: row.key.to_string(), reason: reason.to_string() };
                        lacking.get_or_insert(wrong(name, problem));
                    }
                }
            }
            ring.push(held);
        }
        let secret = match (opened, lacking) {
            (Some(secret), _) => secret,
            (None, Some(lacking)) => return Err(lacking),
            (None, None) => return Ok(None),
        };
        let keys = keys.clone();
        Ok(Some(Self {
            keys,
            name: name.into(),
            file,
            secret,
            phase: phase.into(),
            ring: RefCell::new(ring),
        }))
    }

    /// Marks a file as encrypted. It has no texts yet, or they will be encrypted next. Called in a transaction.
    pub(crate) fn begin(
        connection: &Connection,
        keys: &SharedKeys,
        name: &str,
        phase: Phase,
    ) -> Result<(), StoreError> {
        let (file, secret) = (random()?, Zeroizing::new(random()?));
        let key = keys.current();
        let cipher = cipher(&given(keys, &key, name)?, &file);
        SealRow { number: 1, key, file, phase }.insert(connection, &cipher, &secret)
    }

    /// Encrypts a text for a cell, with the current key. Called in a transaction that writes.
    pub(crate) fn encrypt(
        &self,
        connection: &Connection,
        text: &str,
        cell: &Cell,
    ) -> Result<String, StoreError> {
        let mut ring = self.ring.borrow_mut();
        let held = self.current(connection, &mut ring)?;
        let number = held.number;
        encrypt(self.cipher(held)?, text::prefix(number), text, &self.authenticated(cell))
    }

    /// Encrypts a text as bytes, like [`encrypt`](Self::encrypt).
    pub(crate) fn encrypt_long(
        &self,
        connection: &Connection,
        text: &str,
        cell: &Cell,
    ) -> Result<Vec<u8>, StoreError> {
        let mut ring = self.ring.borrow_mut();
        let held = self.current(connection, &mut ring)?;
        let number = held.number;
        text::encrypt_as_bytes(self.cipher(held)?, number, text, &self.authenticated(cell))
    }

    /// Decrypts a text of a cell.
    pub(crate) fn decrypt(
        &self,
        connection: &Connection,
        stored: &str,
        cell: &Cell,
    ) -> Result<String, StoreError> {
        self.open(connection, cell, text::parts(stored), open)
    }

    /// Decrypts a text of a cell that is stored as bytes.
    pub(crate) fn decrypt_long(
        &self,
        connection: &Connection,
        stored: &[u8],
        cell: &Cell,
    ) -> Result<String, StoreError> {
        let parts = text::parts_of_bytes(stored).map(|(number, sealed)| (number, sealed.to_vec()));
        self.open(connection, cell, parts, open_bytes)
    }

    /// Decrypts the second of the `parts`, with the key whose number is the first.
    fn open<T>(
        &self,
        connection: &Connection,
        cell: &Cell,
        parts: Option<(i64, T)>,
        open: impl FnOnce(&XChaCha20Poly1305, T, &[u8]) -> Option<String>,
    ) -> Result<String, StoreError> {
        let place = cell.place();
        let (number, sealed) = parts.ok_or_else(|| corrupt(&place, "it is not encrypted"))?;
        let mut ring = self.ring.borrow_mut();
        if ring.iter().all(|held| held.number != number) {
            self.reload(connection, &mut ring)?;
        }
        let held = ring.iter_mut().find(|held| held.number == number);
        let held =
            held.ok_or_else(|| corrupt(&place, "the file does not name the key it is encrypted with"))?;
        let cipher = self.cipher(held)?;
        open(cipher, sealed, &self.authenticated(cell))
            .ok_or_else(|| corrupt(place, "it was changed, or was not encrypted for this place in this file"))
    }

    /// Returns the keyed hash by which a long text is found.
    pub(crate) fn digest(&self, text: &str) -> blake3::Hash {
        blake3::keyed_hash(&self.secret, text.as_bytes())
    }

    /// Returns the beginning of texts that are encrypted with the current key. Called in a transaction that writes.
    pub(crate) fn current_prefix(&self, connection: &Connection) -> Result<String, StoreError> {
        let mut ring = self.ring.borrow_mut();
        Ok(text::prefix(self.current(connection, &mut ring)?.number))
    }

    /// Sets the phase of all texts of the file. Called in a transaction.
    pub(crate) fn enter(&self, connection: &Connection, phase: Phase) -> Result<(), StoreError> {
        let mut ring = self.ring.borrow_mut();
        self.reload(connection, &mut ring)?;
        for held in ring.iter_mut() {
            let row = SealRow { number: held.number, key: held.id.clone(), file: self.file, phase };
            SealRow::delete(connection, row.number)?;
            row.insert(connection, self.cipher(held)?, &self.secret)?;
        }
        self.phase.set(phase);
        Ok(())
    }

    /// Returns the keys that the file names in addition to the current one, each with the prefix of the texts that are
    /// encrypted with it.
    pub(crate) fn older(&self, connection: &Connection) -> Result<Vec<(KeyId, String)>, StoreError> {
        let mut ring = self.ring.borrow_mut();
        self.reload(connection, &mut ring)?;
        let current = self.current(connection, &mut ring)?.number;
        let older = ring.iter().filter(|held| held.number != current);
        Ok(older.map(|held| (held.id.clone(), text::prefix(held.number))).collect())
    }

    /// Removes a key that encrypts no text any longer. Called in a transaction.
    pub(crate) fn retire(&self, connection: &Connection, key: &KeyId) -> Result<(), StoreError> {
        let mut ring = self.ring.borrow_mut();
        for held in ring.iter().filter(|held| held.id == *key) {
            SealRow::delete(connection, held.number)?;
        }
        ring.retain(|held| held.id != *key);
        Ok(())
    }

    fn authenticated(&self, cell: &Cell) -> Vec<u8> {
        [&self.file, cell.as_bytes()].concat()
    }

    fn cipher<'h>(&self, held: &'h mut Held) -> Result<&'h XChaCha20Poly1305, StoreError> {
        if held.cipher.is_none() {
            held.cipher = Some(cipher(&given(&self.keys, &held.id, &self.name)?, &self.file));
        }
        held.cipher.as_ref().ok_or_else(|| corrupt("the table of keys", "a key is missing"))
    }

    /// Returns the current key. If the file does not name it yet, it is added before anything is encrypted with it.
    fn current<'r>(
        &self,
        connection: &Connection,
        ring: &'r mut Vec<Held>,
    ) -> Result<&'r mut Held, StoreError> {
        let id = self.keys.current();
        let known = ring.iter().position(|held| held.id == id);
        if let Some(known) = known.filter(|known| !ring[*known].in_doubt) {
            return Ok(&mut ring[known]);
        }
        self.reload(connection, ring)?;
        if let Some(known) = ring.iter().position(|held| held.id == id) {
            ring[known].in_doubt = true;
            return Ok(&mut ring[known]);
        }
        let cipher = cipher(&given(&self.keys, &id, &self.name)?, &self.file);
        let number = SealRow::next(connection)?;
        let row = SealRow { number, key: id.clone(), file: self.file, phase: self.phase.get() };
        row.insert(connection, &cipher, &self.secret)?;
        ring.push(Held { number, id, cipher: Some(cipher), in_doubt: true });
        Ok(ring.last_mut().expect("it was pushed above"))
    }

    /// Reloads the keys that the file names.
    fn reload(&self, connection: &Connection, ring: &mut Vec<Held>) -> Result<(), StoreError> {
        let rows = SealRow::all(connection)?;
        if rows.iter().any(|row| row.file != self.file) {
            return Err(corrupt("the table of keys", "it is that of another file"));
        }
        ring.retain(|held| rows.iter().any(|row| row.number == held.number && row.key == held.id));
        for row in rows {
            if ring.iter().all(|held| held.number != row.number) {
                ring.push(Held { number: row.number, id: row.key, cipher: None, in_doubt: false });
            }
        }
        Ok(())
    }
}

/// Returns one of the program's keys.
fn given(keys: &SharedKeys, id: &KeyId, name: &str) -> Result<Key, StoreError> {
    keys.key(id).map_err(|reason| {
        wrong(name, KeyProblem::Lacking { key: id.to_string(), reason: reason.to_string() })
    })
}
