//! The saver.

mod shared;

use std::any::Any;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use async_trait::async_trait;
use superstep_core::checkpoint::{
    Acquired, AskRecord, At, Checkpointer, Claim, Commit, Committed, EffectId, EffectOutcome, EffectRecord,
    FailureRecord, GraphDescription, LeaseRecord, Loaded, NamedCheckpoint, Naming, Record, StepRecord,
    StoreError, Summary, TaskResult, ThreadSummary,
};
use superstep_core::id::{CheckpointId, InterruptId, NodeName, ThreadId};
use superstep_core::state::{Json, SizeLimits};
use tokio::sync::oneshot;

use crate::connection::Connection;
use crate::durability::Durability;
use crate::fault::Trouble;
use crate::file::File;
use crate::file::checkpoint_file::CheckpointFile;
use crate::history::decode::Outline;
use crate::options::SqliteOptions;
use crate::portable::Document;
use crate::read::lineage;
use crate::read::named;
use crate::read::reader::{self, Readers};
use crate::read::steps;
use crate::retain::Retainer;
use crate::work::ask;
use crate::work::drawn::Drawn;
use crate::write::answers::latest;
use crate::write::asking::Asking;
use crate::write::lease;
use crate::write::queue::{Done, Job, Request};
use crate::write::session::{Counted, Sessions};
use crate::write::writer::{Ledger, Writer};

use self::shared::Shared;

/// Keeps checkpoints in an SQLite file.
///
/// Cheap to clone: clones share the file. Several savers, in one program or in several, may use one file at
/// once; of two that continue the same checkpoint one wins and the other is told. When the last clone is
/// dropped, everything handed over is written first.
#[derive(Clone)]
pub struct SqliteSaver {
    open: Arc<Open>,
    /// Set for the holder of a lease.
    lease: Option<Arc<LeaseRecord>>,
}

impl SqliteOptions {
    /// Opens the file at `path`, creating it when there is none.
    ///
    /// # Errors
    /// [`StoreError::NotACheckpointFile`] for a file that is something else, which is left untouched;
    /// [`StoreError::NewerFormat`] for one that a newer version wrote; [`StoreError::Io`] when its folder
    /// does not exist or the file cannot be opened.
    pub async fn open(self, path: impl AsRef<Path>) -> Result<SqliteSaver, StoreError> {
        SqliteSaver::open_with(Some(path.as_ref().to_owned()), self).await
    }
}

struct Open {
    shared: Arc<Shared>,
    /// What takes out older checkpoints, where something is said of them.
    retainer: Option<Retainer>,
    thread: Option<JoinHandle<()>>,
}

impl SqliteSaver {
    /// Opens a file with [`Durability::Power`], creating it when there is none. A path is one; where there are keys for it, it
    /// is encrypted.
    ///
    /// # Errors
    /// Those of [`SqliteOptions::open`].
    pub async fn open(file: impl Into<CheckpointFile>) -> Result<Self, StoreError> {
        let CheckpointFile { path, keys, limits } = file.into();
        Self::open_with(Some(path), SqliteOptions { keys, limits, ..Self::options() }).await
    }

    /// Says first how the file is to be opened.
    #[must_use]
    pub fn options() -> SqliteOptions {
        SqliteOptions::new()
    }

    /// A saver without a file, for tests: the same code on a database in memory.
    ///
    /// # Errors
    /// When the database cannot be made, which takes a lack of memory.
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
            .map_err(Trouble::Spawn)?;
        let shared = opened.await.map_err(|_| Trouble::WriterGone)??;
        let mut open = Open { shared, retainer: None, thread: Some(thread) };
        open.retainer = Retainer::start(&open.shared.file)?;
        Ok(Self { open: Arc::new(open), lease: None })
    }

    /// The file that it keeps checkpoints in, with its keys and limits, for what else reads or cares for it: a
    /// [`SqliteReader`](crate::SqliteReader), [`care`](crate::care). `None` for one in memory.
    #[must_use]
    pub fn checkpoint_file(&self) -> Option<CheckpointFile> {
        let File { path, options: SqliteOptions { keys, limits, .. }, .. } = self.file().clone();
        path.map(|path| CheckpointFile { path, keys, limits })
    }

    /// What takes out older checkpoints.
    pub(crate) fn retainer(&self) -> Option<&Retainer> {
        self.open.retainer.as_ref()
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

    /// Hands a request to the writer and waits for its answer.
    async fn ask_writer(&self, request: Request) -> Result<Done, StoreError> {
        let (reply, answer) = oneshot::channel();
        let job = Job { request, lease: self.lease.clone(), reply: Some(reply) };
        let shared = self.shared();
        match shared.file.options.durability {
            Durability::Power => match &job.request {
                Request::Commit(commit) if shared.writer.queue.pace.is_quick_and_alone(&commit.thread) => {
                    shared.writer.write_here(job);
                }
                _ => shared.writer.queue.push(job),
            },
            // The save syncs, and a deletion or an import reads much: the writer thread is there to wait for that.
            Durability::Exit if matches!(job.request, Request::Flush(_)) => shared.writer.queue.push(job),
            _ if matches!(job.request, Request::Delete(..) | Request::Import(..)) => {
                shared.writer.queue.push(job)
            }
            Durability::Process | Durability::Exit => shared.writer.write_here(job),
        }
        let mut waiting = Asking { queue: &shared.writer.queue, answered: false };
        let answer = answer.await;
        waiting.answered = true;
        answer.map_err(|_| Trouble::WriterGone)?
    }

    /// Stores a document as a thread.
    pub(crate) async fn import(&self, document: Document, name: ThreadId) -> Result<(), StoreError> {
        self.tell_writer(Request::Import(Box::new(document), name)).await
    }

    /// Hands a request to the writer, for which nobody waits.
    fn hand_over(&self, request: Request) {
        self.shared().writer.queue.push(Job { request, lease: self.lease.clone(), reply: None });
    }

    fn fence(&self) -> Option<u64> {
        self.lease.as_ref().map(|lease| lease.fence)
    }

    async fn tell_writer(&self, request: Request) -> Result<(), StoreError> {
        self.ask_writer(request).await.map(drop)
    }

    /// Reads away from the runtime's threads, after everything that was handed over is written.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let shared = self.shared().clone();
        if shared.writer.queue.is_unsettled() {
            let (reply, written) = oneshot::channel();
            shared.writer.queue.push(Job { request: Request::Settle, lease: None, reply: Some(reply) });
            written.await.map_err(|_| Trouble::WriterGone)??;
        }
        away_from_the_runtime(move || shared.read(read)).await
    }

    /// Opens the superstep on `base`, with what is stored of it; `false` when it is over.
    async fn begin_superstep(&self, thread: &ThreadId, base: CheckpointId) -> Result<bool, StoreError> {
        let (shared, thread, fence) = (self.shared().clone(), thread.clone(), self.fence());
        away_from_the_runtime(move || shared.begin_superstep(&thread, base, fence)).await
    }
}

/// Reads on a thread that may wait for the disk.
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
        self.retainer = None;
        // The writer goes last: whoever closes the file last moves the log into it.
        self.shared.readers.close();
        self.shared.writer.queue.close();
        if let Some(thread) = self.thread.take() {
            // It ends when everything is written. It has panicked only if SQLite did.
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
        self.tell_writer(Request::Register(graph.clone())).await
    }

    async fn load(&self, thread: &ThreadId, at: At) -> Result<Option<Loaded>, StoreError> {
        let name = thread.clone();
        self.read(move |connection| reader::load(connection, &name, &at)).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        let thread = commit.thread.clone();
        let done = self.ask_writer(Request::Commit(Box::new(commit))).await;
        self.shared().sessions.end(&thread);
        self.shared().drawn.end(&thread);
        let Done::Committed(committed) = done? else { return Err(Trouble::WriterGone.into()) };
        if let (Some(retainer), Committed::New) = (self.retainer(), &committed) {
            retainer.committed();
        }
        Ok(committed)
    }

    async fn record(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        result: TaskResult,
    ) -> Result<TaskResult, StoreError> {
        result.check(&self.limits())?;
        let shared = self.shared();
        loop {
            match shared.sessions.count(thread, base, self.fence(), &result) {
                Some(Counted::Earlier(earlier)) => return Ok(earlier),
                Some(Counted::Store(counts)) => {
                    self.hand_over(Request::Record(thread.clone(), base, counts.clone()));
                    return Ok(counts);
                }
                None if self.begin_superstep(thread, base).await? => {}
                // The superstep is over: the commit that follows will say so.
                None => return Ok(result),
            }
        }
    }

    async fn fail(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        failure: FailureRecord,
    ) -> Result<(), StoreError> {
        failure.check(&self.limits())?;
        self.hand_over(Request::Fail(thread.clone(), base, failure));
        Ok(())
    }

    async fn ask(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        asks: Vec<AskRecord>,
    ) -> Result<(), StoreError> {
        asks.iter().try_for_each(|ask| ask.check(&self.limits()))?;
        self.tell_writer(Request::Ask(thread.clone(), base, asks)).await
    }

    async fn answer(&self, thread: &ThreadId, answers: Vec<(InterruptId, Json)>) -> Result<(), StoreError> {
        answers.iter().try_for_each(|(_, answer)| answer.check(&self.limits()))?;
        self.tell_writer(Request::Answer(thread.clone(), answers)).await
    }

    async fn expire(
        &self,
        graph: &NodeName,
        thread: Option<&ThreadId>,
        now_ms: u64,
    ) -> Result<Vec<(ThreadId, AskRecord)>, StoreError> {
        let name = graph.clone();
        // Nearly always there is none, and then nothing is written.
        let due =
            self.read(move |connection| ask::open(connection, &name, ask::Open::Due(latest(now_ms)))).await?;
        if due.is_empty() {
            return Ok(Vec::new());
        }
        match self.ask_writer(Request::Expire(graph.clone(), thread.cloned(), now_ms)).await? {
            Done::Expired(expired) => Ok(expired),
            _ => Err(Trouble::WriterGone.into()),
        }
    }

    async fn begin_effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: EffectRecord,
    ) -> Result<Option<EffectRecord>, StoreError> {
        effect.check(&self.limits())?;
        match self.ask_writer(Request::BeginEffect(thread.clone(), base, effect)).await? {
            Done::Begun(held) => Ok(held.map(|held| *held)),
            _ => Err(Trouble::WriterGone.into()),
        }
    }

    async fn end_effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: &EffectId,
        outcome: EffectOutcome,
    ) -> Result<(), StoreError> {
        outcome.check(&self.limits())?;
        self.tell_writer(Request::EndEffect(thread.clone(), base, effect.clone(), outcome)).await
    }

    async fn note_effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: EffectRecord,
    ) -> Result<(), StoreError> {
        effect.check(&self.limits())?;
        if !self.shared().drawn.counts(thread, base, self.fence(), &effect) {
            return Err(StoreError::Superseded { thread: thread.clone(), base });
        }
        self.hand_over(Request::NoteEffect(thread.clone(), base, effect));
        Ok(())
    }

    async fn flush(&self, thread: &ThreadId) -> Result<(), StoreError> {
        self.tell_writer(Request::Flush(thread.clone())).await?;
        // Everything is written: should the superstep go on, it begins with what is in the file.
        self.shared().sessions.end(thread);
        Ok(())
    }

    async fn history(&self, thread: &ThreadId, from: At, limit: usize) -> Result<Vec<Summary>, StoreError> {
        let name = thread.clone();
        self.read(move |connection| reader::history(connection, &name, &from, limit)).await
    }

    async fn lineage(&self, thread: &ThreadId) -> Result<Vec<Summary>, StoreError> {
        let name = thread.clone();
        self.read(move |connection| lineage::lineage(connection, &name)).await
    }

    async fn steps(&self, thread: &ThreadId, from: At, limit: usize) -> Result<Vec<StepRecord>, StoreError> {
        let name = thread.clone();
        self.read(move |connection| steps::steps(connection, &name, &from, limit)).await
    }

    async fn name(&self, thread: &ThreadId, naming: Naming) -> Result<(), StoreError> {
        self.tell_writer(Request::Name(thread.clone(), naming)).await
    }

    async fn names(&self, thread: &ThreadId) -> Result<Vec<NamedCheckpoint>, StoreError> {
        let name = thread.clone();
        self.read(move |connection| named::names(connection, &name)).await
    }

    async fn fork(&self, from: &ThreadId, at: CheckpointId, to: &ThreadId) -> Result<(), StoreError> {
        self.tell_writer(Request::Fork(from.clone(), at, to.clone())).await
    }

    async fn delete(&self, graph: &NodeName, thread: &ThreadId) -> Result<(), StoreError> {
        let deleted = self.tell_writer(Request::Delete(graph.clone(), thread.clone())).await;
        self.shared().sessions.end_on_or_below(thread);
        self.shared().drawn.end_on_or_below(thread);
        deleted
    }

    async fn threads(&self) -> Result<Vec<ThreadSummary>, StoreError> {
        self.read(|connection| reader::threads(connection, |_| true, |_| true)).await
    }

    async fn unfinished(&self, graph: &NodeName) -> Result<Vec<ThreadSummary>, StoreError> {
        let graph = graph.clone();
        self.read(move |connection| reader::threads(connection, |of| of == graph.as_str(), Outline::leads_on))
            .await
    }

    async fn open_asks(&self, graph: &NodeName) -> Result<Vec<(ThreadId, AskRecord)>, StoreError> {
        let graph = graph.clone();
        self.read(move |connection| reader::open_asks(connection, &graph)).await
    }

    async fn acquire(&self, claim: Claim) -> Result<Acquired, StoreError> {
        match self.ask_writer(Request::Acquire(claim)).await? {
            Done::Acquired(acquired) => Ok(acquired),
            _ => Err(Trouble::WriterGone.into()),
        }
    }

    async fn renew(&self, lease: &LeaseRecord) -> Result<LeaseRecord, StoreError> {
        match self.ask_writer(Request::Renew(lease.clone())).await? {
            Done::Lease(Some(lease)) => Ok(lease),
            _ => Err(Trouble::WriterGone.into()),
        }
    }

    async fn release(&self, lease: &LeaseRecord) -> Result<(), StoreError> {
        self.tell_writer(Request::Release(lease.clone())).await
    }

    async fn break_lease(&self, thread: &ThreadId) -> Result<Option<LeaseRecord>, StoreError> {
        match self.ask_writer(Request::BreakLease(thread.clone())).await? {
            Done::Lease(broken) => Ok(broken),
            _ => Err(Trouble::WriterGone.into()),
        }
    }

    async fn leases(&self) -> Result<Vec<LeaseRecord>, StoreError> {
        self.read(lease::all).await
    }

    fn fenced(&self, lease: &LeaseRecord) -> Option<Arc<dyn Checkpointer>> {
        Some(Arc::new(Self { open: Arc::clone(&self.open), lease: Some(Arc::new(lease.clone())) }))
    }

    fn path(&self) -> Option<&Path> {
        self.file().path.as_deref()
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use superstep_core::id::Fingerprint;
    use superstep_core::state::Schema;

    use super::*;

    /// A failure closed the connection, and with it the database: the next call got a new one that was empty,
    /// as if nothing had ever been stored.
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
        let lost = "the store failed: an earlier failure has lost the database in memory";
        assert_eq!(saver.register(&describe(1)).await.expect_err("it is gone").to_string(), lost);
        assert_eq!(saver.threads().await.expect_err("it is gone").to_string(), lost);
        assert_eq!(saver.flush(&"t".into()).await.expect_err("it is gone").to_string(), lost);
    }
}
