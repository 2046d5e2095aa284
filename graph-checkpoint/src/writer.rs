//! Who writes: one connection, and whoever holds it commits for all who wait.
//!
//! ```text
//! callers ──push──► queue ──drain──► BEGIN IMMEDIATE, every request, COMMIT ──► answers
//!                     │                 ▲
//!                     └── writer thread ┘   or, when nothing needs a sync, the caller itself
//! ```
//!
//! A request is answered after the commit. A request that is refused (a lost race, a wrong graph, a damaged
//! row) has written nothing, so its neighbours in the transaction are unharmed; a failure of the file fails
//! them all, and the connection is opened anew before it is used again. Whether a failed commit did land is
//! settled by reading.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};

use superstep_core::checkpoint::{
    AskRecord, Commit, Committed, EffectId, EffectOutcome, EffectRecord, GraphDescription, StoreError,
    TaskResult,
};
use superstep_core::id::{CheckpointId, InterruptId, ThreadId};
use superstep_core::state::Json;
use tokio::sync::oneshot;

use crate::commit::Live;
use crate::durability::Durability;
use crate::fault::{Trouble, corrupt, is_busy, sqlite};
use crate::file::{File, Patience};
use crate::options::Stage;
use crate::rows::CheckpointRow;
use crate::work;

/// What the writer is asked to do.
#[derive(Debug)]
pub(crate) enum Request {
    Register(GraphDescription),
    Commit(Box<Commit>),
    Record(ThreadId, CheckpointId, TaskResult),
    Ask(ThreadId, CheckpointId, Vec<AskRecord>),
    Answer(ThreadId, Vec<(InterruptId, Json)>),
    BeginEffect(ThreadId, CheckpointId, EffectRecord),
    EndEffect(ThreadId, CheckpointId, EffectId, EffectOutcome),
    Fork(ThreadId, CheckpointId, ThreadId),
    /// Make everything on the thread as durable as was promised, and say what went wrong.
    Flush(ThreadId),
    /// Write what is waiting; nothing else.
    Settle,
}

/// What came of a request.
#[derive(Debug)]
pub(crate) enum Done {
    Nothing,
    Committed(Committed),
}

pub(crate) type Answer = Result<Done, StoreError>;

/// A request with who waits for it; nobody waits for records and ends of effects.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) request: Request,
    pub(crate) reply: Option<oneshot::Sender<Answer>>,
}

/// What waits to be written.
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    wake: Condvar,
}

#[derive(Default)]
struct Waiting {
    jobs: Vec<Job>,
    /// Jobs nobody waits for that are not yet committed.
    unsettled: usize,
    closed: bool,
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self { waiting: Mutex::default(), wake: Condvar::new() }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, job: Job) {
        let mut waiting = self.waiting();
        if job.reply.is_none() {
            waiting.unsettled += 1;
        }
        waiting.jobs.push(job);
        drop(waiting);
        self.wake.notify_one();
    }

    /// Whether something nobody waits for is not yet committed.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.waiting().unsettled > 0
    }

    pub(crate) fn close(&self) {
        self.waiting().closed = true;
        self.wake.notify_one();
    }

    fn take(&self) -> Vec<Job> {
        core::mem::take(&mut self.waiting().jobs)
    }

    /// Puts back what must not be lost, before anything newer.
    fn put_back(&self, mut jobs: Vec<Job>) {
        let mut waiting = self.waiting();
        jobs.append(&mut waiting.jobs);
        waiting.jobs = jobs;
    }

    fn settled(&self, count: usize) {
        if count > 0 {
            self.waiting().unsettled -= count;
        }
    }

    /// Waits for work; `false` when there is none and there will be none.
    ///
    /// A run that is told of its commit asks for the next one a few microseconds later, and waking a sleeping
    /// thread takes longer than that: so it lingers a little first.
    fn wait(&self) -> bool {
        for _ in 0..LINGER {
            if !self.waiting().jobs.is_empty() {
                return true;
            }
            std::thread::yield_now();
        }
        let waiting = self.waiting();
        let waiting = self
            .wake
            .wait_while(waiting, |waiting| waiting.jobs.is_empty() && !waiting.closed)
            .unwrap_or_else(PoisonError::into_inner);
        !waiting.jobs.is_empty()
    }
}

/// How often the writer looks for more work before it sleeps: a few dozen microseconds in all.
const LINGER: u32 = 64;

/// The writing end of a file.
pub(crate) struct Ledger {
    file: File,
    live: Option<Live>,
    /// What went wrong on a thread with something nobody waited for; its next caller is told.
    faults: HashMap<ThreadId, StoreError>,
}

/// How long to wait for another program's write lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// Not at all: the caller must not be held up.
    Never,
    /// As long as the options say.
    ToTheLimit,
}

/// Why a batch was not written.
enum Failed {
    /// Another program holds the write lock, and the caller cannot wait.
    Busy,
    /// The file failed: before the commit, or during it.
    Before(StoreError),
    During(StoreError),
}

impl Ledger {
    pub(crate) fn open(file: File) -> Result<Self, StoreError> {
        let live = Live::new(file.open_writer()?);
        Ok(Self { file, live: Some(live), faults: HashMap::new() })
    }

    /// The open connection; opens it anew after a failure.
    pub(crate) fn live(&mut self) -> Result<&mut Live, StoreError> {
        if self.live.is_none() {
            self.live = Some(Live::new(self.file.open_writer()?));
        }
        self.live.as_mut().ok_or_else(|| Trouble::WriterGone.into())
    }

    /// Writes everything that waits, in one transaction, and answers. What could not be written and must not
    /// be lost stays in the queue.
    pub(crate) fn run(&mut self, queue: &Queue, waits: Waits) {
        let mut jobs = queue.take();
        if jobs.is_empty() {
            return;
        }
        let mut answers = Vec::with_capacity(jobs.len());
        let written = self.write(&jobs, &mut answers, waits);
        let failure = match written {
            Ok(()) => {
                queue.settled(jobs.iter().filter(|job| job.reply.is_none()).count());
                jobs.into_iter().zip(answers).for_each(|(job, answer)| job.tell(answer));
                return;
            }
            Err(Failed::Busy) => return queue.put_back(jobs),
            Err(Failed::Before(error)) => {
                self.live = None;
                error
            }
            Err(Failed::During(error)) => {
                self.live = None;
                for job in self.landed(&mut jobs) {
                    job.tell(Ok(Done::Committed(Committed::New)));
                }
                error
            }
        };
        let failure = Arc::new(failure);
        let (told, kept): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| job.reply.is_some());
        queue.put_back(kept);
        told.into_iter().for_each(|job| job.tell(Err(shared(&failure))));
    }

    /// After a commit of unknown outcome: takes from `jobs` the commits that did land. Where that cannot be
    /// told now, the caller will find out by trying again.
    fn landed(&mut self, jobs: &mut Vec<Job>) -> Vec<Job> {
        let Ok(live) = self.live() else {
            return Vec::new();
        };
        let has_landed = |job: &Job| match &job.request {
            Request::Commit(commit) => {
                let checkpoint = &commit.checkpoint;
                let found = CheckpointRow::seq_of(&live.connection, checkpoint.id);
                let same = found.map(|found| found.map(|seq| live.is_same(seq, checkpoint)));
                matches!(same, Ok(Some(Ok(true))))
            }
            _ => false,
        };
        let (landed, others): (Vec<_>, Vec<_>) = jobs.drain(..).partition(has_landed);
        // Its sync may be what failed: move it into the file itself, with a sync of that.
        let moved = landed.is_empty()
            || live
                .connection
                .query_row("PRAGMA wal_checkpoint(FULL)", [], |row| row.get::<_, i64>(0))
                .is_ok_and(|busy| busy == 0);
        *jobs = others;
        if moved {
            return landed;
        }
        jobs.extend(landed);
        Vec::new()
    }

    fn write(&mut self, jobs: &[Job], answers: &mut Vec<Answer>, waits: Waits) -> Result<(), Failed> {
        self.begin(waits)?;
        let only_commits = jobs.iter().all(|job| matches!(job.request, Request::Commit(_)));
        if let Some(live) = self.live.as_mut().filter(|_| !only_commits) {
            live.catch_up().map_err(|error| Failed::Before(sqlite(error)))?;
        }
        let mut save = self.file.options.durability != Durability::Exit;
        for job in jobs {
            save |= matches!(job.request, Request::Flush(_));
            let answer = self.apply(&job.request).map_err(Failed::Before)?;
            answers.push(answer);
        }
        if save { self.save() } else { Ok(()) }
    }

    /// Ends the transaction that is open, if one is.
    fn save(&mut self) -> Result<(), Failed> {
        let observer = self.file.options.observer.clone();
        let connection = match &self.live {
            Some(live) if !live.connection.is_autocommit() => &live.connection,
            _ => return Ok(()),
        };
        if let Some(observer) = &observer {
            observer(Stage::Before);
        }
        connection
            .prepare_cached("COMMIT")
            .and_then(|mut commit| commit.execute([]))
            .map_err(|error| Failed::During(sqlite(error)))?;
        if let Some(observer) = &observer {
            observer(Stage::After);
        }
        Ok(())
    }

    /// Saves what is only in memory, for the last time.
    pub(crate) fn close(&mut self) {
        let _unsaved = self.save();
        self.live = None;
    }

    fn begin(&mut self, waits: Waits) -> Result<(), Failed> {
        let patience = Patience::new(self.file.options.busy_limit);
        let live = self.live().map_err(Failed::Before)?;
        if !live.connection.is_autocommit() {
            return Ok(());
        }
        let mut tries = 0;
        loop {
            let begun =
                live.connection.prepare_cached("BEGIN IMMEDIATE").and_then(|mut begin| begin.execute([]));
            match begun {
                Ok(_) => break,
                Err(error) if is_busy(&error) && waits == Waits::Never => return Err(Failed::Busy),
                Err(error) if is_busy(&error) => patience.pause(tries).map_err(Failed::Before)?,
                Err(error) => return Err(Failed::Before(sqlite(error))),
            }
            tries += 1;
        }
        Ok(())
    }

    /// Does one request. The outer error is one after which the transaction cannot go on.
    fn apply(&mut self, request: &Request) -> Result<Answer, StoreError> {
        let faults = &mut self.faults;
        let live = self.live.as_mut().ok_or(Trouble::WriterGone)?;
        let before = live.connection.total_changes();
        let answer = match request {
            Request::Register(graph) => live.register(graph).map(|()| Done::Nothing),
            Request::Commit(commit) => match faults.remove(&commit.thread) {
                Some(fault) => Err(fault),
                None => live.commit(commit).map(Done::Committed),
            },
            Request::Record(thread, base, result) => {
                let recorded = match live.place(thread, *base) {
                    Ok(place) => work::record(&live.connection, place, result),
                    Err(error) => Err(error),
                };
                let fault = match recorded {
                    Ok(true) | Err(StoreError::Superseded { .. }) => None,
                    // Another driver's result of this task was first, and this one was used already: the
                    // superstep cannot be committed with it.
                    Ok(false) => Some(StoreError::Superseded { thread: thread.clone(), base: *base }),
                    Err(error) => Some(error),
                };
                unwaited(faults, thread, fault)
            }
            Request::EndEffect(thread, base, effect, outcome) => {
                let ended = live
                    .place(thread, *base)
                    .and_then(|place| work::end_effect(&live.connection, place, effect, outcome));
                let fault = match ended {
                    Ok(()) | Err(StoreError::Superseded { .. }) => None,
                    Err(error) => Some(error),
                };
                unwaited(faults, thread, fault)
            }
            Request::Ask(thread, base, asks) => live.place(thread, *base).and_then(|place| {
                asks.iter().try_for_each(|ask| work::ask(&live.connection, place, ask))?;
                Ok(Done::Nothing)
            }),
            Request::Answer(thread, answers) => live.answer(thread, answers).map(|()| Done::Nothing),
            Request::BeginEffect(thread, base, effect) => live.place(thread, *base).and_then(|place| {
                work::begin_effect(&live.connection, place, effect)?;
                Ok(Done::Nothing)
            }),
            Request::Fork(from, at, to) => live.fork(from, *at, to).map(|()| Done::Nothing),
            Request::Settle => Ok(Done::Nothing),
            Request::Flush(thread) => match faults.remove(thread) {
                Some(fault) => Err(fault),
                None => Ok(Done::Nothing),
            },
        };
        match answer {
            Err(error @ StoreError::Io(_)) => Err(error),
            Err(error) => {
                live.forget();
                live.catch_up().map_err(sqlite)?;
                if live.connection.total_changes() == before {
                    Ok(Err(error))
                } else {
                    Err(Trouble::HalfWritten.into())
                }
            }
            done => Ok(done),
        }
    }
}

/// The failure of a transaction, as each of its requests is told.
fn shared(failure: &Arc<StoreError>) -> StoreError {
    match &**failure {
        StoreError::Corrupt { place, reason } => corrupt(place, reason),
        _ => StoreError::Io(Box::new(failure.clone())),
    }
}

/// The answer to what nobody waits for: a fault is kept for the thread's next caller, unless the file failed.
fn unwaited(
    faults: &mut HashMap<ThreadId, StoreError>,
    thread: &ThreadId,
    fault: Option<StoreError>,
) -> Answer {
    match fault {
        Some(error @ StoreError::Io(_)) => return Err(error),
        Some(fault) => drop(faults.insert(thread.clone(), fault)),
        None => {}
    }
    Ok(Done::Nothing)
}

impl Job {
    fn tell(self, answer: Answer) {
        if let Some(reply) = self.reply {
            // Who no longer waits does not want to know.
            let _unwanted = reply.send(answer);
        }
    }
}

/// The queue with the ledger behind it.
pub(crate) struct Writer {
    pub(crate) queue: Queue,
    ledger: Mutex<Option<Ledger>>,
}

impl Writer {
    pub(crate) fn new(ledger: Ledger) -> Self {
        Self { queue: Queue::new(), ledger: Mutex::new(Some(ledger)) }
    }

    /// The body of the writer thread: writes what waits until the queue is closed, then saves.
    pub(crate) fn serve(&self) {
        while self.queue.wait() {
            if let Some(ledger) = self.lock().as_mut() {
                ledger.run(&self.queue, Waits::ToTheLimit);
            }
        }
        if let Some(mut ledger) = self.lock().take() {
            ledger.close();
        }
    }

    /// Writes what waits on this thread, if nobody else is writing; otherwise the writer thread does.
    pub(crate) fn write_here(&self, job: Job) {
        let held = match self.ledger.try_lock() {
            Ok(held) => held,
            Err(TryLockError::Poisoned(held)) => held.into_inner(),
            Err(TryLockError::WouldBlock) => return self.queue.push(job),
        };
        let mut held = held;
        self.queue.push_quietly(job);
        if let Some(ledger) = held.as_mut() {
            ledger.run(&self.queue, Waits::Never);
        }
        drop(held);
        self.queue.rouse();
    }

    /// Reads through the writing connection: the only one that sees memory, or what is not yet saved.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&rusqlite::Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match self.lock().as_mut() {
            Some(ledger) => read(&ledger.live()?.connection),
            None => Err(Trouble::WriterGone.into()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Ledger>> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// Adds a job that the caller is about to write itself.
    fn push_quietly(&self, job: Job) {
        self.waiting().jobs.push(job);
    }

    /// Wakes the writer thread if something is left.
    fn rouse(&self) {
        if !self.waiting().jobs.is_empty() {
            self.wake.notify_one();
        }
    }
}
