//! The checkpoint file: how it is identified, opened, and migrated.

pub(crate) mod checkpoint_file;
pub(crate) mod compatibility;
pub(crate) mod file_path;
pub(crate) mod header;
pub(crate) mod wait_queue;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection as Sqlite, OpenFlags, TransactionBehavior};
use superstep_core::checkpoint::StoreError;

use crate::durability::Durability;
use crate::sqlite::connection::{Connection, FileEncryption};
use crate::sqlite::encryption::{Encryption, Phase};
use crate::sqlite::error::{FileError, sqlite};
use crate::sqlite::file::file_path::Opened;
use crate::sqlite::file::header::APPLICATION_ID;
use crate::sqlite::file::wait_queue::WaitQueue;
use crate::sqlite::history::branch;
use crate::sqlite::options::SqliteOptions;
use crate::sqlite::records;
use superstep_core::state::SizeLimits;

/// The migrations, one per step of the format; the file's `user_version` is the number of steps that were applied. A
/// released step is never changed. The last one adds the tables of a server.
const MIGRATIONS: &[&str; FORMATS] = &[FORMAT_1, FORMAT_2, FORMAT_3, FORMAT_4, FORMAT_5, records::SCHEMA];

/// For each step, the views that replace what an older file lacks, so that it can be read without migrating it. They
/// exist for one connection.
const LACKED: &[&str; FORMATS] =
    &["", WITHOUT_FORMAT_2, WITHOUT_FORMAT_3, WITHOUT_FORMAT_4, WITHOUT_FORMAT_5, records::NO_TABLES];

pub(crate) const FORMATS: usize = 6;

/// The columns that history and chains read come before those that may be long. No column repeats another: the creation
/// time of a checkpoint is in its id.
const FORMAT_1: &str = "
CREATE TABLE schema(
    id INTEGER PRIMARY KEY, fingerprint BLOB NOT NULL UNIQUE, text TEXT NOT NULL, sum INTEGER NOT NULL
) STRICT;
CREATE TABLE topology(
    id INTEGER PRIMARY KEY, fingerprint BLOB NOT NULL UNIQUE, graph TEXT NOT NULL, text TEXT NOT NULL,
    sum INTEGER NOT NULL
) STRICT;
CREATE TABLE thread(
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, graph TEXT NOT NULL, head INTEGER NOT NULL,
    sum INTEGER NOT NULL
) STRICT;
CREATE TABLE checkpoint(
    seq INTEGER PRIMARY KEY, id BLOB NOT NULL, parent INTEGER, thread INTEGER NOT NULL,
    run BLOB NOT NULL, step INTEGER NOT NULL, source INTEGER NOT NULL, schema INTEGER NOT NULL,
    topology INTEGER NOT NULL, sum INTEGER NOT NULL, changes_sum INTEGER NOT NULL,
    fields TEXT, changes TEXT NOT NULL, manifest TEXT NOT NULL
) STRICT;
CREATE TABLE locator(
    id BLOB PRIMARY KEY, seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE body(
    id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, text TEXT NOT NULL, sum INTEGER NOT NULL
) STRICT;
CREATE TABLE pending(
    id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, base INTEGER NOT NULL, task BLOB NOT NULL,
    text TEXT NOT NULL, sum INTEGER NOT NULL, UNIQUE(thread, base, task)
) STRICT;
CREATE TABLE ask(
    id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, base INTEGER NOT NULL, interrupt BLOB NOT NULL,
    text TEXT NOT NULL, answer TEXT, sum INTEGER NOT NULL, UNIQUE(thread, base, interrupt)
) STRICT;
CREATE TABLE effect(
    id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, base INTEGER NOT NULL, task BLOB NOT NULL,
    name TEXT NOT NULL, key TEXT NOT NULL, occurrence INTEGER NOT NULL, attempt INTEGER NOT NULL,
    outcome TEXT, sum INTEGER NOT NULL, UNIQUE(thread, base, task, name, key, occurrence)
) STRICT;
";

/// Deadlines of questions; starts and idempotency keys of effects. The checksums of older rows do not cover the new
/// columns, whose default values mark these rows.
const FORMAT_2: &str = "
ALTER TABLE ask ADD COLUMN deadline INTEGER;
ALTER TABLE ask ADD COLUMN fallback TEXT;
ALTER TABLE ask ADD COLUMN by_deadline INTEGER NOT NULL DEFAULT 0;
CREATE INDEX ask_open ON ask(deadline, thread, base) WHERE answer IS NULL;
ALTER TABLE effect ADD COLUMN starts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE effect ADD COLUMN token BLOB NOT NULL DEFAULT x'00000000000000000000000000000000';
";

/// The table of events that tasks emitted, for runs that keep them.
const FORMAT_3: &str = "
CREATE TABLE emitted(
    id INTEGER PRIMARY KEY, checkpoint INTEGER NOT NULL, task INTEGER NOT NULL, text TEXT NOT NULL,
    sum INTEGER NOT NULL, UNIQUE(checkpoint, task)
) STRICT;
";

/// Leases of threads: no fence is used twice, even after its row was deleted. Segments, the operations of many versions
/// of a field in one row: the text is the last column because it is long, and no number is used twice, so that new
/// segments are distinct from old ones. The keys of an encrypted file. Names of checkpoints. The ends of branches,
/// which the migration finds.
const FORMAT_4: &str = "
CREATE TABLE lease(
    fence INTEGER PRIMARY KEY AUTOINCREMENT, thread TEXT NOT NULL UNIQUE, holder TEXT NOT NULL,
    ttl INTEGER NOT NULL, renewed INTEGER NOT NULL, sum INTEGER NOT NULL
) STRICT;
CREATE TABLE seal(
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, file BLOB NOT NULL, phase INTEGER NOT NULL,
    proof TEXT NOT NULL, sum INTEGER NOT NULL
) STRICT;
CREATE TABLE named(
    id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, name TEXT NOT NULL, checkpoint INTEGER NOT NULL,
    sum INTEGER NOT NULL, UNIQUE(thread, name)
) STRICT;
CREATE TABLE segment(
    id INTEGER PRIMARY KEY AUTOINCREMENT, thread INTEGER NOT NULL, prev INTEGER, prev_field INTEGER NOT NULL,
    versions INTEGER NOT NULL, ends TEXT NOT NULL, is_list INTEGER NOT NULL, weight INTEGER NOT NULL,
    due INTEGER NOT NULL, whole TEXT, sum INTEGER NOT NULL, text TEXT NOT NULL
) STRICT;
CREATE TABLE branch(
    thread INTEGER NOT NULL, checkpoint INTEGER NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY(thread, checkpoint)
) STRICT, WITHOUT ROWID;
";

/// Long texts that are encrypted, as bytes. Older ones stay in `text` until they are encrypted again.
const FORMAT_5: &str = "
ALTER TABLE body ADD COLUMN sealed BLOB;
";

const WITHOUT_FORMAT_2: &str = "
CREATE TEMP VIEW ask AS SELECT *, NULL AS deadline, NULL AS fallback, 0 AS by_deadline FROM main.ask;
CREATE TEMP VIEW effect AS SELECT *, 0 AS starts, x'00000000000000000000000000000000' AS token FROM main.effect;
";

const WITHOUT_FORMAT_3: &str = "
CREATE TEMP VIEW emitted AS SELECT 0 AS id, 0 AS checkpoint, 0 AS task, '' AS text, 0 AS sum WHERE 0;
";

const WITHOUT_FORMAT_4: &str = "
CREATE TEMP VIEW lease AS SELECT 0 AS fence, '' AS thread, '' AS holder, 0 AS ttl, 0 AS renewed, 0 AS sum WHERE 0;
CREATE TEMP VIEW seal AS SELECT 0 AS id, '' AS key, x'' AS file, 0 AS phase, '' AS proof, 0 AS sum WHERE 0;
CREATE TEMP VIEW named AS SELECT 0 AS id, 0 AS thread, '' AS name, 0 AS checkpoint, 0 AS sum WHERE 0;
CREATE TEMP VIEW segment AS SELECT 0 AS id, 0 AS thread, NULL AS prev, 0 AS prev_field, 0 AS versions, '' AS ends,
    0 AS is_list, 0 AS weight, 0 AS due, NULL AS whole, 0 AS sum, '' AS text WHERE 0;
CREATE TEMP VIEW branch AS SELECT c.thread AS thread, c.seq AS checkpoint, NULL AS sum
    FROM main.checkpoint AS c JOIN main.thread AS t ON t.id = c.thread WHERE c.seq <> t.head
    AND (c.thread, c.seq) NOT IN (SELECT thread, parent FROM main.checkpoint WHERE parent NOT NULL);
";

const WITHOUT_FORMAT_5: &str = "
CREATE TEMP VIEW body AS SELECT *, NULL AS sealed FROM main.body;
";

/// The location of checkpoints: a file or memory.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// `None` for a database in memory.
    pub(crate) path: Option<PathBuf>,
    pub(crate) options: SqliteOptions,
    opened: Opened,
}

/// The other users of a file while it is read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sharing {
    /// Programs may write to the file.
    WithWriters,
    /// No other program uses the file. No files are created beside it, and its folder need not be writable.
    Alone,
}

/// Returns the URI of a file that no program changes.
fn immutable(path: &Path) -> String {
    let mut address = String::from("file:");
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'?' | b'#' | b'%' | 128.. => address.push_str(&format!("%{byte:02x}")),
            b'\\' if cfg!(windows) => address.push('/'),
            _ => address.push(char::from(byte)),
        }
    }
    address + "?immutable=1"
}

/// The kind of file that was found.
enum Found {
    Nothing,
    Format(usize),
}

impl File {
    /// Creates a `File` for `path`; without one, for a database in memory.
    pub(crate) fn new(path: Option<PathBuf>, options: SqliteOptions) -> Self {
        Self { path, options, opened: Opened::default() }
    }

    pub(crate) fn name(&self) -> String {
        self.path.as_ref().map_or_else(|| "memory".into(), |path| path.display().to_string())
    }

    /// Checks that the file that was opened for writing is still at its path.
    pub(crate) fn check_place(&self) -> Result<(), StoreError> {
        self.opened.check()
    }

    /// Opens the connection that writes. Creates the file, or migrates it to the current format.
    pub(crate) fn open_writer(&self) -> Result<Connection, StoreError> {
        self.check_place()?;
        let mut connection = match &self.path {
            None => Sqlite::open_in_memory().map_err(sqlite)?,
            Some(path) => {
                check_folder(path)?;
                file_path::check(path)?;
                let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
                    | OpenFlags::SQLITE_OPEN_CREATE
                    | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                let connection = Sqlite::open_with_flags(path, flags).map_err(sqlite)?;
                self.opened.keep(path)?;
                connection
            }
        };
        if self.options.alone {
            // This precedes the first read of a page; otherwise the connection takes a shared lock.
            connection.pragma_update(None, "locking_mode", "EXCLUSIVE").map_err(sqlite)?;
        }
        self.guard(&connection)?;
        // From here on the program waits in its own queue instead of in SQLite.
        connection.busy_timeout(Duration::ZERO).map_err(sqlite)?;
        let (mut wait_queue, limit) = (WaitQueue::at(self.path.as_deref()), self.options.busy_limit);
        wait_queue.now_or_in_turn(limit, || self.identify(&connection))?;
        if self.path.is_some() {
            let log = || connection.pragma_update(None, "journal_mode", "WAL").map_err(sqlite);
            wait_queue.now_or_in_turn(limit, log)?;
        }
        let synchronous = match self.options.durability {
            Durability::Power | Durability::Exit => "FULL",
            Durability::Process => "NORMAL",
        };
        connection.pragma_update(None, "synchronous", synchronous).map_err(sqlite)?;
        wait_queue.now_or_in_turn(limit, || self.migrate(&mut connection))?;
        if let Some(pages) = self.options.max_pages {
            connection.pragma_update(None, "max_page_count", pages).map_err(sqlite)?;
        }
        if let Some(pages) = self.options.log_pages {
            connection.pragma_update(None, "wal_autocheckpoint", pages).map_err(sqlite)?;
        }
        self.attach(connection)
    }

    /// Opens another connection for reading.
    pub(crate) fn open_reader(&self) -> Result<Connection, StoreError> {
        let path = self.path.as_ref().ok_or(FileError::WriterGone)?;
        self.check_place()?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Sqlite::open_with_flags(path, flags).map_err(sqlite)?;
        self.guard(&connection)?;
        self.attach(connection)
    }

    /// Finds out if the file is encrypted, and checks the keys for it.
    pub(crate) fn attach(&self, connection: Sqlite) -> Result<Connection, StoreError> {
        let (keys, name) = (self.options.keys.as_ref(), self.name());
        let encryption = match Encryption::attach(&connection, keys, &name, self.options.alone) {
            Ok(None) => FileEncryption::Plain,
            Ok(Some(encryption)) => FileEncryption::Encrypted(Box::new(encryption)),
            Err(StoreError::Keys { place, problem }) if self.options.unopened && keys.is_none() => {
                FileEncryption::Unopened { place, problem }
            }
            Err(other) => return Err(other),
        };
        Ok(Connection::new(connection, encryption, self.options.limits))
    }

    /// Opens a file of any format for reading only: nothing is created or migrated, and writers are not locked out.
    pub(crate) fn open_as_it_is(&self, sharing: Sharing) -> Result<(Connection, u32), StoreError> {
        let path = self.path.as_ref().ok_or(FileError::WriterGone)?;
        file_path::check(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = match sharing {
            Sharing::WithWriters => Sqlite::open_with_flags(path, flags),
            Sharing::Alone => Sqlite::open_with_flags(immutable(path), flags | OpenFlags::SQLITE_OPEN_URI),
        };
        let connection = connection.map_err(sqlite)?;
        self.guard(&connection)?;
        let Found::Format(format) = self.identify(&connection)? else {
            return Err(FileError::Empty(self.name()).into());
        };
        connection.pragma_update(None, "temp_store", "MEMORY").map_err(sqlite)?;
        LACKED[format..].iter().try_for_each(|views| connection.execute_batch(views)).map_err(sqlite)?;
        Ok((self.attach(connection)?, u32::try_from(format).unwrap_or(u32::MAX)))
    }

    /// Configures a connection for a file from an untrusted source: nothing in it may run code, and its contents are
    /// checked.
    fn guard(&self, connection: &Sqlite) -> Result<(), StoreError> {
        connection.busy_timeout(self.options.busy_limit).map_err(sqlite)?;
        let set = |config, on| connection.set_db_config(config, on).map(drop).map_err(sqlite);
        set(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        set(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        set(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        set(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
        // Without this, SQLite prepares a statement again each time that a value is bound to it.
        set(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, longest_row(self.options.limits)).map_err(sqlite)?;
        connection.pragma_update(None, "mmap_size", 0).map_err(sqlite)?;
        connection.set_prepared_statement_cache_capacity(128);
        self.identify(connection).map(drop)?;
        connection.pragma_update(None, "cell_size_check", true).map_err(sqlite)?;
        compatibility::refuse(connection, &self.name())
    }

    /// Identifies the file before anything is written to it.
    fn identify(&self, connection: &Sqlite) -> Result<Found, StoreError> {
        // The header is read in one snapshot: between two reads, another program may create the file.
        let header = || {
            let state = connection.is_autocommit().then(|| connection.unchecked_transaction()).transpose()?;
            let read = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
            let application = read("PRAGMA application_id")?;
            let version = read("PRAGMA user_version")?;
            let tables = read("SELECT count(*) FROM sqlite_schema")?;
            state.map(rusqlite::Transaction::finish).transpose()?;
            Ok((application, version, tables))
        };
        let header = header().map_err(sqlite);
        let (application, version, tables) = header.map_err(|error| match error {
            StoreError::Corrupt { reason, .. } => self.unreadable(reason),
            other => other,
        })?;
        if application == 0 && version == 0 && tables == 0 {
            return Ok(Found::Nothing);
        }
        if application != i64::from(APPLICATION_ID) {
            return Err(StoreError::NotACheckpointFile(self.name()));
        }
        let supported = u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX);
        match u32::try_from(version) {
            Ok(found) if found <= supported => Ok(Found::Format(found as usize)),
            Ok(found) => Err(StoreError::NewerFormat { found, supported }),
            Err(_) => Err(StoreError::NotACheckpointFile(self.name())),
        }
    }

    /// Returns the error for a file whose header or tables SQLite cannot read.
    fn unreadable(&self, reason: String) -> StoreError {
        // A malformed file contains nothing that a lock would protect, so it may be opened and closed here.
        let ours = self.path.as_ref().is_some_and(|path| header::is_ours(path).unwrap_or_default());
        match ours {
            true => StoreError::Corrupt { place: self.name(), reason },
            false => StoreError::NotACheckpointFile(self.name()),
        }
    }

    /// Applies the migrations that the file lacks, in one transaction.
    fn migrate(&self, connection: &mut Sqlite) -> Result<(), StoreError> {
        if let Found::Format(format) = self.identify(connection)?
            && format == MIGRATIONS.len()
        {
            return Ok(());
        }
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite)?;
        // Another program may have migrated it first.
        let taken = match self.identify(&transaction)? {
            Found::Nothing => 0,
            Found::Format(format) => format,
        };
        for step in &MIGRATIONS[taken..] {
            transaction.execute_batch(step).map_err(sqlite)?;
        }
        if (1..4).contains(&taken) {
            branch::find(&transaction, 0, |_| true)?;
        }
        if taken == 0
            && let Some(keys) = &self.options.keys
        {
            Encryption::begin(&transaction, keys, &self.name(), Phase::Whole)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(sqlite)?;
        transaction.pragma_update(None, "user_version", MIGRATIONS.len() as i64).map_err(sqlite)?;
        transaction.commit().map_err(sqlite)
    }
}

/// Runs `read` in one snapshot of the file.
pub(crate) fn snapshot<T>(
    connection: &Connection,
    read: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    if !connection.is_autocommit() {
        return read(connection);
    }
    let transaction = connection.unchecked_transaction().map_err(sqlite)?;
    let result = read(connection)?;
    transaction.finish().map_err(sqlite)?;
    Ok(result)
}

fn check_folder(path: &Path) -> Result<(), StoreError> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            Err(FileError::NoFolder(folder.display().to_string()).into())
        }
        _ => Ok(()),
    }
}

/// Returns the largest row in bytes that SQLite may return: an encrypted text within the limits, with the other
/// columns.
fn longest_row(limits: SizeLimits) -> i32 {
    const BESIDE: usize = 4 << 20;
    let most = limits.most_bytes();
    i32::try_from(most.saturating_add(most / 2).saturating_add(BESIDE)).unwrap_or(i32::MAX)
}
