//! The rings of a process: for each thread, the latest entries of the runs that this process drives.

use std::collections::{HashMap, HashSet, VecDeque};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use superstep_core::checkpoint::StoreError;
use superstep_core::id::ThreadId;
use superstep_core::records::{Records, RunRow};
use tokio::sync::Notify;

use super::entry::LogEntry;
use crate::clock::Clock;

/// The number of event numbers that are reserved at once.
const RESERVED: u64 = 65_536;

/// The number of entries that a ring keeps.
const RING: usize = 1_024;

/// The time for which a ring is kept after its last run, in milliseconds.
const KEPT_MS: u64 = 60_000;

/// The interval in which the row of a run is read that another process drives.
const POLL: Duration = Duration::from_millis(50);

/// The same with signals of other processes: one of them may be lost.
pub(super) const SIGNALLED_POLL: Duration = Duration::from_secs(5);

/// The time for which an attempt waits for the end of an earlier one's log.
const CLOSING: Duration = Duration::from_secs(1);

/// The interval in which the row of a run is read that this process drives.
const LIVE_POLL: Duration = Duration::from_secs(2);

/// Reserved numbers of a thread's events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    /// The first number that no event has.
    pub(super) first: u64,
    /// The end of the reservation.
    pub(super) end: u64,
}

/// The logs of all threads, as this process sees them. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Hub(Arc<Shared>);

struct Shared {
    records: Arc<dyn Records>,
    clock: Clock,
    rings: Mutex<HashMap<ThreadId, Arc<Ring>>>,
    /// Set while signals of other processes arrive.
    is_signalled: AtomicBool,
}

impl Hub {
    pub(crate) fn new(records: Arc<dyn Records>, clock: Clock) -> Self {
        Self(Arc::new(Shared {
            records,
            clock,
            rings: Mutex::default(),
            is_signalled: AtomicBool::new(false),
        }))
    }

    pub(super) fn records(&self) -> &Arc<dyn Records> {
        &self.0.records
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Returns the ring of a thread, which is created if there is none.
    pub(super) fn ring(&self, thread: &ThreadId) -> Arc<Ring> {
        let mut rings = self.0.rings.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(rings.entry(thread.clone()).or_default())
    }

    /// Reserves numbers for events of a thread.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub(crate) async fn reserve(&self, thread: &ThreadId) -> Result<Numbers, StoreError> {
        let first = self.0.records.reserve_events(thread, RESERVED).await?;
        Ok(Numbers { first, end: first + RESERVED })
    }

    /// Gives numbers back that no event has.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub(crate) async fn release(&self, thread: &ThreadId, numbers: Numbers) -> Result<(), StoreError> {
        self.0.records.release_events(thread, numbers.first, numbers.end).await
    }

    /// Waits until the earlier attempts on a thread have ended, because readers skip entries with smaller numbers than
    /// those that they have seen. An attempt that was lost may take longer.
    pub(crate) async fn free(&self, thread: &ThreadId) {
        let ring = self.ring(thread);
        let free = async {
            loop {
                let mut changed = pin!(ring.changed.notified());
                changed.as_mut().enable();
                if !ring.is_live(None) {
                    return;
                }
                changed.await;
            }
        };
        drop(tokio::time::timeout(CLOSING, free).await);
    }

    /// Wakes the subscriptions of a thread, so that they look at the rows again.
    pub(crate) fn wake(&self, thread: &ThreadId) {
        let rings = self.0.rings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ring) = rings.get(thread) {
            ring.changed.notify_waiters();
            ring.ended.notify_waiters();
        }
    }

    /// Wakes all subscriptions, because signals of other processes begin or end.
    pub(crate) fn signalled(&self, is_signalled: bool) {
        self.0.is_signalled.store(is_signalled, Ordering::Release);
        for ring in self.0.rings.lock().unwrap_or_else(PoisonError::into_inner).values() {
            ring.changed.notify_waiters();
            ring.ended.notify_waiters();
        }
    }

    /// Returns `true` while signals of other processes arrive.
    pub(crate) fn is_signalled(&self) -> bool {
        self.0.is_signalled.load(Ordering::Acquire)
    }

    /// Returns the interval in which rows are read that another process may change.
    pub(super) fn poll(&self) -> Duration {
        if self.is_signalled() { SIGNALLED_POLL } else { POLL }
    }

    /// Waits until a run has ended, and returns its row; `None` if the run was deleted.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub(crate) async fn ended(&self, run: &RunRow) -> Result<Option<RunRow>, StoreError> {
        let ring = self.ring(&run.thread);
        loop {
            let mut ended = pin!(ring.ended.notified());
            ended.as_mut().enable();
            match self.0.records.run(&run.id).await? {
                Some(row) if !row.status.is_terminal() => {}
                over => return Ok(over),
            }
            let pause = if ring.is_live(Some(&run.id)) { LIVE_POLL } else { self.poll() };
            // A notification ends the pause early.
            drop(tokio::time::timeout(pause, ended).await);
        }
    }

    /// Removes the rings that no run and no subscription uses.
    pub(crate) fn sweep(&self) {
        let now_ms = self.0.clock.now_ms();
        let mut rings = self.0.rings.lock().unwrap_or_else(PoisonError::into_inner);
        rings.retain(|_, ring| {
            let state = ring.state();
            let is_fresh = state.used_ms.saturating_add(KEPT_MS) > now_ms;
            !state.live.is_empty() || (is_fresh && !state.entries.is_empty()) || Arc::strong_count(ring) > 1
        });
    }
}

/// The latest entries of a thread's log.
#[derive(Default)]
pub(super) struct Ring {
    state: Mutex<RingState>,
    /// Notified of each entry.
    pub(super) changed: Notify,
    /// Notified when a run of the thread may have ended.
    pub(super) ended: Notify,
}

#[derive(Default)]
struct RingState {
    entries: VecDeque<Kept>,
    /// The ring has every entry with a higher number that this process has logged. `None`: it was never written.
    complete_after: Option<u64>,
    /// The number of the last entry that was dropped although no store has it, by run.
    lost: HashMap<String, u64>,
    /// The runs that this process drives.
    live: HashSet<String>,
    /// Stored runs' entries up to this number are stored.
    stored_to: u64,
    /// The time of the last entry.
    used_ms: u64,
}

struct Kept {
    entry: Arc<LogEntry>,
    /// `true` if the entry is stored, or will be.
    is_stored: bool,
}

/// The part of a log that a subscription has not read.
pub(super) enum Unread {
    /// The next entries that readers may see, in order; empty if there are none yet.
    Entries(Vec<Arc<LogEntry>>),
    /// Entries up to this number are no longer in the ring, or never were. `lost_to` is the last of those that the
    /// store lacks.
    Dropped { up_to: u64, lost_to: Option<u64> },
    /// This process has logged nothing.
    Unknown,
}

impl Ring {
    fn state(&self) -> MutexGuard<'_, RingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an attempt whose entries have numbers from `first` on.
    pub(super) fn begin(&self, run: &str, first: u64) {
        let mut state = self.state();
        let follows = state.entries.back().is_some_and(|last| last.entry.seq + 1 == first);
        if !follows {
            // Another process may have logged in between.
            state.drop_to(0);
            state.complete_after = Some(first.saturating_sub(1));
        }
        state.live.insert(run.to_owned());
    }

    /// Adds an entry.
    pub(super) fn push(&self, entry: Arc<LogEntry>, is_stored: bool) {
        let mut state = self.state();
        state.used_ms = entry.at_ms;
        // The last entry of a run may follow the first one of the next run.
        let before = state.entries.iter().rposition(|kept| kept.entry.seq < entry.seq);
        state.entries.insert(before.map_or(0, |before| before + 1), Kept { entry, is_stored });
        state.drop_to(RING);
        drop(state);
        self.changed.notify_waiters();
    }

    /// Records that the entries of a stored run up to `seq` are stored, and shows them to readers.
    pub(super) fn stored(&self, seq: u64) {
        let mut state = self.state();
        state.stored_to = state.stored_to.max(seq);
        state.drop_to(RING);
        drop(state);
        self.changed.notify_waiters();
    }

    /// Removes the entries of a lost attempt that are not stored.
    pub(super) fn forget(&self, run: &str, attempt: u32) {
        let mut state = self.state();
        let stored_to = state.stored_to;
        state.entries.retain(|Kept { entry, .. }| {
            entry.run != run || entry.attempt != attempt || entry.seq <= stored_to
        });
    }

    /// Ends an attempt.
    pub(super) fn end(&self, run: &str) {
        self.state().live.remove(run);
        self.changed.notify_waiters();
        self.ended.notify_waiters();
    }

    /// Returns `true` if this process drives the run, or any run of the thread.
    pub(super) fn is_live(&self, run: Option<&str>) -> bool {
        let state = self.state();
        run.map_or(!state.live.is_empty(), |run| state.live.contains(run))
    }

    /// Returns the number of the last entry.
    pub(super) fn last(&self) -> Option<u64> {
        let state = self.state();
        state.entries.back().map(|last| last.entry.seq).or(state.complete_after)
    }

    /// Returns what comes after an entry, of one run or of all.
    pub(super) fn unread(&self, after: u64, run: Option<&str>) -> Unread {
        let state = self.state();
        let Some(complete_after) = state.complete_after else { return Unread::Unknown };
        if after < complete_after {
            let lost_to = match run {
                Some(run) => state.lost.get(run),
                None => state.lost.values().max(),
            };
            let lost_to = lost_to.copied().filter(|lost| *lost > after);
            return Unread::Dropped { up_to: complete_after, lost_to };
        }
        let first = state.entries.partition_point(|kept| kept.entry.seq <= after);
        // An entry that a crash may still take back is shown to no reader.
        let is_shown = |kept: &&Kept| !kept.is_stored || kept.entry.seq <= state.stored_to;
        let entries = state.entries.range(first..).take_while(is_shown).map(|kept| &kept.entry);
        Unread::Entries(entries.filter(|entry| run.is_none_or(|run| entry.run == run)).cloned().collect())
    }
}

impl RingState {
    /// Drops entries until `most` are left, but none that waits to be stored.
    fn drop_to(&mut self, most: usize) {
        while self.entries.len() > most {
            let Some(Kept { entry, is_stored }) = self.entries.front() else { return };
            match is_stored {
                true if entry.seq > self.stored_to => return,
                true => {}
                false => {
                    self.lost.insert(entry.run.clone(), entry.seq);
                }
            }
            self.complete_after = Some(entry.seq);
            self.entries.pop_front();
        }
        if self.lost.len() > RING {
            self.lost.clear();
        }
    }
}
