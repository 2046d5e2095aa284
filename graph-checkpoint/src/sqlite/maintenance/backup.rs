//! Copies a file that may be in use.
//!
//! The pages are copied with SQLite's backup, all of them in one step. One step reads one state of the file, so no
//! commit makes it start again, and in write-ahead-log mode no writer waits for it. Several steps would start again
//! after every commit of another program. `VACUUM INTO` would also copy one state, but row by row through indexes,
//! which takes longer and fails if a page is damaged; a copy of pages preserves all data that is left.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use serde::Serialize;
use superstep_core::checkpoint::StoreError;

use crate::maintenance::MaintenanceError;
use crate::sqlite::error::{FileError, sqlite};
use crate::sqlite::file::file_path::beside;
use crate::sqlite::file::header;
use crate::sqlite::sqlite_reader::SqliteReader;

/// The treatment of an existing file at the path of the copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// The file stays, and nothing is copied.
    Refuse,
    /// The copy replaces the file, atomically, if it is a checkpoint file or empty. A symbolic link to such a file
    /// stays, and its target is replaced.
    Replace,
}

/// The result of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Copied {
    /// Its size in bytes.
    pub bytes: u64,
    /// The number of checkpoints in it.
    pub checkpoints: u64,
}

/// Copies the file `from` to `to`: the latest consistent state, while programs continue to write to the file. The copy
/// is a complete checkpoint file of the same format. It appears at `to` only once it is complete and synced to disk.
///
/// # Errors
/// Returns [`MaintenanceError::Exists`] if there is a file at `to` and `existing` does not allow replacing it;
/// [`MaintenanceError::Foreign`] if that file is not a checkpoint file; [`StoreError::NewerFormat`] if a newer version
/// wrote it; [`MaintenanceError::InUse`] if a program has it open; [`MaintenanceError::Itself`] if it is `from`;
/// [`MaintenanceError::Unwritable`] if the copy cannot be written; and [`MaintenanceError::Store`] if `from` cannot be
/// read.
pub fn backup(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
    existing: Existing,
) -> Result<Copied, MaintenanceError> {
    let (from, to) = (from.as_ref(), to.as_ref());
    let reader = SqliteReader::open_with(from.into(), true)?;
    let unwritable = |cause| MaintenanceError::Unwritable { path: to.to_owned(), cause };
    let to = &*place(from, to, existing)?;
    let part = Part::beside(to).map_err(unwritable)?;
    let checkpoints = reader.read(|source| part.fill(source))?;
    part.put(to, existing).map_err(|cause| match cause.kind() {
        io::ErrorKind::AlreadyExists => MaintenanceError::Exists(to.to_owned()),
        _ => unwritable(cause),
    })?;
    let bytes = fs::metadata(to).map_err(unwritable)?.len();
    Ok(Copied { bytes, checkpoints })
}

/// Returns the path at which the copy is written: `to`, or the target if `to` is a symbolic link.
fn place<'p>(from: &Path, to: &'p Path, existing: Existing) -> Result<Cow<'p, Path>, MaintenanceError> {
    let unwritable = |cause| MaintenanceError::Unwritable { path: to.to_owned(), cause };
    let there = match fs::symlink_metadata(to) {
        Ok(there) => Some(there),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(unwritable(error)),
    };
    let place = match &there {
        // A link whose target does not exist stays unchanged.
        Some(there) if there.is_symlink() => fs::canonicalize(to).map_or(Cow::Borrowed(to), Cow::Owned),
        _ => Cow::Borrowed(to),
    };
    let same = |a: &Path, b: &Path| Some(fs::canonicalize(a).ok()? == fs::canonicalize(b).ok()?);
    if same(from, to) == Some(true) {
        return Err(MaintenanceError::Itself(to.to_owned()));
    }
    if there.is_some() && existing == Existing::Refuse {
        return Err(MaintenanceError::Exists(to.to_owned()));
    }
    // SQLite would use an existing log beside it as the log of the copy.
    if ["-wal", "-journal"].into_iter().any(|end| beside(&place, end).exists()) {
        return Err(MaintenanceError::InUse(to.to_owned()));
    }
    if there.is_some() {
        check_replaceable(&place, to)?;
    }
    Ok(place)
}

/// Checks that `there` may be replaced: it is a checkpoint file, and not one of a newer format, which this version
/// cannot check.
fn check_replaceable(there: &Path, to: &Path) -> Result<(), MaintenanceError> {
    let unwritable = |cause| MaintenanceError::Unwritable { path: to.to_owned(), cause };
    let is = fs::symlink_metadata(there).map_err(unwritable)?;
    let foreign = || MaintenanceError::Foreign(to.to_owned());
    if !is.is_file() {
        return Err(foreign());
    }
    match header::format(there).map_err(unwritable)? {
        Some(found) if found > SqliteReader::FORMAT => {
            Err(StoreError::NewerFormat { found, supported: SqliteReader::FORMAT }.into())
        }
        None if is.len() > 0 => Err(foreign()),
        _ => Ok(()),
    }
}

/// An incomplete copy. It is deleted when this is dropped.
struct Part {
    path: PathBuf,
    /// `true` until the part is renamed. Afterwards another program may have made a file with this name.
    is_there: bool,
}

impl Part {
    /// Creates an empty copy under a unique name, different from other copies and from the remains of interrupted ones.
    fn beside(to: &Path) -> io::Result<Self> {
        let mut number = 0_u32;
        loop {
            let path = beside(to, &format!(".{}-{number}.part", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(_) => return Ok(Self { path, is_there: true }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Copies the state that `source` reads; returns the number of checkpoints in it.
    fn fill(&self, source: &Connection) -> Result<u64, StoreError> {
        // An earlier attempt may have left content.
        let emptied = File::create(&self.path).map_err(|error| StoreError::Io(Box::new(error)));
        drop(emptied?);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut target = Connection::open_with_flags(&self.path, flags).map_err(sqlite)?;
        // The copy needs no journal: it is synced as a whole before it gets its name.
        target.pragma_update(None, "journal_mode", "OFF").map_err(sqlite)?;
        target.pragma_update(None, "synchronous", "OFF").map_err(sqlite)?;
        let count = "SELECT count(*) FROM checkpoint WHERE thread <> 0";
        let checkpoints: i64 = source.query_row(count, [], |row| row.get(0)).map_err(sqlite)?;
        let step = Backup::new(source, &mut target).and_then(|copy| copy.step(-1)).map_err(sqlite)?;
        target.close().map_err(|(_, error)| sqlite(error))?;
        match step {
            StepResult::Done => Ok(checkpoints.unsigned_abs()),
            _ => Err(FileError::Raced.into()),
        }
    }

    /// Syncs the copy to disk and gives it the name `to`.
    fn put(mut self, to: &Path, existing: Existing) -> io::Result<()> {
        OpenOptions::new().write(true).open(&self.path)?.sync_all()?;
        match existing {
            Existing::Replace => self.rename(to)?,
            // A hard link, unlike a rename, never replaces an existing file.
            Existing::Refuse => match fs::hard_link(&self.path, to) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
                Ok(()) => {}
                // The file system does not support hard links.
                Err(_) if to.exists() => return Err(io::ErrorKind::AlreadyExists.into()),
                Err(_) => self.rename(to)?,
            },
        }
        sync_folder(to)
    }

    fn rename(&mut self, to: &Path) -> io::Result<()> {
        fs::rename(&self.path, to)?;
        self.is_there = false;
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.is_there {
            let _gone = fs::remove_file(&self.path);
        }
    }
}

/// Makes a new name survive a loss of power.
fn sync_folder(of: &Path) -> io::Result<()> {
    let folder = match of.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // On other systems folders cannot be opened.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
