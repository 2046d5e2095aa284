//! A connection to a checkpoint file, and what its texts are sealed with.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

use superstep_core::checkpoint::{KeyProblem, StoreError};
use superstep_core::state::SizeLimits;

use crate::column::LongText;
use crate::fault::{corrupt, keys};
use crate::limited::too_large;
use crate::seal::{Cell, Seal};

/// The encryption of a file's texts on their way in and out.
pub(crate) enum Sealing {
    /// Texts are stored as they are.
    Plain,
    /// Sealed.
    Sealed(Box<Seal>),
    /// Sealed, and the file is used without its keys, as far as that goes.
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
    sealing: Sealing,
    limits: SizeLimits,
}

impl Connection {
    pub(crate) fn new(sqlite: rusqlite::Connection, sealing: Sealing, limits: SizeLimits) -> Self {
        Self { sqlite, sealing, limits }
    }

    /// Returns the limits on the size of a state and its records.
    pub(crate) fn limits(&self) -> SizeLimits {
        self.limits
    }

    /// Says what the texts are from now on.
    #[cfg(feature = "encryption")]
    pub(crate) fn seal_with(&mut self, sealing: Sealing) {
        self.sealing = sealing;
    }

    /// Returns the stored form of `text` for the cell of a table.
    pub(crate) fn seal<'t>(
        &self,
        text: &'t str,
        cell: impl FnOnce() -> Cell,
    ) -> Result<Cow<'t, str>, StoreError> {
        match &self.sealing {
            Sealing::Plain => Ok(Cow::Borrowed(text)),
            Sealing::Sealed(seal) => seal.seal(&self.sqlite, text, &cell()).map(Cow::Owned),
            Sealing::Unopened { place, problem } => Err(keys(place, problem.clone())),
        }
    }

    /// The text of what is stored in the cell of a table, which is no larger than a record may be.
    pub(crate) fn unseal<'t>(
        &self,
        stored: &'t str,
        cell: impl Fn() -> Cell,
    ) -> Result<Cow<'t, str>, StoreError> {
        let text = self.unseal_part(stored, &cell)?;
        let checked = self.limits.of_record().check(&text);
        checked.map_err(|excess| too_large(cell().place(), excess))?;
        Ok(text)
    }

    /// The same for a part of a larger text, of which the caller checks the size.
    pub(crate) fn unseal_part<'t>(
        &self,
        stored: &'t str,
        cell: impl Fn() -> Cell,
    ) -> Result<Cow<'t, str>, StoreError> {
        match &self.sealing {
            Sealing::Plain => Ok(Cow::Borrowed(stored)),
            Sealing::Sealed(seal) => seal.unseal(&self.sqlite, stored, &cell()).map(Cow::Owned),
            Sealing::Unopened { place, problem } => Err(keys(place, problem.clone())),
        }
    }

    /// As [`seal`](Self::seal), of a long text.
    pub(crate) fn seal_long<'t>(
        &self,
        text: &'t str,
        cell: impl FnOnce() -> Cell,
    ) -> Result<LongText<'t>, StoreError> {
        match &self.sealing {
            Sealing::Plain => Ok(LongText::Text(Cow::Borrowed(text))),
            Sealing::Sealed(seal) => {
                let sealed = seal.seal_long(&self.sqlite, text, &cell())?;
                Ok(LongText::Sealed(Cow::Owned(sealed)))
            }
            Sealing::Unopened { place, problem } => Err(keys(place, problem.clone())),
        }
    }

    /// As [`unseal`](Self::unseal), of a long text.
    pub(crate) fn unseal_long<'t>(
        &self,
        stored: &'t LongText<'_>,
        cell: impl Fn() -> Cell,
    ) -> Result<Cow<'t, str>, StoreError> {
        let stored = match stored {
            LongText::Text(text) => return self.unseal(text, cell),
            LongText::Sealed(stored) => stored,
        };
        let cell = cell();
        match &self.sealing {
            Sealing::Plain => Err(corrupt(cell.place(), "it is sealed in a file that is not encrypted")),
            Sealing::Sealed(seal) => {
                let text = seal.unseal_long(&self.sqlite, stored, &cell)?;
                let limits = self.limits.of_record();
                limits.check(&text).map_err(|excess| too_large(cell.place(), excess))?;
                Ok(Cow::Owned(text))
            }
            Sealing::Unopened { place, problem } => Err(keys(place, problem.clone())),
        }
    }

    /// As [`seal`](Self::seal), of a text that may be absent.
    pub(crate) fn seal_optional<'t>(
        &self,
        text: Option<&'t str>,
        cell: impl FnOnce() -> Cell,
    ) -> Result<Option<Cow<'t, str>>, StoreError> {
        text.map(|text| self.seal(text, cell)).transpose()
    }

    /// As [`unseal`](Self::unseal), of a text that may be absent.
    pub(crate) fn unseal_optional<'t>(
        &self,
        stored: Option<&'t str>,
        cell: impl Fn() -> Cell,
    ) -> Result<Option<Cow<'t, str>>, StoreError> {
        stored.map(|stored| self.unseal(stored, cell)).transpose()
    }

    /// By what a long text is found again: in an encrypted file one that tells nobody else what it is of.
    pub(crate) fn digest(&self, text: &str) -> blake3::Hash {
        match &self.sealing {
            Sealing::Sealed(seal) => seal.digest(text),
            Sealing::Plain | Sealing::Unopened { .. } => blake3::hash(text.as_bytes()),
        }
    }

    /// Returns `true` if the file is encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        !matches!(self.sealing, Sealing::Plain)
    }

    /// Returns `true` if its texts cannot be read for lack of keys.
    pub(crate) fn is_unopened(&self) -> bool {
        matches!(self.sealing, Sealing::Unopened { .. })
    }

    /// Returns the file's [`Seal`]; `None` if the file is not encrypted, or was opened without its keys.
    #[cfg(feature = "encryption")]
    pub(crate) fn sealed(&self) -> Option<&Seal> {
        match &self.sealing {
            Sealing::Sealed(seal) => Some(seal),
            Sealing::Plain | Sealing::Unopened { .. } => None,
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
