//! A checkpoint file that is open while it is read.

use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use superstep_core::checkpoint::{At, GraphDescription, Load, Page, Scan, StoreError};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::records::Records;
use superstep_core::store::{AccessError, Entry, Namespace, Search};
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::error::{ReaderError, access_error};
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::file::checkpoint_file::CheckpointFile;
use crate::sqlite::read::{overview, reader};
use crate::sqlite::records::SqliteRecords;
use crate::sqlite::saver::away_from_the_runtime;
use crate::sqlite::snapshots;
use crate::sqlite::sqlite_reader::SqliteReader;
use crate::sqlite::store::table;

/// The time after which an unused file is closed: while it is open, the last program that writes to it cannot move its
/// log into it.
const IDLE: Duration = Duration::from_secs(1);

/// A file that is read. Clones share it.
#[derive(Clone)]
pub(crate) struct ReadFile(Arc<Shared>);

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

impl ReadFile {
    pub(crate) async fn open(file: CheckpointFile) -> Result<Self, StoreError> {
        let kept = Kept { reader: None, last_use: Instant::now(), is_to_close: false };
        let kept = Arc::new(Mutex::new(kept));
        let file = Self(Arc::new(Shared { file, kept, records: Default::default() }));
        file.query(|_| Ok(())).await?;
        Ok(file)
    }

    pub(crate) fn file(&self) -> &CheckpointFile {
        &self.0.file
    }

    pub(crate) async fn graphs(&self) -> Result<Vec<GraphDescription>, StoreError> {
        self.query(overview::graphs).await
    }

    pub(crate) async fn load(
        &self,
        thread: &ThreadId,
        at: At,
        known: Option<CheckpointId>,
    ) -> Result<Load, StoreError> {
        let name = thread.clone();
        self.query(move |connection| reader::load(connection, &name, &at, known)).await
    }

    pub(crate) async fn scan(&self, scan: Scan) -> Result<Page, StoreError> {
        self.query(move |connection| snapshots::scan(connection, &scan)).await
    }

    pub(crate) async fn get(
        &self,
        namespace: &Namespace,
        key: &str,
        now: u64,
    ) -> Result<Option<Entry>, AccessError> {
        let (path, key) = (namespace.path(), key.to_owned());
        self.items(move |connection| table::get(connection, &path, &key, now)).await
    }

    pub(crate) async fn search(&self, search: &Search, now: u64) -> Result<Vec<Entry>, AccessError> {
        let search = search.clone();
        self.items(move |connection| table::search(connection, &search, now)).await
    }

    pub(crate) async fn namespaces(
        &self,
        under: &Namespace,
        now: u64,
    ) -> Result<Vec<Namespace>, AccessError> {
        let path = under.path();
        self.items(move |connection| table::namespaces(connection, &path, now)).await
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

    /// Reads items, if the file has a store.
    async fn items<T: Default + Send + 'static>(
        &self,
        read: impl Fn(&Connection) -> Result<T, AccessError> + Send + 'static,
    ) -> Result<T, AccessError> {
        let read = move |connection: &Connection| match table::is_there(connection).map_err(sqlite)? {
            true => Ok(read(connection)),
            false => Ok(Ok(T::default())),
        };
        self.query(read).await.map_err(access_error)?
    }

    pub(crate) fn records(&self) -> Arc<dyn Records> {
        let mut records = self.0.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.upgrade().unwrap_or_else(|| {
            let made = Arc::new(SqliteRecords::of_reader(self.clone()));
            *records = Arc::downgrade(&made);
            made
        })
    }

    /// Returns the error of a request that would write.
    pub(crate) fn refused(&self) -> StoreError {
        ReaderError::ReadOnly(self.0.file.path().display().to_string()).into()
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
