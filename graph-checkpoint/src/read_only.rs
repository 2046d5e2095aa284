//! A checkpoint file or a database as a saver that only reads.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use superstep_core::checkpoint::{
    Answered, Answers, At, Checkpointer, Commit, Committed, EffectRecord, EffectWrite, GraphDescription,
    Load, Naming, Page, Scan, StoreError, TaskResult, Work,
};
use superstep_core::id::{CheckpointId, NodeName, ThreadId};
use superstep_core::records::Records;
use superstep_core::store::{AccessError, Entry, Namespace, Put, Search, StoreBackend};

use crate::error::access_error;
#[cfg(feature = "postgres")]
use crate::postgres::ReadDatabase;
#[cfg(feature = "sqlite")]
use crate::sqlite::{CheckpointFile, ReadFile};

/// Reads the checkpoints of a file or a database, the rows of a server and the items of a store as a saver and a store,
/// for graphs that are only read, such as those that the program `superstep` serves.
///
/// Like a [`SqliteReader`](crate::SqliteReader), it writes nothing and migrates nothing, and other programs may write to the
/// file or the database. Every request that would write returns an error. Cheap to clone: clones share the file.
#[cfg_attr(
    feature = "postgres",
    doc = "[`PostgresOptions::open_read_only`](crate::PostgresOptions::open_read_only) opens a database."
)]
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
pub struct ReadOnlySaver(Source);

#[derive(Clone)]
enum Source {
    #[cfg(feature = "sqlite")]
    File(ReadFile),
    #[cfg(feature = "postgres")]
    Database(ReadDatabase),
}

#[cfg(feature = "postgres")]
impl From<ReadDatabase> for ReadOnlySaver {
    fn from(database: ReadDatabase) -> Self {
        Self(Source::Database(database))
    }
}

impl ReadOnlySaver {
    /// Opens a file for reading. `file` can be a path.
    ///
    /// # Errors
    /// Returns the errors of [`SqliteReader::open`](crate::SqliteReader::open).
    #[cfg(feature = "sqlite")]
    pub async fn open(file: impl Into<CheckpointFile>) -> Result<Self, StoreError> {
        ReadFile::open(file.into()).await.map(|file| Self(Source::File(file)))
    }

    /// Returns the file with its keys and limits, for other readers, such as a [`SqliteReader`](crate::SqliteReader); `None`
    /// for a database.
    #[cfg(feature = "sqlite")]
    #[must_use]
    pub fn checkpoint_file(&self) -> Option<CheckpointFile> {
        match &self.0 {
            #[cfg(feature = "sqlite")]
            Source::File(file) => Some(file.file().clone()),
            #[cfg(feature = "postgres")]
            Source::Database(_) => None,
        }
    }

    /// Returns the graphs of the threads, by name, as their latest readable checkpoints have them.
    ///
    /// # Errors
    /// Returns an error if the file or the database cannot be read.
    pub async fn graphs(&self) -> Result<Vec<GraphDescription>, StoreError> {
        match &self.0 {
            #[cfg(feature = "sqlite")]
            Source::File(file) => file.graphs().await,
            #[cfg(feature = "postgres")]
            Source::Database(database) => database.graphs().await,
        }
    }

    /// Returns the error of a request that would write.
    fn refused(&self) -> StoreError {
        match &self.0 {
            #[cfg(feature = "sqlite")]
            Source::File(file) => file.refused(),
            #[cfg(feature = "postgres")]
            Source::Database(database) => database.refused(),
        }
    }
}

#[async_trait]
impl Checkpointer for ReadOnlySaver {
    async fn register(&self, _graph: &GraphDescription) -> Result<(), StoreError> {
        Err(self.refused())
    }

    async fn load(&self, thread: &ThreadId, at: At, known: Option<CheckpointId>) -> Result<Load, StoreError> {
        match &self.0 {
            #[cfg(feature = "sqlite")]
            Source::File(file) => file.load(thread, at, known).await,
            #[cfg(feature = "postgres")]
            Source::Database(database) => database.saver.load(thread, at, known).await,
        }
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
        match &self.0 {
            #[cfg(feature = "sqlite")]
            Source::File(file) => file.scan(scan).await,
            #[cfg(feature = "postgres")]
            Source::Database(database) => database.saver.scan(scan).await,
        }
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
        Some(match &self.0 {
            #[cfg(feature = "sqlite")]
            Source::File(file) => file.records(),
            #[cfg(feature = "postgres")]
            Source::Database(database) => database.records.clone(),
        })
    }
}

/// The items of the store; none for a file without one.
#[async_trait]
impl StoreBackend for ReadOnlySaver {
    async fn get(&self, namespace: &Namespace, key: &str, now: u64) -> Result<Option<Entry>, AccessError> {
        match &self.0 {
            #[cfg(feature = "sqlite")]
            Source::File(file) => file.get(namespace, key, now).await,
            #[cfg(feature = "postgres")]
            Source::Database(database) => database.store.get(namespace, key, now).await,
        }
    }

    async fn put(&self, _put: Put, _now: u64) -> Result<(), AccessError> {
        Err(access_error(self.refused()))
    }

    async fn delete(&self, _namespace: &Namespace, _key: &str, _now: u64) -> Result<bool, AccessError> {
        Err(access_error(self.refused()))
    }

    async fn search(&self, search: &Search, now: u64) -> Result<Vec<Entry>, AccessError> {
        match &self.0 {
            #[cfg(feature = "sqlite")]
            Source::File(file) => file.search(search, now).await,
            #[cfg(feature = "postgres")]
            Source::Database(database) => database.store.search(search, now).await,
        }
    }

    async fn namespaces(&self, under: &Namespace, now: u64) -> Result<Vec<Namespace>, AccessError> {
        match &self.0 {
            #[cfg(feature = "sqlite")]
            Source::File(file) => file.namespaces(under, now).await,
            #[cfg(feature = "postgres")]
            Source::Database(database) => database.store.namespaces(under, now).await,
        }
    }

    async fn sweep(&self, _now: u64) -> Result<u64, AccessError> {
        Err(access_error(self.refused()))
    }
}

impl fmt::Debug for ReadOnlySaver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ReadOnlySaver");
        match &self.0 {
            #[cfg(feature = "sqlite")]
            Source::File(file) => shown.field("file", file.file()),
            #[cfg(feature = "postgres")]
            Source::Database(database) => shown.field("database", &database.saver),
        };
        shown.finish_non_exhaustive()
    }
}
