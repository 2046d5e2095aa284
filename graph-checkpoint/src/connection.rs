//! A connection to a checkpoint file, and what its texts are encrypted with.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

use superstep_core::checkpoint::{KeyProblem, StoreError};
use superstep_core::state::SizeLimits;

use crate::column::LongText;
use crate::encryption::{Cell, Encryption};
use crate::error::{corrupt, keys};
use crate::limited::too_large;

/// The encryption of a file's texts on their way in and out.
pub(crate) enum FileEncryption {
    /// Texts are stored as they are.
    Plain,
    /// Encrypted.
    Encrypted(Box<Encryption>),
    /// Encrypted, and the file is used without its keys, as far as that goes.
    Unopened {
        /// The file.
        place: String,
        /// The problem that a request for a text fails with.
        problem: KeyProblem,
    },
}

/// SQLite's connection. Where the file is encrypted, texts go through it on their way from and to the columns; where
/// it is not, they are what they were.
pub(crate) struct Connection {
    sqlite: rusqlite::Connection,
    encryption: FileEncryption,
    limits: SizeLimits,
}

impl Connection {
    pub(crate) fn new(sqlite: rusqlite::Connection, encryption: FileEncryption, limits: SizeLimits) -> Self {
        Self { sqlite, encryption, limits }
    }

    /// Returns the limits on the size of a state and its records.
    pub(crate) fn limits(&self) -> SizeLimits {
        self.limits
    }

    /// Says what the texts are from now on.
    #[cfg(feature = "encryption")]
    pub(crate) fn encrypt_with(&mut self, encryption: FileEncryption) {
        self.encryption = encryption;
    }

    /// Returns the stored form of `text` for the cell of a table.
    pub(crate) fn encrypt<'t>(
        &self,
        text: &'t str,
        cell: impl FnOnce() -> Cell,
    ) -> Result<Cow<'t, str>, StoreError> {
        match &self.encryption {
            FileEncryption::Plain => Ok(Cow::Borrowed(text)),
            FileEncryption::Encrypted(encryption) => {
                encryption.encrypt(&self.sqlite, text, &cell()).map(Cow::Owned)
            }
            FileEncryption::Unopened { place, problem } => Err(keys(place, problem.clone())),
        }
    }

    /// The text of what is stored in the cell of a table, which is no larger than a record may be.
    pub(crate) fn decrypt<'t>(
        &self,
        stored: &'t str,
        cell: impl Fn() -> Cell,
    ) -> Result<Cow<'t, str>, StoreError> {
        let text = self.decrypt_part(stored, &cell)?;
        let checked = self.limits.of_record().check(&text);
        checked.map_err(|excess| too_large(cell().place(), excess))?;
        Ok(text)
    }

    /// As [`decrypt`](Self::decrypt), of a part of a larger text, whose size the caller checks.
    pub(crate) fn decrypt_part<'t>(
        &self,
        stored: &'t str,
        cell: impl Fn() -> Cell,
    ) -> Result<Cow<'t, str>, StoreError> {
        match &self.encryption {
            FileEncryption::Plain => Ok(Cow::Borrowed(stored)),
            FileEncryption::Encrypted(encryption) => {
                encryption.decrypt(&self.sqlite, stored, &cell()).map(Cow::Owned)
            }
            FileEncryption::Unopened { place, problem } => Err(keys(place, problem.clone())),
        }
    }

    /// As [`encrypt`](Self::encrypt), of a long text.
    pub(crate) fn encrypt_long<'t>(
        &self,
        text: &'t str,
        cell: impl FnOnce() -> Cell,
    ) -> Result<LongText<'t>, StoreError> {
        match &self.encryption {
            FileEncryption::Plain => Ok(LongText::Text(Cow::Borrowed(text))),
            FileEncryption::Encrypted(encryption) => {
                let sealed = encryption.encrypt_long(&self.sqlite, text, &cell())?;
                Ok(LongText::Encrypted(Cow::Owned(sealed)))
            }
            FileEncryption::Unopened { place, problem } => Err(keys(place, problem.clone())),
        }
    }

    /// As [`decrypt`](Self::decrypt), of a long text.
    pub(crate) fn decrypt_long<'t>(
        &self,
        stored: &'t LongText<'_>,
        cell: impl Fn() -> Cell,
    ) -> Result<Cow<'t, str>, StoreError> {
        let stored = match stored {
            LongText::Text(text) => return self.decrypt(text, cell),
            LongText::Encrypted(stored) => stored,
        };
        let cell = cell();
        match &self.encryption {
            FileEncryption::Plain => Err(corrupt(cell.place(), "it is encrypted, and the file is not")),
            FileEncryption::Encrypted(encryption) => {
                let text = encryption.decrypt_long(&self.sqlite, stored, &cell)?;
                let limits = self.limits.of_record();
                limits.check(&text).map_err(|excess| too_large(cell.place(), excess))?;
                Ok(Cow::Owned(text))
            }
            FileEncryption::Unopened { place, problem } => Err(keys(place, problem.clone())),
        }
    }

    /// As [`encrypt`](Self::encrypt), of a text that may be absent.
    pub(crate) fn encrypt_optional<'t>(
        &self,
        text: Option<&'t str>,
        cell: impl FnOnce() -> Cell,
    ) -> Result<Option<Cow<'t, str>>, StoreError> {
        text.map(|text| self.encrypt(text, cell)).transpose()
    }

    /// As [`decrypt`](Self::decrypt), of a text that may be absent.
    pub(crate) fn decrypt_optional<'t>(
        &self,
        stored: Option<&'t str>,
        cell: impl Fn() -> Cell,
    ) -> Result<Option<Cow<'t, str>>, StoreError> {
        stored.map(|stored| self.decrypt(stored, cell)).transpose()
    }

    /// By what a long text is found again: in an encrypted file one that tells nobody else what it is of.
    pub(crate) fn digest(&self, text: &str) -> blake3::Hash {
        match &self.encryption {
            FileEncryption::Encrypted(encryption) => encryption.digest(text),
            FileEncryption::Plain | FileEncryption::Unopened { .. } => blake3::hash(text.as_bytes()),
        }
    }

    /// Returns `true` if the file is encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        !matches!(self.encryption, FileEncryption::Plain)
    }

    /// Returns `true` if its texts cannot be read for lack of keys.
    pub(crate) fn is_unopened(&self) -> bool {
        matches!(self.encryption, FileEncryption::Unopened { .. })
    }

    /// Returns the file's [`Encryption`]; `None` if the file is not encrypted, or was opened without its keys.
    #[cfg(feature = "encryption")]
    pub(crate) fn encryption(&self) -> Option<&Encryption> {
        match &self.encryption {
            FileEncryption::Encrypted(encryption) => Some(encryption),
            FileEncryption::Plain | FileEncryption::Unopened { .. } => None,
        }
    }
}

impl Deref for Connection {
    type Target = rusqlite::Connection;

    fn deref(&self) -> &Self::Target {
        &self.sqlite
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.sqlite
    }
}
