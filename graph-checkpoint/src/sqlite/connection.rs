//! A connection to a checkpoint file, with the encryption of its texts.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

use superstep_core::checkpoint::{KeyProblem, StoreError};
use superstep_core::state::SizeLimits;

use crate::encryption::Cell;
use crate::error::{corrupt, keys};
use crate::limited::too_large;
use crate::sqlite::column::LongText;
use crate::sqlite::encryption::Encryption;

/// The encryption of a file's texts when they are written and read.
pub(crate) enum FileEncryption {
    /// Texts are not encrypted.
    Plain,
    /// Texts are encrypted.
    Encrypted(Box<Encryption>),
    /// Texts are encrypted, and the file is used without its keys, as far as that is possible.
    Unopened {
        /// The file.
        place: String,
        /// The error of a request that needs a text.
        problem: KeyProblem,
    },
}

/// An SQLite connection. If the file is encrypted, it encrypts texts that are written and decrypts texts that are read;
/// otherwise texts stay unchanged.
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

    /// Sets the encryption of the texts.
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

    /// Returns the plain text of a stored cell of a table. Its size is limited to that of a record.
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

    /// Decrypts a part of a larger text, like [`decrypt`](Self::decrypt). The caller checks the size of the whole.
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

    /// Returns the stored form of a long text, like [`encrypt`](Self::encrypt).
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

    /// Returns the plain text of a stored long text, like [`decrypt`](Self::decrypt).
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

    /// Returns the stored form of a text that may be absent, like [`encrypt`](Self::encrypt).
    pub(crate) fn encrypt_optional<'t>(
        &self,
        text: Option<&'t str>,
        cell: impl FnOnce() -> Cell,
    ) -> Result<Option<Cow<'t, str>>, StoreError> {
        text.map(|text| self.encrypt(text, cell)).transpose()
    }

    /// Returns the plain text of a stored text that may be absent, like [`decrypt`](Self::decrypt).
    pub(crate) fn decrypt_optional<'t>(
        &self,
        stored: Option<&'t str>,
        cell: impl Fn() -> Cell,
    ) -> Result<Option<Cow<'t, str>>, StoreError> {
        stored.map(|stored| self.decrypt(stored, cell)).transpose()
    }

    /// Returns the hash by which a long text is found. In an encrypted file it is keyed, so that it reveals nothing
    /// about the text.
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

    /// Returns `true` if the texts cannot be read because the keys are missing.
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
