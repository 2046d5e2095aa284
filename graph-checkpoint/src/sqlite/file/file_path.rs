//! The path of a file: checked before SQLite opens the file, and after each transaction.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use superstep_core::checkpoint::StoreError;

use crate::error::corrupt;
use crate::sqlite::error::FileError;

/// Returns the path beside `path` whose name has this ending; the log ends with `-wal`.
pub(crate) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    name.into()
}

/// Rejects a path that SQLite must not open: SQLite waits forever at the end of a pipe, writes into a device, and
/// deletes the log beside an empty file.
///
/// # Errors
/// Returns [`StoreError::Io`] if the path is not a file, and [`StoreError::Corrupt`] if the file is missing or empty
/// and its log is not.
pub(crate) fn check(path: &Path) -> Result<(), StoreError> {
    let log = beside(path, "-wal");
    // The log is checked first: while it has content, a file that another program is creating is no longer empty.
    let has_log = fs::metadata(&log).is_ok_and(|log| log.is_file() && log.len() > 0);
    let lacks = match fs::metadata(path) {
        Ok(is) if !is.is_file() => return Err(not_a_file(path, &is)),
        Ok(is) if is.len() == 0 => "is empty",
        Err(error) if error.kind() == ErrorKind::NotFound => "is missing",
        // If the metadata cannot be read, SQLite reports why the file cannot be opened.
        Ok(_) | Err(_) => return Ok(()),
    };
    if !has_log {
        return Ok(());
    }
    let log = log.display();
    Err(corrupt(
        path.display(),
        format_args!(
            "the file {lacks}, and its log {log} is not: restore both from a backup, or remove the log to begin with a new file"
        ),
    ))
}

/// Returns the error for a path that is not a file.
pub(crate) fn not_a_file(path: &Path, is: &Metadata) -> StoreError {
    let path = path.display().to_string();
    match is.is_dir() {
        true => FileError::Folder(path).into(),
        false => FileError::NotRegular(path).into(),
    }
}

/// The identity of the file that was opened at a path, to detect that another file has replaced it. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Opened(Arc<OnceLock<(PathBuf, Identity)>>);

impl Opened {
    /// Remembers the file at `path` when it is opened for the first time.
    pub(crate) fn keep(&self, path: &Path) -> Result<(), StoreError> {
        let kept = || {
            // The program may change its working directory.
            let path = std::path::absolute(path)?;
            let identity = Identity::of(&fs::metadata(&path)?);
            Ok((path, identity))
        };
        match (self.0.get(), kept()) {
            (Some(_), _) => self.check(),
            (None, Ok(kept)) => {
                self.0.get_or_init(|| kept);
                Ok(())
            }
            (None, Err(error)) => Err(FileError::Unreadable(path.display().to_string(), error).into()),
        }
    }

    /// Checks that the file that was opened is still at its path.
    ///
    /// # Errors
    /// Returns [`StoreError::Io`] until the file is back.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let Some((path, identity)) = self.0.get() else { return Ok(()) };
        let is_gone = match fs::metadata(path) {
            Ok(is) => Identity::of(&is) != *identity,
            Err(error) => error.kind() == ErrorKind::NotFound,
        };
        if is_gone { Err(FileError::Moved(path.display().to_string()).into()) } else { Ok(()) }
    }
}

/// The identity of a file among those that exist at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    #[cfg(unix)]
    device: u64,
    #[cfg(unix)]
    inode: u64,
}

impl Identity {
    #[cfg(unix)]
    fn of(is: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { device: is.dev(), inode: is.ino() }
    }

    /// On other systems, an open file can be neither removed nor replaced.
    #[cfg(not(unix))]
    fn of(_: &Metadata) -> Self {
        Self {}
    }
}
