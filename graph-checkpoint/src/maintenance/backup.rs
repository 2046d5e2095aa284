//! A copy of a file that may be in use.
//!
//! The pages are copied with SQLite's backup, all of them in one step: a step reads one state of the file, so no
//! commit makes it begin anew, and in write-ahead-log mode no writer waits for it. Several steps would begin anew
//! after every commit of another program. `VACUUM INTO` would copy one state, too, but row by row through indexes,
//! which takes longer and fails where a page is damaged; a copy of pages has all that is left.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use serde::Serialize;
use superstep_core::checkpoint::StoreError;

use super::error::MaintenanceError;
use crate::error::{FileError, sqlite};
use crate::file::file_path::beside;
use crate::file::header;
use crate::sqlite_reader::SqliteReader;

/// The treatment of a file that exists where a copy is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and nothing is copied.
    Refuse,
    /// The copy takes its place, in one moment, if it is a checkpoint file or empty. A link to such a file stays, and
    /// leads to the copy.
    Replace,
}

/// A copy that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Copied {
    /// Its size in bytes.
    pub bytes: u64,
    /// The number of checkpoints in it.
    pub checkpoints: u64,
}

/// Copies the file `from` to `to`: one consistent state of it, the latest, while programs go on writing to it. The copy
/// is a checkpoint file of the same format that stands alone; it is there when it is whole and on the disk, and nothing
/// of it before.
///
/// # Errors
/// [`MaintenanceError::Exists`] unless `existing` says that it may be replaced; [`MaintenanceError::Foreign`] when
/// what is there is no checkpoint file; [`StoreError::NewerFormat`] when it is one that a newer version wrote;
/// [`MaintenanceError::InUse`] when a program has `to` open; [`MaintenanceError::Itself`];
/// [`MaintenanceError::Unwritable`], and [`MaintenanceError::Store`] when `from` cannot be read.
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

/// Where the copy is to be written: at `to`, or where a link leads that is there.
fn place<'p>(from: &Path, to: &'p Path, existing: Existing) -> Result<Cow<'p, Path>, MaintenanceError> {
    let unwritable = |cause| MaintenanceError::Unwritable { path: to.to_owned(), cause };
    let there = match fs::symlink_metadata(to) {
        Ok(there) => Some(there),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(unwritable(error)),
    };
    let place = match &there {
        // One that leads nowhere stays itself.
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
    // A log that is beside it would be taken for that of the copy.
    if ["-wal", "-journal"].into_iter().any(|end| beside(&place, end).exists()) {
        return Err(MaintenanceError::InUse(to.to_owned()));
    }
    if there.is_some() {
        check_replaceable(&place, to)?;
    }
    Ok(place)
}

/// Checks that replacing `there` loses nothing but a checkpoint file, and none of a newer format, whose content only
/// the program that made it knows.
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

/// A copy that is not whole yet. It is gone when it is dropped.
struct Part {
    path: PathBuf,
    /// `true` until the part is renamed. Afterwards another program may have made a file with this name.
    is_there: bool,
}

impl Part {
    /// Makes an empty one under a name that nobody has, neither another copy nor what one left that was killed.
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

    /// Copies the state that `source` reads; returns how many checkpoints it has.
    fn fill(&self, source: &Connection) -> Result<u64, StoreError> {
        // After another attempt.
        let emptied = File::create(&self.path).map_err(|error| StoreError::Io(Box::new(error)));
        drop(emptied?);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut target = Connection::open_with_flags(&self.path, flags).map_err(sqlite)?;
        // It is not there before it is synced as a whole.
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

    /// Gives it the name `to`, once it is on the disk.
    fn put(mut self, to: &Path, existing: Existing) -> io::Result<()> {
        OpenOptions::new().write(true).open(&self.path)?.sync_all()?;
        match existing {
            Existing::Replace => self.rename(to)?,
            // A second name, unlike a new one, never takes another file's place.
            Existing::Refuse => match fs::hard_link(&self.path, to) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
                Ok(()) => {}
                // The file system knows no second names.
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
    // Elsewhere folders cannot be opened.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
