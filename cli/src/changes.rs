//! Notices changes of a file or a database.

use std::fs::Metadata;
use std::path::Path;
#[cfg(feature = "postgres")]
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use superstep_checkpoint::{CheckpointFile, CheckpointReader, SqliteReader};

use super::database::CheckpointSource;
#[cfg(feature = "postgres")]
use super::database::DatabaseUrl;
use super::failure::Failure;

/// The longest time in which two changes of a file can have the same time stamp.
const TICK: Duration = Duration::from_millis(20);

/// An open file, or a connection to a database.
pub(crate) type Reader = Box<dyn CheckpointReader + Send>;

/// A file or a database.
pub(crate) enum Place {
    File(CheckpointFile),
    /// A database, with the connection that looks for changes.
    #[cfg(feature = "postgres")]
    Database(DatabaseUrl, Mutex<superstep_checkpoint::PostgresReader>),
}

/// Distinguishes a file or a database from another one, and from itself after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stamp {
    File(FileStamp),
    #[cfg(feature = "postgres")]
    Database(String),
}

/// Distinguishes a file from another one, and from itself after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStamp {
    identity: Identity,
    file: Written,
    /// The write-ahead log, while a program has the file open.
    log: Option<Written>,
}

/// Distinguishes a file from another one that was put in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    #[cfg(unix)]
    inode: (u64, u64),
    #[cfg(not(unix))]
    created: Option<SystemTime>,
}

/// The length of a file, and the time of the last change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Written {
    length: u64,
    at: Option<SystemTime>,
}

impl Place {
    /// Fails if the file or the database cannot be read.
    pub(crate) fn open(source: CheckpointSource) -> Result<Self, Failure> {
        match source {
            CheckpointSource::File(file) => {
                drop(SqliteReader::open(file.clone())?);
                Ok(Self::File(file))
            }
            #[cfg(feature = "postgres")]
            CheckpointSource::Database(url) => {
                let watching = Mutex::new(url.open()?);
                Ok(Self::Database(url, watching))
            }
            #[cfg(not(feature = "postgres"))]
            CheckpointSource::Database(url) => Err(url.unsupported()),
        }
    }

    pub(crate) fn reader(&self) -> Result<Reader, Failure> {
        match self {
            Self::File(file) => Ok(Box::new(SqliteReader::open(file.clone())?)),
            #[cfg(feature = "postgres")]
            Self::Database(url, _) => url.reader(),
        }
    }

    /// Returns `true` for a database: to connect takes longer than to read.
    pub(crate) fn stays_open(&self) -> bool {
        !matches!(self, Self::File(_))
    }

    pub(crate) fn stamp(&self) -> Result<Stamp, Failure> {
        match self {
            Self::File(file) => {
                let stamp = FileStamp::of(file.path());
                stamp.map(Stamp::File).ok_or_else(|| gone(file.path()))
            }
            #[cfg(feature = "postgres")]
            Self::Database(_, watching) => {
                Ok(Stamp::Database(watching.lock().unwrap_or_else(PoisonError::into_inner).state()?))
            }
        }
    }
}

impl Stamp {
    /// Returns `true` if the next change may have the same stamp.
    pub(crate) fn is_fresh(&self, now: SystemTime) -> bool {
        match self {
            Self::File(stamp) => stamp.is_fresh(now),
            #[cfg(feature = "postgres")]
            Self::Database(_) => false,
        }
    }

    /// Returns `false` if another file was put in the place of the first one.
    pub(crate) fn is_of_same_file(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(one), Self::File(other)) => one.identity == other.identity,
            #[cfg(feature = "postgres")]
            _ => true,
        }
    }
}

/// The error of a file that was deleted while it was open.
fn gone(path: &Path) -> Failure {
    Failure::nothing(format!(
        "{} was deleted or moved away while it was open: put it back, or open another file",
        path.display()
    ))
}

impl FileStamp {
    /// Returns the stamp of a file, without opening it: closing it would release the locks on it of a saver in this
    /// process.
    fn of(path: &Path) -> Option<Self> {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let log = Path::new(&log).metadata().ok().map(|log| Written::of(&log));
        let file = path.metadata().ok()?;
        Some(Self { identity: Identity::of(&file), file: Written::of(&file), log })
    }

    /// Returns `true` if the file was changed so shortly before this time that the next change can have the same stamp.
    fn is_fresh(&self, now: SystemTime) -> bool {
        let written = [Some(self.file), self.log].into_iter().flatten().filter_map(|written| written.at);
        // A time in the future is that of another clock.
        written.max().and_then(|at| now.duration_since(at).ok()).is_some_and(|since| since < TICK)
    }
}

impl Identity {
    #[cfg(unix)]
    fn of(file: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { inode: (file.dev(), file.ino()) }
    }

    #[cfg(not(unix))]
    fn of(file: &Metadata) -> Self {
        Self { created: file.created().ok() }
    }
}

impl Written {
    fn of(file: &Metadata) -> Self {
        Self { length: file.len(), at: file.modified().ok() }
    }
}
