//! The tables of a store of snapshots.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use crate::snapshot::SnapshotError;

/// The application id in the header of a SQLite file that marks it as a store of snapshots: `SSsn`.
const APPLICATION: i64 = 0x5353_736e;

/// The format of the tables that this version writes.
pub(super) const FORMAT: i64 = 1;

/// The time to wait for a writer of another process, which may be taking its first snapshot.
const BUSY: Duration = Duration::from_secs(60);

/// A snapshot has the lines of its manifest that differ from those of its parent. Table `seen` is the stat cache of the
/// folder.
const TABLES: &str = "
create table snapshot (
    id integer primary key,
    name blob not null unique,
    parent integer references snapshot,
    taken integer not null
) strict;
create index snapshot_of_parent on snapshot (parent);
create table line (
    snapshot integer not null references snapshot on delete cascade,
    path text not null,
    kind integer not null,
    named integer not null,
    digest blob,
    target text,
    mode integer not null,
    size integer not null,
    modified integer not null,
    primary key (snapshot, path)
) strict, without rowid;
create table content (
    id integer primary key,
    digest blob not null unique,
    bytes blob not null
) strict;
create table folder (
    path blob not null
) strict;
create table seen (
    path text primary key,
    digest blob not null,
    size integer not null,
    modified integer not null,
    changed integer not null,
    inode integer not null,
    device integer not null
) strict, without rowid;
";

/// Opens the file, and makes it if it is not there.
///
/// A commit survives the end of the process. After a loss of power the last ones may be missing, and the file is whole.
pub(super) fn open(path: &Path) -> Result<Connection, SnapshotError> {
    make(path).map_err(|source| SnapshotError::File { path: path.to_owned(), source })?;
    let mut db = Connection::open(path)?;
    db.busy_timeout(BUSY)?;
    db.pragma_update(None, "foreign_keys", true)?;
    if format(&db, path)?.is_none() {
        // Only a file without tables can get pages that can be given back.
        db.pragma_update(None, "auto_vacuum", "incremental")?;
        // Another process may be at it.
        let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if format(&change, path)?.is_none() {
            change.execute_batch(TABLES)?;
            change.pragma_update(None, "application_id", APPLICATION)?;
            change.pragma_update(None, "user_version", FORMAT)?;
        }
        change.commit()?;
    }
    // While others use the file its mode does not change, and the next program to open it tries again.
    match db.pragma_update(None, "journal_mode", "wal") {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {}
        changed => changed?,
    }
    db.pragma_update(None, "synchronous", "normal")?;
    Ok(db)
}

/// Makes the file if it is not there. It has the contents of files that other users may not read.
fn make(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// Checks that the file is a store of a format that is known; `None` if it is empty.
fn format(db: &Connection, path: &Path) -> Result<Option<()>, SnapshotError> {
    let foreign = || SnapshotError::Foreign { path: path.to_owned() };
    let number = |pragma: &str| db.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let application = match number("application_id") {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => return Err(foreign()),
        application => application?,
    };
    match (application, number("user_version")?) {
        (0, 0) if number("schema_version")? == 0 => Ok(None),
        (APPLICATION, FORMAT) => Ok(Some(())),
        (APPLICATION, format) => Err(SnapshotError::Newer { path: path.to_owned(), format, known: FORMAT }),
        _ => Err(foreign()),
    }
}
