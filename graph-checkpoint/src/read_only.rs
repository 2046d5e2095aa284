//! A checkpoint file as a saver that only reads.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use superstep_core::checkpoint::{
    Answered, Answers, At, Checkpointer, Commit, Committed, EffectRecord, EffectWrite, GraphDescription,
    Load, Naming, Page, Scan, StoreError, TaskResult, Work,
};
use superstep_core::id::{CheckpointId, NodeName, ThreadId};
use superstep_core::records::Records;
use superstep_core::store::{AccessError, Entry, Namespace, Put, Search, StoreBackend};
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::checkpoint_reader;
use crate::connection::Connection;
use crate::error::{FileError, sqlite};
use crate::file::checkpoint_file::CheckpointFile;
use crate::read::{overview, reader};
use crate::records::SqliteRecords;
use crate::saver::away_from_the_runtime;
use crate::sqlite_reader::SqliteReader;
use crate::store::{self, table};

/// The time after which an unused file is closed: while it is open, the last program that writes to it cannot move its
/// log into it.
const IDLE: Duration = Duration::from_secs(1);

/// Reads the checkpoints of a file, the rows of a server and the items of a store as a saver and a store, for graphs
/// that are only read, such as those that the program `superstep` serves.
///
/// Like a [`SqliteReader`], it writes nothing and migrates nothing, and other programs may write to the file. Every
/// request that would write returns an error. Cheap to clone: clones share the file.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use superstep_checkpoint::ReadOnlySaver;
/// # use superstep_checkpoint::SqliteSaver;
/// use superstep_core::run::AnyGraph;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("essays.db");
/// # drop(SqliteSaver::open(&path).await?);
/// let saver = ReadOnlySaver::open(&path).await?;
/// for description in saver.graphs().await? {
///     let graph = AnyGraph::stored(&description, Arc::new(saver.clone()))?;
///     println!("{}: {} threads", graph.name(), graph.threads().await?.len());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ReadOnlySaver(Arc<Shared>);

struct Shared {
    file: CheckpointFile,
    kept: Arc<Mutex<Kept>>,
    /// The rows of a server, while they are in use.
    records: std::sync::Mutex<Weak<SqliteRecords>>,
}

/// The open file.
struct Kept {
    reader: Option<SqliteReader>,
    last_use: Instant,
    /// `true` while a task waits to close the file.
    is_to_close: bool,
}

impl ReadOnlySaver {
    /// Opens a file for reading. `file` can be a path.
    ///
    /// # Errors
    /// Returns the errors of [`SqliteReader::open`].
    pub async fn open(file: impl Into<CheckpointFile>) -> Result<Self, StoreError> {
        let kept = Kept { reader: None, last_use: Instant::now(), is_to_close: false };
        let kept = Arc::new(Mutex::new(kept));
        let saver = Self(Arc::new(Shared { file: file.into(), kept, records: Default::default() }));
        saver.query(|_| Ok(())).await?;
        Ok(saver)
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.file.path()
    }

    /// Returns the file with its keys and limits, for other readers, such as a [`SqliteReader`].
    #[must_use]
    pub fn checkpoint_file(&self) -> CheckpointFile {
        self.0.file.clone()
    }

    /// Returns the graphs of the threads in the file, by name, as their latest readable checkpoints have them.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub async fn graphs(&self) -> Result<Vec<GraphDescription>, StoreError> {
        self.query(overview::graphs).await
    }

    /// Reads on a blocking thread. Reads wait for each other.
    pub(crate) async fn query<T: Send + 'static>(
        &self,
        read: impl Fn(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let mut kept = Arc::clone(&self.0.kept).lock_owned().await;
        let file = self.0.file.clone();
        if let (false, Ok(runtime)) = (kept.is_to_close, Handle::try_current()) {
            kept.is_to_close = true;
            runtime.spawn(close_when_idle(Arc::downgrade(&self.0.kept)));
        }
        away_from_the_runtime(move || {
            let reader = match kept.reader.take() {
                Some(reader) => reader,
                None => SqliteReader::open(file)?,
            };
            let result = reader.read(read);
            kept.reader = Some(reader);
            kept.last_use = Instant::now();
            result
        })
        .await
    }

    /// Returns the error of a request that would write.
    pub(crate) fn refused(&self) -> StoreError {
        FileError::ReadOnly(self.path().display().to_string()).into()
    }
}

/// Closes the file when it was not used for a while.
async fn close_when_idle(kept: Weak<Mutex<Kept>>) {
    loop {
        tokio::time::sleep(IDLE).await;
        let Some(kept) = kept.upgrade() else { return };
        let mut kept = kept.lock().await;
        if kept.last_use.elapsed() >= IDLE {
            kept.reader = None;
            kept.is_to_close = false;
            return;
        }
    }
}

#[async_trait]
impl Checkpointer for ReadOnlySaver {
    async fn register(&self, _graph: &GraphDescription) -> Result<(), StoreError> {
        Err(self.refused())
    }

    async fn load(&self, thread: &ThreadId, at: At, known: Option<CheckpointId>) -> Result<Load, StoreError> {
        let name = thread.clone();
        self.query(move |connection| reader::load(connection, &name, &at, known)).await
    }

    async fn commit(&self, _commit: Commit) -> Result<Committed, StoreError> {
        Err(self.refused())
    }

    async fn record(
        &self,
        _thread: &ThreadId,
        _base: CheckpointId,
        _work: Work,
    ) -> Result<Option<TaskResult>, StoreError> {
        Err(self.refused())
    }

    async fn effect(
        &self,
        _thread: &ThreadId,
        _base: CheckpointId,
        _write: EffectWrite,
    ) -> Result<Option<EffectRecord>, StoreError> {
        Err(self.refused())
    }

    async fn answer(&self, _answers: Answers) -> Result<Answered, StoreError> {
        Err(self.refused())
    }

    async fn flush(&self, _thread: &ThreadId) -> Result<(), StoreError> {
        Ok(())
    }

    async fn scan(&self, scan: Scan) -> Result<Page, StoreError> {
        self.query(move |connection| checkpoint_reader::scan(connection, &scan)).await
    }

    async fn name(&self, _thread: &ThreadId, _naming: Naming) -> Result<(), StoreError> {
        Err(self.refused())
    }

    async fn fork(&self, _from: &ThreadId, _at: CheckpointId, _to: &ThreadId) -> Result<(), StoreError> {
        Err(self.refused())
    }

    async fn delete(&self, _graph: &NodeName, _thread: &ThreadId) -> Result<(), StoreError> {
        Err(self.refused())
    }

    fn records(&self) -> Option<Arc<dyn Records>> {
        let mut records = self.0.records.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = records.upgrade().unwrap_or_else(|| {
            let made = Arc::new(SqliteRecords::of_reader(self.clone()));
            *records = Arc::downgrade(&made);
            made
        });
        Some(kept)
    }
}

/// The items of the store in the file; none if it has no store.
#[async_trait]
impl StoreBackend for ReadOnlySaver {
    async fn get(&self, namespace: &Namespace, key: &str, now: u64) -> Result<Option<Entry>, AccessError> {
        let (path, key) = (namespace.path(), key.to_owned());
        self.items(move |connection| table::get(connection, &path, &key, now)).await
    }

    async fn put(&self, _put: Put, _now: u64) -> Result<(), AccessError> {
        Err(store::access_error(self.refused()))
    }

    async fn delete(&self, _namespace: &Namespace, _key: &str, _now: u64) -> Result<bool, AccessError> {
        Err(store::access_error(self.refused()))
    }

    async fn search(&self, search: &Search, now: u64) -> Result<Vec<Entry>, AccessError> {
        let search = search.clone();
        self.items(move |connection| table::search(connection, &search, now)).await
    }

    async fn namespaces(&self, under: &Namespace, now: u64) -> Result<Vec<Namespace>, AccessError> {
        let path = under.path();
        self.items(move |connection| table::namespaces(connection, &path, now)).await
    }

    async fn sweep(&self, _now: u64) -> Result<u64, AccessError> {
        Err(store::access_error(self.refused()))
    }
}

impl ReadOnlySaver {
    /// Reads items, if the file has a store.
    async fn items<T: Default + Send + 'static>(
        &self,
        read: impl Fn(&Connection) -> Result<T, AccessError> + Send + 'static,
    ) -> Result<T, AccessError> {
        let read = move |connection: &Connection| match table::is_there(connection).map_err(sqlite)? {
            true => Ok(read(connection)),
            false => Ok(Ok(T::default())),
        };
        self.query(read).await.map_err(store::access_error)?
    }
}

impl fmt::Debug for ReadOnlySaver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadOnlySaver").field("file", &self.0.file).finish_non_exhaustive()
    }
}
