//! The log of an attempt: numbers its events, and stores those of runs that can be resumed.

use std::sync::Arc;
use std::time::Duration;

use superstep_core::checkpoint::StoreError;
use superstep_core::id::ThreadId;
use superstep_core::records::{EventRow, Records, RunRow};
use superstep_core::state::Json;
use tokio::sync::{mpsc, oneshot};

use super::entry::{LogEntry, Logged};
use super::hub::{Hub, Numbers, Ring};

/// The maximum number of events in a batch.
const BATCH: usize = 64;

/// The maximum time for which an event waits for its batch. Readers see it afterwards.
const BATCH_TIME: Duration = Duration::from_millis(5);

/// The log of one attempt of a run.
pub(crate) struct Attempt {
    hub: Hub,
    ring: Arc<Ring>,
    thread: ThreadId,
    run: String,
    attempt: u32,
    /// The numbers of the next events.
    numbers: Numbers,
    /// The writer of the batches, for a run whose events are stored.
    keeper: Option<mpsc::UnboundedSender<Kept>>,
}

enum Kept {
    Entry(Arc<LogEntry>),
    Flush(oneshot::Sender<()>),
}

impl Attempt {
    /// Begins the log of an attempt. Its events are stored if `is_stored`.
    pub(crate) fn begin(hub: &Hub, row: &RunRow, numbers: Numbers, is_stored: bool) -> Self {
        let ring = hub.ring(&row.thread);
        ring.begin(&row.id, numbers.first);
        let keeper = is_stored.then(|| {
            let (sender, receiver) = mpsc::unbounded_channel();
            tokio::spawn(keep(Arc::clone(hub.records()), Arc::clone(&ring), row.clone(), receiver));
            sender
        });
        Self {
            hub: hub.clone(),
            ring,
            thread: row.thread.clone(),
            run: row.id.clone(),
            attempt: row.attempt,
            numbers,
            keeper,
        }
    }

    /// Adds an event to the log, with the time at which it happened.
    ///
    /// # Errors
    /// Returns an error if more numbers are needed and the store fails.
    pub(crate) async fn log(&mut self, what: Logged) -> Result<(), StoreError> {
        let entry = self.numbered(what).await?;
        self.ring.push(Arc::clone(&entry), self.keeper.is_some());
        if let Some(keeper) = &self.keeper
            && keeper.send(Kept::Entry(entry)).is_err()
        {
            tracing::error!(run = self.run, "the writer of the events has ended");
        }
        Ok(())
    }

    /// Makes the last entry of the run, and its row if the events of the run are stored. The caller stores the row
    /// together with the end of the run, and then [shows](Self::show) the entry.
    ///
    /// # Errors
    /// Returns an error if more numbers are needed and the store fails.
    pub(crate) async fn last(
        &mut self,
        what: Logged,
    ) -> Result<(Arc<LogEntry>, Option<EventRow>), StoreError> {
        let entry = self.numbered(what).await?;
        let row = self.keeper.is_some().then(|| row(&self.thread, &entry));
        Ok((entry, row))
    }

    /// Shows the last entry of the run, which is stored, to readers.
    pub(crate) fn show(&self, last: Arc<LogEntry>) {
        let seq = last.seq;
        self.ring.push(last, self.keeper.is_some());
        self.ring.stored(seq);
        self.ring.ended.notify_waiters();
    }

    /// Makes the next entry.
    async fn numbered(&mut self, what: Logged) -> Result<Arc<LogEntry>, StoreError> {
        if self.numbers.first == self.numbers.end {
            self.numbers = self.hub.reserve(&self.thread).await?;
        }
        let at_ms = match &what {
            Logged::Event { event } => event.at_ms,
            _ => self.hub.clock().now_ms(),
        };
        let seq = self.numbers.first;
        let entry = LogEntry { seq, at_ms, run: self.run.clone(), attempt: self.attempt, what };
        self.numbers.first += 1;
        Ok(Arc::new(entry))
    }

    /// Waits until everything that was logged is stored.
    pub(crate) async fn flush(&self) {
        if let Some(keeper) = &self.keeper {
            let (done, stored) = oneshot::channel();
            if keeper.send(Kept::Flush(done)).is_ok() && stored.await.is_err() {
                tracing::error!(run = self.run, "the writer of the events has ended");
            }
        }
    }

    /// Ends the log: gives back the numbers that no event has. `expires_ms` is the time at which the stored events of an
    /// ended run expire.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub(crate) async fn close(self, expires_ms: Option<u64>) -> Result<(), StoreError> {
        self.flush().await;
        let released = self.hub.release(&self.thread, self.numbers).await;
        if let Some(at_ms) = expires_ms.filter(|_| self.keeper.is_some()) {
            self.hub.records().expire_events(&self.thread, &self.run, at_ms).await?;
        }
        released
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.ring.end(&self.run);
    }
}

/// Stores entries in batches, until the run is another worker's: an entry that comes late would have a smaller number
/// than those that readers have seen.
async fn keep(
    records: Arc<dyn Records>,
    ring: Arc<Ring>,
    run: RunRow,
    mut kept: mpsc::UnboundedReceiver<Kept>,
) {
    while let Some(first) = kept.recv().await {
        let (mut rows, mut last, mut waiting) = (Vec::new(), 0, Vec::new());
        let mut add = |kept| match kept {
            Kept::Entry(entry) => {
                last = entry.seq;
                rows.push(row(&run.thread, &entry));
                rows.len() == BATCH
            }
            Kept::Flush(done) => {
                waiting.push(done);
                true
            }
        };
        let mut is_full = add(first);
        let deadline = tokio::time::Instant::now() + BATCH_TIME;
        while !is_full {
            match tokio::time::timeout_at(deadline, kept.recv()).await {
                Ok(Some(more)) => is_full = add(more),
                Ok(None) | Err(_) => break,
            }
        }
        match append(&*records, run.attempt, rows).await {
            Ok(true) => ring.stored(last),
            Ok(false) => ring.forget(&run.id, run.attempt),
            Err(error) => {
                tracing::error!(run = run.id, %error, "the events of a run could not be stored");
                ring.stored(last);
            }
        }
        for done in waiting {
            if done.send(()).is_err() {
                tracing::trace!(run = run.id, "the attempt that waited for its events is gone");
            }
        }
    }
}

/// Stores entries of an attempt. Returns `false` if the run is another worker's.
async fn append(records: &dyn Records, attempt: u32, rows: Vec<EventRow>) -> Result<bool, StoreError> {
    if rows.is_empty() { Ok(true) } else { records.append_events(attempt, rows).await }
}

fn row(thread: &ThreadId, entry: &LogEntry) -> EventRow {
    let text = Json::encode(entry).expect("an entry has a JSON form");
    EventRow { thread: thread.clone(), seq: entry.seq, run: entry.run.clone(), at_ms: entry.at_ms, text }
}
