//! The SQLite saver.

pub(crate) mod shared;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use async_trait::async_trait;
use superstep_core::checkpoint::{
    Answered, Answers, At, Checkpointer, Commit, Committed, EffectRecord, EffectWrite, GraphDescription,
    LeaseRecord, LeaseReply, LeaseRequest, Load, Mark, Naming, Page, Record, Scan, StoreError, TaskResult,
    Watch, Work,
};
use superstep_core::id::{CheckpointId, NodeName, ThreadId};
use superstep_core::state::SizeLimits;
use tokio::sync::oneshot;

use crate::background_pruning::BackgroundPruner;
use crate::checkpoint_reader::{self, CheckpointReader, Snapshots};
use crate::connection::Connection;
use crate::durability::Durability;
use crate::error::FileError;
use crate::file::File;
use crate::file::checkpoint_file::CheckpointFile;
use crate::options::SqliteOptions;
use crate::pending::ask;
use crate::pending::drawn::Drawn;
use crate::read::named;
use crate::read::reader::{self, Readers};
use crate::watcher::Watcher;
use crate::write::answers::latest;
use crate::write::queue::{Job, Kind, Outcome, Waiter};
use crate::write::session::{Counted, Sessions};
use crate::write::turn::Turn;
use crate::write::writer::{Ledger, Writer};

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
        let mut open = Open { shared, pruner: None, watcher: Watcher::default(), thread: Some(thread) };
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

    fn limits(&self) -> SizeLimits {
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
    async fn request<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&mut Turn<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.write(Kind::Short, move |turn| work(turn).map(Ok)).await
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

    /// Reads on a blocking thread, after all pending writes are completed.
    async fn query<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let shared = self.shared();
        if shared.writer.queue.is_unsettled() {
            let (job, written) = Job::settle();
            shared.writer.queue.push(job);
            written.await.map_err(|_| FileError::WriterGone)??;
        }
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
async fn away_from_the_runtime<T: Send + 'static>(
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

#[async_trait]
impl Checkpointer for SqliteSaver {
    async fn register(&self, graph: &GraphDescription) -> Result<(), StoreError> {
        let graph = graph.clone();
        self.request(move |turn| turn.cache.register(&graph)).await
    }

    async fn load(&self, thread: &ThreadId, at: At, known: Option<CheckpointId>) -> Result<Load, StoreError> {
        let name = thread.clone();
        self.query(move |connection| reader::load(connection, &name, &at, known)).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        let thread = commit.thread.clone();
        let (checkpoint, recorded, is_last) =
            (Arc::clone(&commit.checkpoint), commit.recorded, commit.is_last);
        let kind = Kind::Commit { thread: thread.clone(), checkpoint, recorded, is_last };
        let committed = self.write(kind, move |turn| turn.commit(&commit)).await;
        self.shared().sessions.end(&thread);
        self.shared().drawn.end(&thread);
        if let (Some(pruner), Ok(Committed::New)) = (self.pruner(), &committed) {
            pruner.committed();
        }
        committed
    }

    async fn record(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        work: Work,
    ) -> Result<Option<TaskResult>, StoreError> {
        let thread = thread.clone();
        match work {
            Work::Finished(result) => {
                result.check(&self.limits())?;
                self.record_result(&thread, base, result).await.map(Some)
            }
            Work::Failure(failure) => {
                failure.check(&self.limits())?;
                self.hand_over(Kind::Short, move |turn| turn.fail(&thread, base, &failure));
                Ok(None)
            }
            Work::Asks(asks) => {
                asks.iter().try_for_each(|ask| ask.check(&self.limits()))?;
                self.request(move |turn| turn.ask(&thread, base, &asks)).await.map(|()| None)
            }
        }
    }

    async fn effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        write: EffectWrite,
    ) -> Result<Option<EffectRecord>, StoreError> {
        let thread = thread.clone();
        match write {
            EffectWrite::Begin(effect) => {
                effect.check(&self.limits())?;
                self.request(move |turn| turn.begin_effect(&thread, base, &effect)).await
            }
            EffectWrite::End { effect, outcome } => {
                outcome.check(&self.limits())?;
                let end =
                    move |turn: &mut Turn<'_>| turn.end_effect(&thread, base, &effect, &outcome).map(Ok);
                self.write(Kind::Outcome, end).await.map(|()| None)
            }
            EffectWrite::Note(effect) => {
                effect.check(&self.limits())?;
                if !self.shared().drawn.counts(&thread, base, self.fence(), &effect) {
                    return Err(StoreError::Superseded { thread, base });
                }
                self.hand_over(Kind::Short, move |turn| turn.note_effect(&thread, base, &effect));
                Ok(None)
            }
        }
    }

    async fn answer(&self, answers: Answers) -> Result<Answered, StoreError> {
        match answers {
            Answers::Given { thread, answers } => {
                answers.iter().try_for_each(|(_, answer)| answer.check(&self.limits()))?;
                let (head, work) = self.request(move |turn| turn.cache.answer(&thread, &answers)).await?;
                Ok(Answered::OnHead { head, work })
            }
            Answers::Overdue { graph, thread, now_ms } => {
                let name = graph.clone();
                // Usually there is none, and then nothing is written.
                let due = move |connection: &Connection| {
                    ask::open(connection, &name, ask::Open::Due(latest(now_ms)))
                };
                if self.query(due).await?.is_empty() {
                    return Ok(Answered::Expired(Vec::new()));
                }
                let expire = move |turn: &mut Turn<'_>| turn.cache.expire(&graph, thread.as_ref(), now_ms);
                self.request(expire).await.map(Answered::Expired)
            }
        }
    }

    async fn flush(&self, thread: &ThreadId) -> Result<(), StoreError> {
        let name = thread.clone();
        self.write(Kind::Flush(thread.clone()), move |turn| turn.flush(&name)).await?;
        // Everything is written: if the superstep continues, it starts from the contents of the file.
        self.shared().sessions.end(thread);
        Ok(())
    }

    async fn scan(&self, scan: Scan) -> Result<Page, StoreError> {
        self.query(move |connection| checkpoint_reader::scan(connection, &scan)).await
    }

    async fn name(&self, thread: &ThreadId, naming: Naming) -> Result<(), StoreError> {
        let thread = thread.clone();
        self.request(move |turn| named::change(&turn.cache.connection, &thread, &naming)).await
    }

    async fn fork(&self, from: &ThreadId, at: CheckpointId, to: &ThreadId) -> Result<(), StoreError> {
        let (from, to) = (from.clone(), to.clone());
        self.request(move |turn| turn.cache.fork(&from, at, &to)).await
    }

    async fn delete(&self, graph: &NodeName, thread: &ThreadId) -> Result<(), StoreError> {
        let (graph, name) = (graph.clone(), thread.clone());
        let deleted = self.write(Kind::Long, move |turn| turn.delete(&graph, &name).map(Ok)).await;
        self.shared().sessions.end_on_or_below(thread);
        self.shared().drawn.end_on_or_below(thread);
        deleted
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseReply, StoreError> {
        self.request(move |turn| turn.lease(&request)).await
    }

    fn fenced(&self, lease: &LeaseRecord) -> Option<Arc<dyn Checkpointer>> {
        Some(Arc::new(Self { open: Arc::clone(&self.open), lease: Some(Arc::new(lease.clone())) }))
    }

    async fn watch(&self, Watch { since, .. }: Watch) -> Result<Mark, StoreError> {
        let answer = self.open.watcher.ask(self.shared(), since)?;
        answer.await.map_err(|_| FileError::WriterGone)?
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
    use superstep_core::checkpoint::CheckpointerExt;
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
