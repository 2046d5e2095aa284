//! The location of a checkpoint file and the options for reading it.

use std::fmt;
use std::path::{Path, PathBuf};

#[cfg(feature = "encryption")]
use crate::encryption::Keys;
use crate::encryption::SharedKeys;
use superstep_core::state::SizeLimits;

/// A checkpoint file: its path and, if it is encrypted, its keys.
///
/// Functions that take a file also accept a path, so only programs with keys need this type.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use superstep_checkpoint::{CheckpointFile, Key, KeyRing, SqliteReader, SqliteSaver, maintenance};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("essays.db");
/// let keys = KeyRing::new("2026-11", Key::generate()?);
/// # drop(SqliteSaver::options().encrypt(keys.clone()).open(&path).await?);
/// let file = CheckpointFile::at(&path).keys(keys);
/// let reader = SqliteReader::open(file.clone())?;
/// assert!(maintenance::verify(file)?.is_sound());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct CheckpointFile {
    pub(crate) path: PathBuf,
    pub(crate) keys: Option<SharedKeys>,
    pub(crate) limits: SizeLimits,
}

impl CheckpointFile {
    /// Returns the file at `path`.
    #[must_use]
    pub fn at(path: impl AsRef<Path>) -> Self {
        Self { path: path.as_ref().to_owned(), keys: None, limits: SizeLimits::default() }
    }

    /// Sets the keys with which the file is encrypted.
    #[cfg(feature = "encryption")]
    #[must_use]
    pub fn keys(mut self, keys: impl Keys + 'static) -> Self {
        self.keys = Some(std::sync::Arc::new(keys));
        self
    }

    /// Sets larger limits for the size of the file's contents: see
    /// [`SqliteOptions::size_limits`](crate::SqliteOptions::size_limits).
    #[must_use]
    pub fn size_limits(mut self, limits: SizeLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns `true` if keys were set. Only the file itself shows if it is encrypted.
    #[must_use]
    pub fn has_keys(&self) -> bool {
        self.keys.is_some()
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl<P: AsRef<Path>> From<P> for CheckpointFile {
    fn from(path: P) -> Self {
        Self::at(path)
    }
}

impl fmt::Debug for CheckpointFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("CheckpointFile");
        shown.field("path", &self.path).field("has_keys", &self.keys.is_some()).finish()
    }
}
