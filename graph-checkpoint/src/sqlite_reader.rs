//! Reading a file that may belong to others.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use superstep_core::checkpoint::{
    At, LeaseRecord, Loaded, NamedCheckpoint, StepRecord, StoreError, Summary, ThreadScan, ThreadSummary,
};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::state::{Json, Schema};
use superstep_core::testing::Journal;
use uuid::Uuid;

use crate::connection::Connection;
use crate::fault::{Trouble, corrupt, sqlite};
use crate::file::checkpoint_file::CheckpointFile;
use crate::file::place::beside;
use crate::file::{FORMATS, File, Sharing, snapshot};
use crate::history::described::{self, Key};
use crate::history::rows::{CheckpointRow, ThreadRow};
use crate::options::SqliteOptions;
use crate::read::lineage;
use crate::read::named;
use crate::read::reader;
use crate::read::steps;
use crate::read::subgraphs::{self, Subgraph};
use crate::read::threads::{self, ThreadList};
use crate::write::lease;

/// The number of last digits of an id that are usually shown.
const SHOWN: usize = 8;

/// Reads a checkpoint file and never writes: no lock that a writer waits for, no migration.
///
/// The file may be one that a program is writing to, that of a program that crashed, a copy of it in another folder, or
/// one of an older format. Of a file that nobody has open nothing is left beside it, and its folder need not be
/// writable. Calls block; each reads one consistent state of the file, the latest.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use superstep_checkpoint::{SqliteReader, SqliteSaver};
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
    /// The stamp of the file from when it was opened as one that no other program has open.
    alone: Option<Stamp>,
}

/// A checkpoint that was found by part of its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The checkpoint.
    pub id: CheckpointId,
    /// The thread that it was written on.
    pub thread: ThreadId,
}

/// The size of a thread's own data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadSize {
    /// The number of checkpoints that were written on it.
    pub checkpoints: u64,
    /// The number of them that nothing continues: the ends of its branches.
    pub branches: u64,
    /// The bytes that their texts take in the file. Long texts, which are stored once for all, are not counted.
    pub bytes: u64,
}

impl SqliteReader {
    /// The newest format that can be read: that of the files that a saver writes.
    pub const FORMAT: u32 = FORMATS as u32;

    /// Opens a file for reading.
    ///
    /// # Errors
    /// [`StoreError::NotACheckpointFile`], [`StoreError::NewerFormat`], [`StoreError::Corrupt`] when nothing of the file
    /// can be read, [`StoreError::Keys`] when it is encrypted with other keys than were given, and [`StoreError::Io`] when it is not there, is empty, or cannot be read where it is.
    pub fn open(file: impl Into<CheckpointFile>) -> Result<Self, StoreError> {
        Self::open_with(file.into(), false)
    }

    /// Opens a file also without the keys that it is encrypted with: what needs them fails when it is asked for.
    pub(crate) fn open_with(file: CheckpointFile, unopened: bool) -> Result<Self, StoreError> {
        let CheckpointFile { path, keys, limits } = file;
        let options = SqliteOptions { keys, limits, unopened, ..SqliteOptions::new() };
        let file = File::new(Some(path.clone()), options);
        let name = path.display().to_string();
        match std::fs::metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(Trouble::NoFile(name).into()),
            Err(error) => return Err(Trouble::Unreadable(name, error).into()),
            Ok(is) if !is.is_file() => return Err(StoreError::NotACheckpointFile(name)),
            Ok(_) => {}
        }
        let held = RefCell::new(Held::open(&file, &path)?);
        Ok(Self { file, path, held })
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The format that the file has: an older one is read as it is.
    #[must_use]
    pub fn format(&self) -> u32 {
        self.held.borrow().format
    }

    /// Lists all threads, by name.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when a row that was read is damaged, and [`StoreError::Io`]. So for all reads.
    pub fn threads(&self) -> Result<Vec<ThreadSummary>, StoreError> {
        self.read(|connection| threads::threads(connection, &ThreadScan::default()))
    }

    /// Lists all threads, and those that are damaged beside the others.
    ///
    /// # Errors
    /// Those of [`threads`](Self::threads), but for damage of single threads.
    pub fn list_threads(&self) -> Result<ThreadList, StoreError> {
        self.read(threads::list)
    }

    /// Lists who holds which thread, by thread, like
    /// [`CheckpointerExt::leases`](superstep_core::checkpoint::CheckpointerExt::leases).
    ///
    /// # Errors
    /// Those of [`threads`](Self::threads).
    pub fn leases(&self) -> Result<Vec<LeaseRecord>, StoreError> {
        self.read(lease::all)
    }

    /// Returns the size of each thread's own data, by the names of [`threads`](Self::threads). Threads whose rows are
    /// damaged are left out.
    ///
    /// # Errors
    /// Those of [`threads`](Self::threads).
    pub fn sizes(&self) -> Result<BTreeMap<ThreadId, ThreadSize>, StoreError> {
        self.read(sizes)
    }

    /// Lists a thread's past, like [`CheckpointerExt::history`](superstep_core::checkpoint::CheckpointerExt::history).
    ///
    /// # Errors
    /// Those of [`threads`](Self::threads), and [`StoreError::NoCheckpoint`].
    pub fn history(&self, thread: &ThreadId, from: &At, limit: usize) -> Result<Vec<Summary>, StoreError> {
        self.read(|connection| reader::history(connection, thread, from, limit))
    }

    /// Lists the tree that a thread is part of, like
    /// [`CheckpointerExt::lineage`](superstep_core::checkpoint::CheckpointerExt::lineage).
    ///
    /// # Errors
    /// Those of [`threads`](Self::threads).
    pub fn lineage(&self, thread: &ThreadId) -> Result<Vec<Summary>, StoreError> {
        self.read(|connection| lineage::lineage(connection, thread))
    }

    /// Reads what happened, like [`CheckpointerExt::steps`](superstep_core::checkpoint::CheckpointerExt::steps).
    ///
    /// # Errors
    /// Those of [`threads`](Self::threads), and [`StoreError::NoCheckpoint`].
    pub fn steps(&self, thread: &ThreadId, from: &At, limit: usize) -> Result<Vec<StepRecord>, StoreError> {
        self.read(|connection| steps::steps(connection, thread, from, limit))
    }

    /// Reads the journal of what led to a checkpoint, as tests take it. A thread that is not there has an empty one.
    ///
    /// # Errors
    /// Those of [`steps`](Self::steps).
    pub fn journal(&self, thread: ThreadId, to: At) -> Result<Journal, StoreError> {
        let mut journal = Journal::new(thread, to);
        while let Some((thread, at)) = journal.wanted() {
            journal.add(self.steps(&thread, &at, usize::MAX)?);
        }
        Ok(journal)
    }

    /// Lists the subgraphs that the tasks of a thread have run, finished ones too, by their nodes and in the order in which they
    /// were planned. Each has a thread of its own, which is read like any other; subgraphs of that one are listed with its id.
    ///
    /// # Errors
    /// Those of [`threads`](Self::threads).
    pub fn subgraphs(&self, thread: &ThreadId) -> Result<Vec<Subgraph>, StoreError> {
        self.read(|connection| subgraphs::subgraphs(connection, thread))
    }

    /// Finds the first checkpoint of the past of each thread. Unless older ones were pruned, that is its first input; a fork's
    /// is that of the thread that it was forked from. Damaged threads are left out.
    ///
    /// # Errors
    /// Those of [`threads`](Self::threads).
    pub fn first_checkpoints(&self) -> Result<BTreeMap<ThreadId, CheckpointId>, StoreError> {
        self.read(lineage::first_checkpoints)
    }

    /// Reads a checkpoint with its values, like
    /// [`Checkpointer::load`](superstep_core::checkpoint::Checkpointer::load).
    ///
    /// # Errors
    /// Those of [`threads`](Self::threads), and [`StoreError::NoCheckpoint`].
    pub fn load(&self, thread: &ThreadId, at: &At) -> Result<Option<Loaded>, StoreError> {
        self.read(|connection| Ok(reader::load(connection, thread, at, None)?.loaded()))
    }

    /// Lists the names that a thread has for checkpoints, like
    /// [`CheckpointerExt::names`](superstep_core::checkpoint::CheckpointerExt::names).
    ///
    /// # Errors
    /// Those of [`threads`](Self::threads).
    pub fn names(&self, thread: &ThreadId) -> Result<Vec<NamedCheckpoint>, StoreError> {
        self.read(|connection| named::names(connection, thread))
    }

    /// The graph that a checkpoint was planned with, as it is stored.
    ///
    /// # Errors
    /// Those of [`threads`](Self::threads), and [`StoreError::NoCheckpoint`].
    pub fn topology(&self, thread: &ThreadId, at: &At) -> Result<Option<Json>, StoreError> {
        self.read(|connection| {
            let Some(row) = ThreadRow::find(connection, thread)? else { return Ok(None) };
            let place = reader::place(connection, &row, at)?;
            let topology = CheckpointRow::visit(connection, place.seq, |row, _| Ok(row.topology))?;
            let text = described::topology_text(connection, Key::Row(topology))?;
            text.ok_or_else(|| corrupt("the topologies", "one is missing")).map(Some)
        })
    }

    /// The schemas of all states in the file, those of deleted threads among them.
    ///
    /// # Errors
    /// Those of [`threads`](Self::threads).
    pub fn schemas(&self) -> Result<Vec<Schema>, StoreError> {
        self.read(|connection| {
            let mut all = connection.prepare_cached("SELECT id FROM schema ORDER BY id").map_err(sqlite)?;
            let rows = all.query_map([], |row| row.get(0)).map_err(sqlite)?;
            let mut schemas = Vec::new();
            for row in rows {
                let found = described::schema(connection, Key::Row(row.map_err(sqlite)?))?;
                schemas.extend(found.map(|(_, _, schema)| schema));
            }
            Ok(schemas)
        })
    }

    /// The checkpoints whose ids begin or end with these hexadecimal digits, or whose ids' last eight digits begin with
    /// them, oldest first and at most `limit` of them. Dashes may be left out.
    ///
    /// # Errors
    /// Those of [`threads`](Self::threads).
    pub fn locate(&self, digits: &str, limit: usize) -> Result<Vec<Located>, StoreError> {
        let digits = digits.replace('-', "").to_ascii_lowercase();
        self.read(|connection| {
            let mut all = connection
                .prepare_cached("SELECT seq, id FROM checkpoint WHERE thread <> 0 ORDER BY seq")
                .map_err(sqlite)?;
            let mut rows = all.query([]).map_err(sqlite)?;
            let mut found = Vec::new();
            while let Some(row) = rows.next().map_err(sqlite)? {
                let id = CheckpointId(Uuid::from_bytes(row.get(1).map_err(sqlite)?));
                let mut text = Uuid::encode_buffer();
                let text = &*id.0.as_simple().encode_lower(&mut text);
                let end = &text[text.len() - SHOWN..];
                let is_meant =
                    text.starts_with(&digits) || text.ends_with(&digits) || end.starts_with(&digits);
                if is_meant && found.len() < limit {
                    let writer = CheckpointRow::visit(connection, row.get(0).map_err(sqlite)?, |row, _| {
                        Ok(row.thread)
                    })?;
                    found.push(Located { id, thread: ThreadRow::get(connection, writer)?.name });
                }
            }
            Ok(found)
        })
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
            // Somebody has begun to write to it.
            *held = Held::open(&self.file, &self.path)?;
        }
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
            // SQLite does not say why. Only now is the file opened here: closing it gives up the locks on it that a saver of
            // this process has.
            StoreError::Io(cause) if cannot_open(cause.downcast_ref()) => match std::fs::File::open(path) {
                Err(why) => Trouble::Unreadable(path.display().to_string(), why).into(),
                Ok(_) if alone.is_none() => Trouble::LogUnreadable(path.display().to_string()).into(),
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

/// Tells whether a file was changed.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    /// That of a file that nobody has open: while somebody has, its log is beside it.
    fn of_lonely(path: &Path) -> Option<Self> {
        // What is no text cannot be addressed as lonely.
        if ["-wal", "-journal"].iter().any(|end| beside(path, end).exists()) || path.to_str().is_none() {
            return None;
        }
        let held = path.metadata().ok()?;
        Some(Self { length: held.len(), modified: held.modified().ok() })
    }
}

fn sizes(connection: &Connection) -> Result<BTreeMap<ThreadId, ThreadSize>, StoreError> {
    let mut of_rows: BTreeMap<i64, ThreadSize> = BTreeMap::new();
    let mut all = connection
        .prepare_cached(
            "SELECT seq, parent, thread, octet_length(changes) + octet_length(manifest) + \
             coalesce(octet_length(fields), 0) FROM checkpoint ORDER BY seq DESC",
        )
        .map_err(sqlite)?;
    let mut rows = all.query([]).map_err(sqlite)?;
    let mut continued = std::collections::HashSet::new();
    while let Some(row) = rows.next().map_err(sqlite)? {
        let seq: i64 = row.get(0).map_err(sqlite)?;
        let parent: Option<i64> = row.get(1).map_err(sqlite)?;
        let size = of_rows.entry(row.get(2).map_err(sqlite)?).or_default();
        size.checkpoints += 1;
        size.branches += u64::from(!continued.remove(&seq));
        size.bytes += row.get::<_, i64>(3).map_err(sqlite)?.cast_unsigned();
        continued.extend(parent);
    }
    let mut segments = connection
        .prepare_cached("SELECT thread, sum(octet_length(text)) FROM segment GROUP BY thread")
        .map_err(sqlite)?;
    let mut rows = segments.query([]).map_err(sqlite)?;
    while let Some(row) = rows.next().map_err(sqlite)? {
        let size = of_rows.entry(row.get(0).map_err(sqlite)?).or_default();
        size.bytes += row.get::<_, i64>(1).map_err(sqlite)?.cast_unsigned();
    }
    let threads = ThreadRow::readable(connection)?.into_iter();
    Ok(threads.map(|row| (row.name, of_rows.get(&row.id).copied().unwrap_or_default())).collect())
}
