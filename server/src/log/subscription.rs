//! A reader of a log: stored entries first, then live ones, each once and in order.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use superstep_core::checkpoint::StoreError;
use superstep_core::id::ThreadId;
use superstep_core::records::{EventRow, RunRow, ThreadRow, ThreadStatus};

use super::entry::{LogEntry, Logged};
use super::hub::{Hub, Ring, Unread};

/// The number of stored entries that are read at once.
const PAGE: usize = 256;

/// The interval in which the rows of a thread without a run of this process are read.
const IDLE_POLL: Duration = Duration::from_secs(2);

/// An item of a subscription.
#[derive(Clone, Debug)]
pub(crate) enum Received {
    /// The next entry.
    Entry(Arc<LogEntry>),
    /// Entries are gone, and no store has them. The next entries follow.
    Missed,
    /// The run has ended, and its last entries are gone. This is its end.
    Gone(Box<LogEntry>),
}

/// A reader of the log of a thread, or of one of its runs.
pub(crate) struct Subscription {
    hub: Hub,
    ring: Arc<Ring>,
    thread: ThreadId,
    /// The run; `None` for all runs of the thread.
    run: Option<String>,
    /// The number of the last entry that was read.
    after: u64,
    /// The last lost entry that was told.
    missed_to: u64,
    read: VecDeque<Arc<LogEntry>>,
    /// `true` if the last look at the store found something.
    is_busy: bool,
    is_over: bool,
    /// The attempt of the last entry that was read; 0 before the first one.
    attempt: u32,
}

impl Subscription {
    /// Creates a reader of a run, from its first entry after the number `after`. It ends with the run.
    pub(crate) fn of_run(hub: &Hub, run: &RunRow, after: u64) -> Self {
        Self::new(hub, run.thread.clone(), Some(run.id.clone()), after)
    }

    /// Creates a reader of a thread, which does not end.
    pub(crate) fn of_thread(hub: &Hub, thread: &ThreadId, after: u64) -> Self {
        Self::new(hub, thread.clone(), None, after)
    }

    fn new(hub: &Hub, thread: ThreadId, run: Option<String>, after: u64) -> Self {
        let ring = hub.ring(&thread);
        let (read, is_busy, is_over, attempt) = (VecDeque::new(), true, false, 0);
        Self { hub: hub.clone(), ring, thread, run, after, missed_to: 0, read, is_busy, is_over, attempt }
    }

    /// Returns the number of the last entry of a thread's log that this process knows or the store has.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub(crate) async fn last(hub: &Hub, thread: &ThreadId) -> Result<u64, StoreError> {
        let ring = hub.ring(thread);
        let mut last = if ring.is_live(None) { ring.last().unwrap_or_default() } else { 0 };
        while let Some(row) = hub.records().events(thread, None, Some(last), PAGE).await?.last() {
            last = row.seq;
        }
        Ok(last.max(ring.last().unwrap_or_default()))
    }

    /// Reads the row of the thread.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub(crate) async fn thread_row(&self) -> Result<Option<ThreadRow>, StoreError> {
        self.hub.records().thread(&self.thread).await
    }

    /// Returns the number of the last entry that was read.
    pub(crate) fn after(&self) -> u64 {
        self.after
    }

    /// Returns the next item; `None` after the end of the run.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub(crate) async fn next(&mut self) -> Result<Option<Received>, StoreError> {
        loop {
            if let Some(entry) = self.read.pop_front() {
                self.after = entry.seq;
                self.attempt = entry.attempt;
                self.is_over = self.run.is_some() && matches!(entry.what, Logged::Ended { .. });
                return Ok(Some(Received::Entry(entry)));
            }
            if self.is_over {
                return Ok(None);
            }
            let ring = Arc::clone(&self.ring);
            let mut changed = pin!(ring.changed.notified());
            changed.as_mut().enable();
            match ring.unread(self.after, self.run.as_deref()) {
                Unread::Entries(entries) if !entries.is_empty() => self.read.extend(entries),
                Unread::Dropped { up_to, lost_to } => {
                    self.read_rows(Some(up_to)).await?;
                    if self.read.is_empty() {
                        self.after = up_to;
                    }
                    // The stored entries of other runs may come before and after the lost ones.
                    if let Some(lost_to) = lost_to.filter(|lost| *lost > self.missed_to) {
                        self.missed_to = lost_to;
                        return Ok(Some(Received::Missed));
                    }
                }
                Unread::Entries(_) | Unread::Unknown if ring.is_live(self.run.as_deref()) => changed.await,
                Unread::Entries(_) | Unread::Unknown => {
                    if let Some(received) = self.look().await? {
                        return Ok(Some(received));
                    }
                    if self.read.is_empty() && !self.is_over {
                        let pause = if self.is_busy || self.run.is_some() {
                            self.hub.poll()
                        } else {
                            IDLE_POLL.max(self.hub.poll())
                        };
                        // A notification ends the pause early.
                        drop(tokio::time::timeout(pause, changed).await);
                    }
                }
            }
        }
    }

    /// Looks at the rows, for a log that another process may write.
    async fn look(&mut self) -> Result<Option<Received>, StoreError> {
        let Some(run) = self.run.clone() else {
            self.read_rows(None).await?;
            self.is_busy = !self.read.is_empty();
            return Ok(None);
        };
        // The row is read first: the entries of a run that has ended are stored.
        let row = self.hub.records().run(&run).await?;
        self.read_rows(None).await?;
        if !self.read.is_empty() {
            return Ok(None);
        }
        match row {
            Some(row) if row.status.is_terminal() && !self.ring.is_live(Some(&run)) => {
                if let Unread::Entries(entries) = self.ring.unread(self.after, Some(&run))
                    && !entries.is_empty()
                {
                    self.read.extend(entries);
                    return Ok(None);
                }
                let thread = self.hub.records().thread(&row.thread).await?;
                let ended = self.ended(&row, thread.map(|thread| thread.status));
                // The events have expired, or another process has not stored them.
                if row.attempt > self.attempt {
                    self.is_over = true;
                    return Ok(Some(Received::Gone(Box::new(ended))));
                }
                self.read.push_back(Arc::new(ended));
                Ok(None)
            }
            Some(_) => Ok(None),
            None => {
                self.is_over = true;
                Ok(None)
            }
        }
    }

    /// Reads the next stored entries, up to a number.
    async fn read_rows(&mut self, up_to: Option<u64>) -> Result<(), StoreError> {
        let records = self.hub.records();
        let rows = records.events(&self.thread, self.run.as_deref(), Some(self.after), PAGE).await?;
        let rows = rows.iter().take_while(|row| up_to.is_none_or(|up_to| row.seq <= up_to));
        self.read.extend(rows.filter_map(entry).map(Arc::new));
        Ok(())
    }

    /// Returns the last entry of a run whose worker did not log it.
    fn ended(&self, row: &RunRow, thread: Option<ThreadStatus>) -> LogEntry {
        let error = row.error.as_ref().and_then(|error| error.decode().ok());
        let thread = thread.unwrap_or(ThreadStatus::Idle);
        let what = Logged::Ended { status: row.status, thread, error };
        let (seq, at_ms) = (self.after.saturating_add(1), row.updated_ms);
        LogEntry { seq, at_ms, run: row.id.clone(), attempt: row.attempt, what }
    }
}

fn entry(row: &EventRow) -> Option<LogEntry> {
    let entry = row.text.decode();
    entry.inspect_err(|error| tracing::error!(%error, seq = row.seq, "a stored event does not decode")).ok()
}
