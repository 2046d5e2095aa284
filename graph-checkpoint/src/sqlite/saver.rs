//! The SQLite saver.

mod checkpointer;
pub(crate) mod shared;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};

use superstep_core::checkpoint::{LeaseRecord, StoreError, TaskResult};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::state::SizeLimits;
use tokio::sync::oneshot;

use crate::checkpoint_reader::CheckpointReader;
use crate::durability::Durability;
use crate::sqlite::background_pruning::BackgroundPruner;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::FileError;
use crate::sqlite::file::File;
use crate::sqlite::file::checkpoint_file::CheckpointFile;
use crate::sqlite::options::SqliteOptions;
use crate::sqlite::pending::drawn::Drawn;
use crate::sqlite::read::reader::Readers;
use crate::sqlite::records::SqliteRecords;
use crate::sqlite::snapshots::Snapshots;
use crate::sqlite::watcher::Watcher;
use crate::sqlite::write::queue::{Job, Kind, Outcome, Waiter};
use crate::sqlite::write::session::{Counted, Sessions};
use crate::sqlite::write::turn::Turn;
use crate::sqlite::write::writer::{Ledger, Writer};

use self::shared::Shared;

/// Stores checkpoints in an SQLite file.
///
/// Cheap to clone: clones share the file. Several savers, in one program or in several, may use one file at once; if
/// two of them continue the same checkpoint, one wins and the other receives a conflict. When the last clone is
/// dropped, all pending writes are completed first.
#[derive(Clone)]
pub struct SqliteSaver {
    open: Arc<Open>,
    /// Set for the holder of a lease.
    lease: Option<Arc<LeaseRecord>>,
}

impl SqliteOptions {
    /// Opens the file at `path`, and creates it if it does not exist.
    ///
    /// # Errors
    /// Returns [`StoreError::NotACheckpointFile`] for another kind of file, which is left unchanged;
    /// [`StoreError::NewerFormat`] for a file that a newer version wrote; [`StoreError::Io`] if the folder does not
    /// exist or the file cannot be opened.
    pub async fn open(self, path: impl AsRef<Path>) -> Result<SqliteSaver, StoreError> {
        SqliteSaver::open_with(Some(path.as_ref().to_owned()), self).await
    }
}

struct Open {
    shared: Arc<Shared>,
    /// The background pruning of older checkpoints, if the options ask for it.
    pruner: Option<BackgroundPruner>,
    watcher: Watcher,
    thread: Option<JoinHandle<()>>,
    /// The rows of a server, while they are in use.
    records: Mutex<Weak<SqliteRecords>>,
}

impl SqliteSaver {
    /// Opens a file with [`Durability::Power`], and creates it if it does not exist. `file` can be a path. If it has
    /// keys, the file is encrypted.
    ///
    /// # Errors
    /// Returns the errors of [`SqliteOptions::open`].
    pub async fn open(file: impl Into<CheckpointFile>) -> Result<Self, StoreError> {
        let CheckpointFile { path, keys, limits } = file.into();
        Self::open_with(Some(path), SqliteOptions { keys, limits, ..Self::options() }).await
    }

    /// Returns options for opening a file.
    #[must_use]
    pub fn options() -> SqliteOptions {
        SqliteOptions::new()
    }

    /// Creates a saver without a file, for tests: the same code on a database in memory.
    ///
    /// # Errors
    /// Returns an error if the database cannot be created, for example because memory is exhausted.
    pub async fn in_memory() -> Result<Self, StoreError> {
        Self::open_with(None, Self::options().durability(Durability::Process)).await
    }

    pub(crate) async fn open_with(path: Option<PathBuf>, options: SqliteOptions) -> Result<Self, StoreError> {
        let file = File::new(path, options);
        let (told, opened) = oneshot::channel();
        // The file is opened on the thread that will write to it, so that no runtime waits for the disk.
        let thread = thread::Builder::new()
            .name("superstep-sqlite".into())
            .spawn(move || {
                let shared = Ledger::open(file.clone()).map(|ledger| {
                    Arc::new(Shared {
                        file,
                        writer: Writer::new(ledger),
                        readers: Readers::new(),
                        sessions: Sessions::default(),
                        drawn: Drawn::default(),
                    })
                });
                let serving = shared.as_ref().ok().cloned();
                let wanted = told.send(shared).is_ok();
                if let Some(shared) = serving.filter(|_| wanted) {
                    shared.writer.serve();
                }
            })
            .map_err(FileError::Spawn)?;
        let shared = opened.await.map_err(|_| FileError::WriterGone)??;
        let mut open = Open {
            shared,
            pruner: None,
            watcher: Watcher::default(),
            thread: Some(thread),
            records: Mutex::default(),
        };
        open.pruner = BackgroundPruner::start(&open.shared.file)?;
        Ok(Self { open: Arc::new(open), lease: None })
    }

    /// Returns the file in which checkpoints are stored, with its keys and limits, for other readers or maintenance: a
    /// [`SqliteReader`](crate::SqliteReader), [`maintenance`](crate::maintenance). `None` for a database in memory.
    #[must_use]
    pub fn checkpoint_file(&self) -> Option<CheckpointFile> {
        let File { path, options: SqliteOptions { keys, limits, .. }, .. } = self.file().clone();
        path.map(|path| CheckpointFile { path, keys, limits })
    }

    /// Returns the path of the file; `None` for a database in memory.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.file().path.as_deref()
    }

    /// Returns a reader of the saver's checkpoints, for tools, that does not open the file a second time. It sees data
    /// that is already written: a result may be missing for a moment after it was recorded.
    #[must_use]
    pub fn reader(&self) -> Box<dyn CheckpointReader> {
        Box::new(Reader(self.clone()))
    }

    /// Returns the background pruning of older checkpoints, if there is one.
    pub(crate) fn pruner(&self) -> Option<&BackgroundPruner> {
        self.open.pruner.as_ref()
    }

    /// Returns the rows of a server, the same for all clones.
    pub(crate) fn rows(&self) -> Arc<SqliteRecords> {
        let mut records = self.open.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.upgrade().unwrap_or_else(|| {
            let saver = Self { open: Arc::clone(&self.open), lease: None };
            let made = Arc::new(SqliteRecords::new(saver));
            *records = Arc::downgrade(&made);
            made
        })
    }

    pub(crate) fn limits(&self) -> SizeLimits {
        self.file().options.limits
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.open.shared
    }

    pub(crate) fn file(&self) -> &File {
        &self.shared().file
    }

    /// Sends work to the writer and waits for its reply.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        kind: Kind,
        work: impl FnMut(&mut Turn<'_>) -> Outcome<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let writer = &self.shared().writer;
        let is_done_here = match (self.file().options.durability, &kind) {
            (Durability::Power, Kind::Commit { thread, .. }) => {
                writer.queue.timing.is_quick_and_alone(thread)
            }
            // The sync of a flush, and requests that read much, would block the runtime.
            (Durability::Power, _) | (_, Kind::Long) => false,
            (Durability::Exit, Kind::Flush(_) | Kind::Commit { is_last: true, .. }) => false,
            (Durability::Process | Durability::Exit, _) => true,
        };
        let (job, answer) = Job::waited_for(kind, self.lease.clone(), work);
        if is_done_here {
            writer.write_here(job)
        } else {
            writer.queue.push(job)
        }
        let mut waiting = Waiter { queue: &writer.queue, answered: false };
        let answer = answer.await;
        waiting.answered = true;
        answer.map_err(|_| FileError::WriterGone)?
    }

    /// Sends work to the writer, like [`write`](Self::write). Any error of the work may end the transaction.
    pub(crate) async fn request<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&mut Turn<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.write(Kind::Short, move |turn| work(turn).map(Ok)).await
    }

    /// Sends work like [`request`](Self::request) that a power failure may undo; see [`Kind::Unsynced`].
    pub(crate) async fn request_unsynced<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&mut Turn<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.write(Kind::Unsynced, move |turn| work(turn).map(Ok)).await
    }

    /// Sends work to the writer without waiting for it.
    fn hand_over(
        &self,
        kind: Kind,
        work: impl FnMut(&mut Turn<'_>) -> Result<(), StoreError> + Send + 'static,
    ) {
        self.shared().writer.queue.push(Job::handed_over(kind, self.lease.clone(), work));
    }

    fn fence(&self) -> Option<u64> {
        self.lease.as_ref().map(|lease| lease.fence)
    }

    /// Reads on a blocking thread, after all pending writes of this thread are completed; of all threads if `thread` is
    /// `None`.
    pub(crate) async fn query<T: Send + 'static>(
        &self,
        thread: Option<&ThreadId>,
        read: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let shared = self.shared();
        if shared.writer.queue.is_unsettled_on(thread) {
            let (job, written) = Job::settle();
            shared.writer.queue.push(job);
            written.await.map_err(|_| FileError::WriterGone)??;
        }
        self.query_stored(read).await
    }

    /// Reads on a blocking thread. Writes whose callers do not wait for them may be missing.
    pub(crate) async fn query_stored<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let shared = self.shared();
        let _place = shared.readers.places.acquire().await.map_err(|_| FileError::WriterGone)?;
        let shared = Arc::clone(shared);
        away_from_the_runtime(move || shared.read(read)).await
    }

    /// Records a result and returns the one that counts, without waiting: the first one that this saver or the file
    /// has.
    async fn record_result(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        result: TaskResult,
    ) -> Result<TaskResult, StoreError> {
        let sessions = &self.shared().sessions;
        loop {
            match sessions.count(thread, base, self.fence(), &result) {
                Some(Counted::Earlier(earlier)) => return Ok(Arc::unwrap_or_clone(earlier)),
                Some(Counted::Store(counts)) => {
                    let result = Arc::clone(&counts);
                    let job = Job::result(thread.clone(), base, result, self.lease.clone());
                    self.shared().writer.queue.push(job);
                    return Ok(Arc::unwrap_or_clone(counts));
                }
                None if self.begin_superstep(thread, base).await? => {}
                // The superstep has ended: the next commit reports it.
                None => return Ok(result),
            }
        }
    }

    /// Opens the superstep on `base` with its stored results; returns `false` if the superstep has ended.
    async fn begin_superstep(&self, thread: &ThreadId, base: CheckpointId) -> Result<bool, StoreError> {
        let (shared, thread, fence) = (self.shared().clone(), thread.clone(), self.fence());
        away_from_the_runtime(move || shared.begin_superstep(&thread, base, fence)).await
    }
}

/// Reads on a blocking thread.
pub(crate) async fn away_from_the_runtime<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => {
            let reading = runtime.spawn_blocking(read);
            reading.await.map_err(|error| StoreError::Io(Box::new(error)))?
        }
        Err(_) => read(),
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.pruner = None;
        self.watcher.close();
        // The writer closes last, because the last connection moves the log into the file.
        self.shared.readers.close();
        self.shared.writer.queue.close();
        if let Some(thread) = self.thread.take() {
            // The thread ends when everything is written. It can only have panicked if SQLite did.
            let _ended = thread.join();
        }
    }
}

impl fmt::Debug for SqliteSaver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = &self.shared().file;
        f.debug_struct("SqliteSaver")
            .field("path", &file.path)
            .field("durability", &file.options.durability)
            .finish_non_exhaustive()
    }
}

/// A reader that reads through a saver.
struct Reader(SqliteSaver);

impl Snapshots for Reader {
    fn read<T>(&self, read: impl Fn(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.0.shared().read(read)
    }
}

#[cfg(test)]
mod tests {
    use superstep_core::checkpoint::{Checkpointer, CheckpointerExt, GraphDescription};
    use superstep_core::id::Fingerprint;
    use superstep_core::state::{Json, Schema};

    use super::*;

    /// A failure closed the connection, and with it the database: the next call got a new, empty one.
    #[tokio::test]
    async fn a_database_in_memory_that_failed_stays_failed() {
        let options = SqliteSaver::options().durability(Durability::Process).max_pages(60);
        let saver = SqliteSaver::open_with(None, options).await.expect("there is memory");
        let describe = |length: usize| GraphDescription {
            name: "graph".into(),
            schema: Schema { name: "S".into(), ..Schema::default() },
            topology: Json::encode(&"x".repeat(length)).expect("a text"),
            topology_fingerprint: Fingerprint::from_bytes([u8::from(length > 9); 16]),
        };
        saver.register(&describe(1)).await.expect("it fits");
        let full = saver.register(&describe(1 << 20)).await.expect_err("it is full");
        assert_eq!(full.to_string(), "the store failed: database or disk is full");
        let lost = "the store failed: an earlier failure lost the in-memory database";
        assert_eq!(saver.register(&describe(1)).await.expect_err("it is gone").to_string(), lost);
        assert_eq!(saver.threads().await.expect_err("it is gone").to_string(), lost);
        assert_eq!(saver.flush(&"t".into()).await.expect_err("it is gone").to_string(), lost);
    }
}
