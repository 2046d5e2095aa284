//! Who writes: one connection, and whoever holds it commits for all who wait.
//!
//! ```text
//! callers ──push──► queue ──drain──► BEGIN IMMEDIATE, every request, COMMIT ──► answers
//!                     │                 ▲
//!                     └── writer thread ┘   or the caller itself: when nothing needs a sync, or when it is
//!                                           alone and the sync takes less time than the hand-off
//! ```
//!
//! A request is answered after the commit. A request that is refused (a lost race, a wrong graph, a damaged
//! row) has written nothing, so its neighbours in the transaction are unharmed; a failure of the file fails
//! them all, and the connection is opened anew before it is used again. Whether a failed commit did land is
//! settled by reading.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use superstep_core::checkpoint::{Committed, StoreError};

use crate::durability::Durability;
use crate::fault::{Trouble, sqlite};
use crate::file::File;
use crate::file::line::Line;
use crate::history::rows::CheckpointRow;
use crate::options::Stage;
use crate::read::named;
use crate::work::ask;
use crate::work::effect;
use crate::work::pending;
use crate::write::faults::Faults;
use crate::write::lease;
use crate::write::live::Live;
use crate::write::queue::{Answer, Done, Job, Queue, Request};

/// The writing end of a file.
pub(crate) struct Ledger {
    file: File,
    line: Line,
    live: Option<Live>,
    faults: Faults,
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

impl Failed {
    fn is_busy(&self) -> bool {
        match self {
            Self::Busy => true,
            Self::Before(error) | Self::During(error) => matches!(error, StoreError::Busy),
        }
    }
}

/// After so long nothing more comes into a transaction: what waits goes into the next one, and other programs may write in
/// between.
const LONGEST_TURN: Duration = Duration::from_millis(50);

/// The number of times that a job that [may be](Job::is_tried_again) is tried by itself, with milliseconds in between.
const TRIES: u32 = 5;

impl Ledger {
    pub(crate) fn open(file: File) -> Result<Self, StoreError> {
        let live = Live::new(file.open_writer()?);
        let line = Line::at(file.path.as_deref());
        Ok(Self { file, line, live: Some(live), faults: Faults::default() })
    }

    /// The open connection; opens it anew after a failure. A database in memory is gone after one.
    pub(crate) fn live(&mut self) -> Result<&mut Live, StoreError> {
        if self.live.is_none() {
            if self.file.path.is_none() {
                return Err(Trouble::MemoryLost.into());
            }
            self.live = Some(Live::new(self.file.open_writer()?));
        }
        self.live.as_mut().ok_or_else(|| Trouble::WriterGone.into())
    }

    /// Writes everything that waits, in one transaction, and answers. After a failure each request has a
    /// transaction of its own, so that only those fail that cannot be written.
    pub(crate) fn run(&mut self, queue: &Queue, waits: Waits) {
        let jobs = queue.take();
        if jobs.is_empty() {
            return;
        }
        let begun = Instant::now();
        let Err((jobs, failed)) = self.together(queue, jobs, waits) else {
            return queue.pace.took(begun.elapsed());
        };
        // What is only in memory was lost with the transaction: nothing that stood on it may succeed now.
        let in_memory = self.file.options.durability == Durability::Exit || self.file.path.is_none();
        let (told, jobs) = match &failed {
            Failed::Busy => return queue.put_back(jobs),
            Failed::Before(_) | Failed::During(_) if in_memory || failed.is_busy() => (jobs, Vec::new()),
            Failed::During(_) => jobs.into_iter().partition(|job| !job.is_tried_again()),
            Failed::Before(_) => (Vec::new(), jobs),
        };
        self.give_up(queue, told, failed);
        if waits == Waits::Never {
            // The writer thread has the time for it.
            return queue.put_back(jobs);
        }
        let mut tries = TRIES;
        for job in jobs {
            if !self.alone(queue, job, tries) {
                tries = 1;
            }
        }
    }

    /// Writes jobs in one transaction and answers them; returns those that were not written.
    fn together(
        &mut self,
        queue: &Queue,
        mut jobs: Vec<Job>,
        waits: Waits,
    ) -> Result<(), (Vec<Job>, Failed)> {
        let mut answers = Vec::with_capacity(jobs.len());
        let failed = match self.write(&jobs, &mut answers, waits) {
            Ok(()) => {
                queue.put_back(jobs.split_off(answers.len()));
                queue.settled(jobs.iter().filter(|job| job.reply.is_none()).count());
                jobs.into_iter().zip(answers).for_each(|(job, answer)| job.tell(answer));
                return Ok(());
            }
            Err(failed) => failed,
        };
        if !matches!(failed, Failed::Busy) {
            self.live = None;
        }
        if matches!(failed, Failed::During(_)) {
            queue.put_back(jobs.split_off(answers.len()));
            for job in self.landed(&mut jobs) {
                job.tell(Ok(Done::Committed(Committed::New)));
            }
        }
        Err((jobs, failed))
    }

    /// Tries to write a job by itself, several times where [that is safe](Job::is_tried_again). Returns whether it was
    /// written.
    fn alone(&mut self, queue: &Queue, job: Job, tries: u32) -> bool {
        let mut jobs = vec![job];
        for done in 1.. {
            let Err((left, failed)) = self.together(queue, jobs, Waits::ToTheLimit) else {
                break;
            };
            if left.is_empty() {
                break;
            }
            if done >= tries || failed.is_busy() || left.iter().any(|job| !job.is_tried_again()) {
                self.give_up(queue, left, failed);
                return false;
            }
            jobs = left;
            std::thread::sleep(Duration::from_millis(1 << done));
        }
        true
    }

    /// Tells those who wait that the file failed. For what nobody waits for, the next caller of its thread
    /// is told.
    fn give_up(&mut self, queue: &Queue, jobs: Vec<Job>, failed: Failed) {
        let (Failed::Before(failure) | Failed::During(failure)) = failed else {
            return queue.put_back(jobs);
        };
        let failure = Arc::new(failure);
        queue.settled(jobs.iter().filter(|job| job.reply.is_none()).count());
        for job in jobs {
            match &job.request {
                Request::Record(thread, base, _) => {
                    self.faults.keep(thread, *base, Trouble::shared(&failure));
                }
                // These are told now.
                Request::Commit(commit) => drop(self.faults.take(&commit.thread)),
                Request::Flush(thread) => drop(self.faults.take(thread)),
                _ => {}
            }
            job.tell(Err(Trouble::shared(&failure)));
        }
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

    /// Writes jobs from the first one on, as many as one turn is long enough for; those that have an answer then.
    fn write(&mut self, jobs: &[Job], answers: &mut Vec<Answer>, waits: Waits) -> Result<(), Failed> {
        self.begin(waits)?;
        // The next number being free does not tell that nobody has written since: what took it may be deleted again.
        if let Some(live) = &mut self.live {
            live.catch_up().map_err(Failed::Before)?;
        }
        let mut save = self.file.options.durability != Durability::Exit;
        let begun = Instant::now();
        for job in jobs {
            if !answers.is_empty() && begun.elapsed() > LONGEST_TURN {
                break;
            }
            save |= matches!(job.request, Request::Flush(_));
            let answer = self.apply(job).map_err(Failed::Before)?;
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
        // What was written to a file that is gone is not acknowledged.
        self.file.check_place().map_err(Failed::During)?;
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
        self.live().map_err(Failed::Before)?;
        let Some(live) = self.live.as_ref().filter(|live| live.connection.is_autocommit()) else {
            return Ok(());
        };
        let attempt = || {
            let begun = live.connection.prepare_cached("BEGIN IMMEDIATE");
            begun.and_then(|mut begin| begin.execute([])).map(drop).map_err(sqlite)
        };
        let begun = match waits {
            Waits::ToTheLimit => self.line.now_or_in_turn(self.file.options.busy_limit, attempt),
            Waits::Never if self.line.others_wait() => return Err(Failed::Busy),
            Waits::Never => match attempt() {
                Err(StoreError::Busy) => return Err(Failed::Busy),
                begun => begun,
            },
        };
        begun.map_err(Failed::Before)
    }

    /// Does one request. The outer error is one after which the transaction cannot go on.
    fn apply(&mut self, job: &Job) -> Result<Answer, StoreError> {
        let faults = &mut self.faults;
        let live = self.live.as_mut().ok_or(Trouble::WriterGone)?;
        let clock = self.file.options.lease_clock.as_ref();
        if let Some(lease) = &job.lease
            && let Err(lost) = lease::check(&live.connection, lease)
        {
            // It is not kept as a fault of the thread, which is somebody else's now.
            return if matches!(lost, StoreError::LeaseLost { .. }) { Ok(Err(lost)) } else { Err(lost) };
        }
        let before = live.connection.total_changes();
        let answer = match &job.request {
            Request::Register(graph) => live.register(graph).map(|()| Done::Nothing),
            Request::Commit(commit) => match faults.of_commit(commit) {
                Some(fault) => return Ok(Err(fault)),
                None => live.commit(commit).map(Done::Committed),
            },
            Request::Record(thread, base, result) => {
                let fault = match live.record(thread, *base, result) {
                    Ok(true) | Err(StoreError::Superseded { .. }) => None,
                    // Another driver's result of this task was first, and this one was used already: the
                    // superstep cannot be committed with it.
                    Ok(false) => Some(StoreError::Superseded { thread: thread.clone(), base: *base }),
                    Err(error) => Some(error),
                };
                faults.unwaited(thread, *base, fault)
            }
            Request::Fail(thread, base, failure) => {
                let failed = live
                    .place(thread, *base)
                    .and_then(|place| pending::fail(&live.connection, place, failure));
                let fault = match failed {
                    Ok(()) | Err(StoreError::Superseded { .. }) => None,
                    Err(error) => Some(error),
                };
                faults.unwaited(thread, *base, fault)
            }
            Request::NoteEffect(thread, base, effect) => {
                let noted = live
                    .place_of_effect(thread, *base)
                    .and_then(|place| effect::begin(&live.connection, place, effect));
                let fault = match noted {
                    // Another run's value was first, and this one was used already.
                    Ok(Some(held)) if held.outcome != effect.outcome => {
                        Some(StoreError::Superseded { thread: thread.clone(), base: *base })
                    }
                    Ok(_) | Err(StoreError::Superseded { .. }) => None,
                    Err(error) => Some(error),
                };
                faults.unwaited(thread, *base, fault)
            }
            Request::EndEffect(thread, base, effect, outcome) => {
                let ended = live
                    .place_of_effect(thread, *base)
                    .and_then(|place| effect::end(&live.connection, place, effect, outcome));
                match ended {
                    Ok(true) | Err(StoreError::Superseded { .. }) => Ok(Done::Nothing),
                    // Another run's success was first.
                    Ok(false) => Err(StoreError::Superseded { thread: thread.clone(), base: *base }),
                    Err(error) => Err(error),
                }
            }
            Request::Ask(thread, base, asks) => live.place(thread, *base).and_then(|place| {
                ask::instead(&live.connection, place, asks)?;
                Ok(Done::Nothing)
            }),
            Request::Answer(thread, answers) => live.answer(thread, answers).map(|()| Done::Nothing),
            Request::Expire(graph, thread, now_ms) => {
                live.expire(graph, thread.as_ref(), *now_ms).map(Done::Expired)
            }
            Request::BeginEffect(thread, base, effect) => {
                live.place_of_effect(thread, *base).and_then(|place| {
                    Ok(Done::Begun(effect::begin(&live.connection, place, effect)?.map(Box::new)))
                })
            }
            Request::Name(thread, naming) => {
                named::change(&live.connection, thread, naming).map(|()| Done::Nothing)
            }
            Request::Fork(from, at, to) => live.fork(from, *at, to).map(|()| Done::Nothing),
            Request::Delete(graph, thread) => {
                live.delete(graph, thread).map(|()| faults.take(thread)).map(|_| Done::Nothing)
            }
            Request::Import(document, name) => live.import(document, name).map(|()| Done::Nothing),
            Request::Acquire(claim) => {
                let now = lease::now(&live.connection, clock)?;
                lease::acquire(&live.connection, claim, now).map(Done::Acquired)
            }
            Request::Renew(lease) => {
                let now = lease::now(&live.connection, clock)?;
                lease::renew(&live.connection, lease, now).map(|lease| Done::Lease(Some(lease)))
            }
            Request::Release(lease) => lease::release(&live.connection, lease).map(|()| Done::Nothing),
            Request::BreakLease(thread) => {
                // A damaged one goes as well.
                let broken = lease::find(&live.connection, thread).unwrap_or(None);
                lease::take(&live.connection, thread).map(|()| Done::Lease(broken))
            }
            Request::Settle => Ok(Done::Nothing),
            Request::Flush(thread) => match faults.take(thread) {
                Some(fault) => return Ok(Err(fault)),
                None => Ok(Done::Nothing),
            },
        };
        match answer {
            Err(error @ StoreError::Io(_)) => Err(error),
            Err(error) => {
                live.forget();
                live.catch_up()?;
                match error {
                    error if live.connection.total_changes() == before => Ok(Err(error)),
                    // The file is damaged where it went on writing: that is what to know.
                    damaged @ StoreError::Corrupt { .. } => Err(damaged),
                    _ => Err(Trouble::HalfWritten.into()),
                }
            }
            done => Ok(done),
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
        read: impl FnOnce(&crate::connection::Connection) -> Result<T, StoreError>,
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
