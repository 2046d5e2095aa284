//! Which file is meant, and how what is in it is read.

use std::fmt;
use std::path::{Path, PathBuf};

#[cfg(feature = "encryption")]
use crate::encryption::Keys;
use crate::encryption::SharedKeys;
use superstep_core::state::SizeLimits;

/// A checkpoint file: where it is and, where it is encrypted, the keys for it.
///
/// A path is one, so that only who has keys says so.
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
    /// The file at `path`.
    #[must_use]
    pub fn at(path: impl AsRef<Path>) -> Self {
        Self { path: path.as_ref().to_owned(), keys: None, limits: SizeLimits::default() }
    }

    /// Says what it is encrypted with.
    #[cfg(feature = "encryption")]
    #[must_use]
    pub fn keys(mut self, keys: impl Keys + 'static) -> Self {
        self.keys = Some(std::sync::Arc::new(keys));
        self
    }

    /// Says how large what is in it may be, where that is more than usual: see
    /// [`SqliteOptions::size_limits`](crate::SqliteOptions::size_limits).
    #[must_use]
    pub fn size_limits(mut self, limits: SizeLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns `true` if it was given keys. Only the file itself says if it is encrypted.
    #[must_use]
    pub fn has_keys(&self) -> bool {
        self.keys.is_some()
    }

    /// Where it is.
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
