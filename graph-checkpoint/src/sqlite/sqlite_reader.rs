//! Reads a file that other programs may use.

use std::cell::RefCell;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use superstep_core::checkpoint::StoreError;

use crate::sqlite::connection::Connection;
use crate::sqlite::error::FileError;
use crate::sqlite::file::checkpoint_file::CheckpointFile;
use crate::sqlite::file::file_path::{beside, not_a_file};
use crate::sqlite::file::{FORMATS, File, Sharing, snapshot};
use crate::sqlite::options::SqliteOptions;
use crate::sqlite::snapshots::Snapshots;

/// Reads a checkpoint file and never writes to it: it takes no lock for which a writer waits, and does not migrate.
///
/// The file may be in use by a program that writes to it, left by a program that crashed, a copy in another folder, or
/// of an older format. If no program has the file open, reading leaves nothing beside it, and its folder need not be
/// writable. Calls block; each reads the latest consistent state of the file.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use superstep_checkpoint::{CheckpointReader, SqliteReader, SqliteSaver};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("essays.db");
/// let saver = SqliteSaver::open(&path).await?;
/// let reader = SqliteReader::open(&path)?; // while the saver is open
/// assert!(reader.threads()?.is_empty());
/// # Ok(())
/// # }
/// ```
pub struct SqliteReader {
    file: File,
    path: PathBuf,
    held: RefCell<Held>,
}

struct Held {
    connection: Connection,
    format: u32,
    /// The stamp of the file at the time when it was opened as one that no other program has open.
    alone: Option<Stamp>,
}

impl SqliteReader {
    /// The newest format that can be read. Savers write this format.
    pub const FORMAT: u32 = FORMATS as u32;

    /// Opens a file for reading.
    ///
    /// # Errors
    /// Returns [`StoreError::NotACheckpointFile`], [`StoreError::NewerFormat`], [`StoreError::Corrupt`] if nothing of
    /// the file can be read, [`StoreError::Keys`] if the right keys are missing, and [`StoreError::Io`] if it does not
    /// exist, is not a file, is empty, or cannot be read.
    pub fn open(file: impl Into<CheckpointFile>) -> Result<Self, StoreError> {
        Self::open_with(file.into(), false)
    }

    /// Opens a file even without its keys: requests that need them return an error.
    pub(crate) fn open_with(file: CheckpointFile, unopened: bool) -> Result<Self, StoreError> {
        let CheckpointFile { path, keys, limits } = file;
        let options = SqliteOptions { keys, limits, unopened, ..SqliteOptions::new() };
        let file = File::new(Some(path.clone()), options);
        let name = path.display().to_string();
        match std::fs::metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(FileError::NoFile(name).into()),
            Err(error) => return Err(FileError::Unreadable(name, error).into()),
            Ok(is) if !is.is_file() => return Err(not_a_file(&path, &is)),
            Ok(_) => {}
        }
        let held = RefCell::new(Held::open(&file, &path)?);
        Ok(Self { file, path, held })
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the format of the file. An older format is read without migrating it.
    #[must_use]
    pub fn format(&self) -> u32 {
        self.held.borrow().format
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn read<T>(
        &self,
        read: impl Fn(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut held = self.held.borrow_mut();
        loop {
            let result = snapshot(&held.connection, &read);
            if held.alone.is_none() || held.alone == Stamp::of_lonely(&self.path) {
                return result;
            }
            // A program has begun to write to the file.
            *held = Held::open(&self.file, &self.path)?;
        }
    }
}

impl Snapshots for SqliteReader {
    fn read<T>(&self, read: impl Fn(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        Self::read(self, read)
    }
}

impl fmt::Debug for SqliteReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteReader").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Held {
    fn open(file: &File, path: &Path) -> Result<Self, StoreError> {
        let alone = Stamp::of_lonely(path);
        let sharing = if alone.is_some() { Sharing::Alone } else { Sharing::WithWriters };
        let (connection, format) = file.open_as_it_is(sharing).map_err(|error| match &error {
            // SQLite does not report the reason. The file is opened here only after that failure, because closing it
            // releases the locks on it of a saver in this process.
            StoreError::Io(cause) if cannot_open(cause.downcast_ref()) => match std::fs::File::open(path) {
                Err(why) => FileError::Unreadable(path.display().to_string(), why).into(),
                Ok(_) if alone.is_none() => FileError::LogUnreadable(path.display().to_string()).into(),
                Ok(_) => error,
            },
            _ => error,
        })?;
        Ok(Self { connection, format, alone })
    }
}

fn cannot_open(error: Option<&rusqlite::Error>) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, ReadOnly};
    error
        .and_then(rusqlite::Error::sqlite_error_code)
        .is_some_and(|code| matches!(code, CannotOpen | ReadOnly))
}

/// A stamp that changes when the file is changed.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    /// Returns the stamp of a file that no program has open: an open file has its log beside it.
    fn of_lonely(path: &Path) -> Option<Self> {
        // A path that is not valid UTF-8 cannot be opened this way.
        if ["-wal", "-journal"].iter().any(|end| beside(path, end).exists()) || path.to_str().is_none() {
            return None;
        }
        let held = path.metadata().ok()?;
        Some(Self { length: held.len(), modified: held.modified().ok() })
    }
}
