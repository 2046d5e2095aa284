//! The writer: one connection, whose holder commits for all waiting callers.
//!
//! ```text
//! callers ──push──► queue ──drain──► BEGIN IMMEDIATE, every request, COMMIT ──► answers
//!                     │                 ▲
//!                     └── writer thread ┘   or the caller itself: when nothing needs a sync, or when it is
//!                                           alone and the sync takes less time than the hand-off
//! ```
//!
//! The reply to a request is sent after the commit. A rejected request (a lost race, a wrong graph, a damaged row) has
//! written nothing, so it does not affect the other requests of the transaction. If the file fails, all of them fail,
//! and the connection is opened again before its next use. After a failed commit, the file is read to find out if it
//! was stored.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use superstep_core::checkpoint::StoreError;

use crate::durability::Durability;
use crate::sqlite::error::{FileError, sqlite};
use crate::sqlite::file::File;
use crate::sqlite::file::wait_queue::WaitQueue;
use crate::sqlite::history::rows::CheckpointRow;
use crate::sqlite::options::Stage;
use crate::sqlite::write::cache::WriteCache;
use crate::sqlite::write::deferred_errors::DeferredErrors;
use crate::sqlite::write::lease;
use crate::sqlite::write::queue::{Job, Kind, Queue};
use crate::sqlite::write::turn::Turn;

/// The connection that writes to a file, with its options.
pub(crate) struct Ledger {
    file: File,
    wait_queue: WaitQueue,
    cache: Option<WriteCache>,
    deferred_errors: DeferredErrors,
}

/// The time to wait for another program's write lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// No wait: the caller must not block.
    Never,
    /// A wait up to the limit of the options.
    ToTheLimit,
}

/// The reason why a batch was not written.
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

/// The maximum duration in which requests are added to a transaction. Later ones go into the next transaction, and
/// other programs may write in between.
const LONGEST_TURN: Duration = Duration::from_millis(50);

/// The number of attempts to write a job that [may be repeated](Job::is_tried_again) by itself, some milliseconds
/// apart.
const TRIES: u32 = 5;

impl Ledger {
    pub(crate) fn open(file: File) -> Result<Self, StoreError> {
        let cache = WriteCache::new(file.open_writer()?);
        let wait_queue = WaitQueue::at(file.path.as_deref());
        Ok(Self { file, wait_queue, cache: Some(cache), deferred_errors: DeferredErrors::default() })
    }

    /// Returns the open connection; opens it again after a failure. A database in memory is lost after a failure.
    pub(crate) fn cache(&mut self) -> Result<&mut WriteCache, StoreError> {
        if self.cache.is_none() {
            if self.file.path.is_none() {
                return Err(FileError::MemoryLost.into());
            }
            self.cache = Some(WriteCache::new(self.file.open_writer()?));
        }
        self.cache.as_mut().ok_or_else(|| FileError::WriterGone.into())
    }

    /// Writes all waiting requests in one transaction, and replies. After a failure, each request has its own
    /// transaction, so that only those fail that cannot be written.
    pub(crate) fn run(&mut self, queue: &Queue, waits: Waits) {
        let jobs = queue.take();
        if jobs.is_empty() {
            return;
        }
        let begun = Instant::now();
        let Err((jobs, failed)) = self.together(queue, jobs, waits) else {
            return queue.timing.took(begun.elapsed());
        };
        // Data that is only in memory was lost with the transaction, so no request that depends on it may succeed.
        let in_memory = self.file.options.durability == Durability::Exit || self.file.path.is_none();
        let (told, jobs) = match &failed {
            Failed::Busy => return queue.put_back(jobs),
            Failed::Before(_) | Failed::During(_) if in_memory || failed.is_busy() => (jobs, Vec::new()),
            Failed::During(_) => jobs.into_iter().partition(|job| !job.is_tried_again()),
            Failed::Before(_) => (Vec::new(), jobs),
        };
        self.give_up(queue, told, failed);
        if waits == Waits::Never {
            // The writer thread has time to wait.
            return queue.put_back(jobs);
        }
        let mut tries = TRIES;
        for job in jobs {
            if !self.alone(queue, job, tries) {
                tries = 1;
            }
        }
    }

    /// Writes jobs in one transaction and replies to them; returns those that were not written.
    fn together(
        &mut self,
        queue: &Queue,
        mut jobs: Vec<Job>,
        waits: Waits,
    ) -> Result<(), (Vec<Job>, Failed)> {
        let mut done = 0;
        let failed = match self.write(&mut jobs, &mut done, waits) {
            Ok(()) => {
                queue.put_back(jobs.split_off(done));
                queue.settled(&jobs);
                jobs.into_iter().for_each(Job::answer);
                return Ok(());
            }
            Err(failed) => failed,
        };
        if !matches!(failed, Failed::Busy) {
            self.cache = None;
        }
        if matches!(failed, Failed::During(_)) {
            queue.put_back(jobs.split_off(done));
            self.landed(&mut jobs).into_iter().for_each(Job::answer);
        }
        Err((jobs, failed))
    }

    /// Tries to write a job by itself, several times if [that is safe](Job::is_tried_again). Returns `true` if it was
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

    /// Returns the file's error to all waiting callers. For requests without one, the thread's next caller receives it.
    fn give_up(&mut self, queue: &Queue, jobs: Vec<Job>, failed: Failed) {
        let (Failed::Before(failure) | Failed::During(failure)) = failed else {
            return queue.put_back(jobs);
        };
        let failure = Arc::new(failure);
        queue.settled(&jobs);
        for mut job in jobs {
            match &job.kind {
                Kind::Result { thread, base, .. } => {
                    self.deferred_errors.keep(thread, *base, FileError::shared(&failure))
                }
                // These callers receive the error now.
                Kind::Commit { thread, .. } | Kind::Flush(thread) => drop(self.deferred_errors.take(thread)),
                Kind::Outcome | Kind::Unsynced | Kind::Long | Kind::Short => {}
            }
            job.refuse(FileError::shared(&failure));
            job.answer();
        }
    }

    /// Removes from `jobs` the commits that are stored although the outcome of the transaction was unknown, and returns
    /// them. If that cannot be determined, the caller finds out by trying again.
    fn landed(&mut self, jobs: &mut Vec<Job>) -> Vec<Job> {
        let Ok(cache) = self.cache() else {
            return Vec::new();
        };
        let has_landed = |job: &Job| match &job.kind {
            Kind::Commit { checkpoint, .. } => {
                let found = CheckpointRow::seq_of(&cache.connection, checkpoint.id);
                let same = found.map(|found| found.map(|seq| cache.is_same(seq, checkpoint)));
                matches!(same, Ok(Some(Ok(true))))
            }
            _ => false,
        };
        let (landed, others): (Vec<_>, Vec<_>) = jobs.drain(..).partition(has_landed);
        // The sync of the log may have failed: move it into the file, with a sync of the file.
        let moved = landed.is_empty()
            || cache
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

    /// Writes jobs in order, as many as fit into one turn, and counts those that have a reply.
    fn write(&mut self, jobs: &mut [Job], done: &mut usize, waits: Waits) -> Result<(), Failed> {
        self.begin(waits, jobs)?;
        // A free sequence number does not prove that no other connection has written: its row may have been deleted
        // again.
        if let Some(cache) = &mut self.cache {
            cache.catch_up().map_err(Failed::Before)?;
        }
        let mut save = self.file.options.durability != Durability::Exit;
        let begun = Instant::now();
        // The results up to this position are stored one by one.
        let mut one_by_one = 0;
        while *done < jobs.len() && (*done == 0 || begun.elapsed() <= LONGEST_TURN) {
            let rest = &mut jobs[*done..];
            let mut settled = 0;
            if *done >= one_by_one {
                match Job::results_before_commit(rest) {
                    (results, true) => settled = results,
                    (results, false) => one_by_one = *done + results,
                }
            }
            let (results, rest) = rest.split_at_mut(settled);
            let job = &mut rest[0];
            save |= matches!(job.kind, Kind::Flush(_) | Kind::Commit { is_last: true, .. });
            self.apply_after(results, job).map_err(Failed::Before)?;
            *done += settled + 1;
        }
        if save { self.save() } else { Ok(()) }
    }

    /// Ends the open transaction, if there is one.
    fn save(&mut self) -> Result<(), Failed> {
        let observer = self.file.options.observer.clone();
        let connection = match &self.cache {
            Some(cache) if !cache.connection.is_autocommit() => &cache.connection,
            _ => return Ok(()),
        };
        if let Some(observer) = &observer {
            observer(Stage::Before);
        }
        connection
            .prepare_cached("COMMIT")
            .and_then(|mut commit| commit.execute([]))
            .map_err(|error| Failed::During(sqlite(error)))?;
        // Data that was written to a deleted file is not acknowledged.
        self.file.check_place().map_err(Failed::During)?;
        if let Some(observer) = &observer {
            observer(Stage::After);
        }
        Ok(())
    }

    /// Saves data that is only in memory, for the last time.
    pub(crate) fn close(&mut self) {
        let _unsaved = self.save();
        self.cache = None;
    }

    fn begin(&mut self, waits: Waits, jobs: &[Job]) -> Result<(), Failed> {
        self.cache().map_err(Failed::Before)?;
        let Some(cache) = self.cache.as_mut().filter(|cache| cache.connection.is_autocommit()) else {
            return Ok(());
        };
        if self.file.options.durability == Durability::Power {
            let is_synced = !jobs.iter().all(|job| matches!(job.kind, Kind::Unsynced));
            cache.sync_commits(is_synced).map_err(Failed::Before)?;
        }
        let attempt = || {
            let begun = cache.connection.prepare_cached("BEGIN IMMEDIATE");
            begun.and_then(|mut begin| begin.execute([])).map(drop).map_err(sqlite)
        };
        let begun = match waits {
            Waits::ToTheLimit => self.wait_queue.now_or_in_turn(self.file.options.busy_limit, attempt),
            Waits::Never if self.wait_queue.others_wait() => return Err(Failed::Busy),
            Waits::Never => match attempt() {
                Err(StoreError::Busy) => return Err(Failed::Busy),
                begun => begun,
            },
        };
        begun.map_err(Failed::Before)
    }

    /// Runs one request, and before it the requests to store `results` of the superstep that it ends. If the commit
    /// succeeds, they need not be stored, because it would delete them.
    fn apply_after(&mut self, results: &mut [Job], job: &mut Job) -> Result<(), StoreError> {
        if let Kind::Commit { thread, checkpoint, recorded, .. } = &job.kind
            && !results.is_empty()
            && !self.deferred_errors.has(thread)
        {
            let records = results.iter().filter_map(Job::recorded_result);
            let cache = self.cache.as_mut().ok_or(FileError::WriterGone)?;
            if matches!(cache.expects(thread, checkpoint.parent, *recorded, records), Ok(true)) {
                let (thread, id) = (thread.clone(), checkpoint.id);
                self.apply(job)?;
                let cache = self.cache.as_mut().ok_or(FileError::WriterGone)?;
                if cache.is_head(&thread, id) {
                    return Ok(());
                }
                cache.distrust_work(&thread);
            }
        }
        results.iter_mut().try_for_each(|result| self.apply(result))?;
        self.apply(job)
    }

    /// Runs one request. Returns an error only if the transaction cannot continue.
    fn apply(&mut self, job: &mut Job) -> Result<(), StoreError> {
        let cache = self.cache.as_mut().ok_or(FileError::WriterGone)?;
        if let Some(lease) = &job.lease
            && let Err(lost) = lease::check(&cache.connection, lease)
        {
            // The error is not kept for the thread, which has another holder now.
            return if matches!(lost, StoreError::LeaseLost { .. }) {
                job.refuse(lost);
                Ok(())
            } else {
                Err(lost)
            };
        }
        let before = cache.written();
        let clock = self.file.options.lease_clock.as_ref();
        match job.apply(&mut Turn { cache, deferred_errors: &mut self.deferred_errors, clock }) {
            Ok(()) => Ok(()),
            Err(error @ StoreError::Io(_)) => Err(error),
            Err(error) => {
                cache.forget();
                cache.catch_up()?;
                match error {
                    error if cache.written() == before => {
                        job.refuse(error);
                        Ok(())
                    }
                    // The file is damaged at the place of the write, so this error is returned.
                    damaged @ StoreError::Corrupt { .. } => Err(damaged),
                    _ => Err(FileError::HalfWritten.into()),
                }
            }
        }
    }
}

/// The queue, with the connection that writes.
pub(crate) struct Writer {
    pub(crate) queue: Queue,
    ledger: Mutex<Option<Ledger>>,
}

impl Writer {
    pub(crate) fn new(ledger: Ledger) -> Self {
        Self { queue: Queue::new(), ledger: Mutex::new(Some(ledger)) }
    }

    /// Runs the writer thread: writes waiting requests until the queue is closed, then saves.
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

    /// Writes the waiting requests on this thread, if no other thread is writing; otherwise the writer thread does.
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

    /// Reads through the connection that writes: only it sees a database in memory, or data that is not saved yet.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&crate::sqlite::connection::Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match self.lock().as_mut() {
            Some(ledger) => read(&ledger.cache()?.connection),
            None => Err(FileError::WriterGone.into()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Ledger>> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
