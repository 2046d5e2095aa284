//! Rows of a server: its threads with their metadata, its runs and their queue, assistants, schedules and events.
//!
//! Checkpoints say what a thread's runs have done. These rows say what was asked for: a run is accepted when its row
//! is stored, and ends in one terminal status, whatever is killed in between.
//!
//! ```text
//! create_run ──► pending ── claim ──► running ── finish ──► success, error, interrupted, timeout
//!                   ▲                    │
//!                   └── its worker stopped, or died: the next claim counts one attempt more
//!
//! Records      MemorySaver, SqliteSaver and PostgresSaver, with the checkpoints: Checkpointer::records
//! ```
//!
//! [`life`] decides every change of a run's status, as pure functions that all implementations call.

pub mod life;
#[cfg(feature = "std")]
mod memory;
mod query;
mod rows;

#[cfg(feature = "std")]
pub(crate) use memory::MemoryRecords;
pub use query::{AssistantQuery, Column, CronQuery, Found, Order, RunQuery, ThreadQuery, contains};
pub use rows::{
    AssistantRow, Calls, CancelAction, CronRow, EventRow, Expiry, ExpiryStrategy, Multitask, RunRow,
    RunStatus, ThreadRow, ThreadStatus,
};

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use async_trait::async_trait;

use crate::checkpoint::StoreError;
use crate::id::{NodeName, ThreadId};
use crate::state::Json;
use life::{Admitted, Beat, Cancelled, Ending};

/// Stores the rows of a server. Each method is one transaction, and durable when it returns.
///
/// Rows that belong to a thread need its row: methods that store one return [`StoreError::NoThread`] without it.
///
/// An implementation reads no clock: `now_ms` is the time in milliseconds since the Unix epoch. It does not decide:
/// the functions of [`life`] do.
#[async_trait]
pub trait Records: Send + Sync {
    /// Stores a thread unless one with its id exists; returns the stored one, and `true` if it is new.
    async fn insert_thread(&self, thread: ThreadRow) -> Result<(ThreadRow, bool), StoreError>;

    /// Reads a thread.
    async fn thread(&self, thread: &ThreadId) -> Result<Option<ThreadRow>, StoreError>;

    /// Changes a thread; returns the changed one, or `None` if there is none.
    async fn change_thread(
        &self,
        thread: &ThreadId,
        change: ThreadChange,
        now_ms: u64,
    ) -> Result<Option<ThreadRow>, StoreError>;

    /// Deletes the rows of a thread: the thread, its runs, schedules and events. Returns `false` if there was no
    /// thread. Its checkpoints are deleted by [`Checkpointer::delete`](crate::checkpoint::Checkpointer::delete),
    /// which also deletes these rows.
    async fn delete_thread(&self, thread: &ThreadId) -> Result<bool, StoreError>;

    /// Finds threads.
    async fn threads(&self, query: &ThreadQuery) -> Result<Found<ThreadRow>, StoreError>;

    /// Admits a run, as [`life::admit`] decides: stores its row with status `pending`, ends the thread's other runs
    /// or asks their workers to stop, and sets the thread's status to `busy`. The thread gets the run's graph if it
    /// has none. The time is that of the run's creation.
    async fn create_run(&self, run: RunRow) -> Result<Admitted, StoreError>;

    /// Reads a run.
    async fn run(&self, id: &str) -> Result<Option<RunRow>, StoreError>;

    /// Finds runs.
    async fn runs(&self, query: &RunQuery) -> Result<Found<RunRow>, StoreError>;

    /// Claims the oldest run of one of the graphs that is the [next](life::next) one of its thread: pending and not
    /// before its time, or abandoned by its worker; none that the worker [leaves](RunClaim::left). Its status becomes
    /// `running`. A request to cancel it may be there already.
    async fn claim_run(&self, claim: &RunClaim, now_ms: u64) -> Result<Option<RunRow>, StoreError>;

    /// Extends a worker's claims to runs, and reads requests to cancel them: an answer for each heartbeat. No run is named
    /// twice.
    async fn beat(&self, heartbeats: &[Heartbeat], until_ms: u64) -> Result<Vec<Beat>, StoreError>;

    /// Ends an attempt of a run, as [`life::finish`] decides, sets the status of its thread, and stores the run's last
    /// event with it, so that no event of a later run is stored before. Returns `false`, and changes nothing, if the
    /// run was claimed by another worker or has ended.
    async fn finish_run(
        &self,
        run: &str,
        attempt: u32,
        ending: Ending,
        last: Option<EventRow>,
        now_ms: u64,
    ) -> Result<bool, StoreError>;

    /// Asks for the end of a run, as [`life::cancel`] decides: a pending or abandoned one ends at once, the worker of
    /// a running one reads the request with its next [`beat`](Self::beat). The rollback of a pending or abandoned run
    /// that was started before waits for the next worker, which finds the request in the row that it claims.
    async fn cancel_run(&self, run: &str, action: CancelAction, now_ms: u64)
    -> Result<Cancelled, StoreError>;

    /// Deletes the row of a run that has ended, with its events. Returns `false` if there is no such run.
    async fn delete_run(&self, run: &str) -> Result<bool, StoreError>;

    /// Claims a call of a webhook of a run of one of these graphs, if one is [due](life::is_call_due): the one whose time
    /// came first. The call counts as lost at `until_ms`.
    async fn claim_call(
        &self,
        graphs: &[NodeName],
        until_ms: u64,
        now_ms: u64,
    ) -> Result<Option<RunRow>, StoreError>;

    /// Ends a call of a run's webhook, as [`life::finish_call`] decides. Returns `false`, and changes nothing, if the call
    /// is another caller's now, or the run was deleted.
    async fn finish_call(&self, run: &str, call: u32, next_ms: Option<u64>) -> Result<bool, StoreError>;

    /// Stores a version of an assistant and makes it the current one, if it is the next one: 1 for a new assistant,
    /// otherwise one more than the newest version. Returns it and `true`, or else the existing current version and
    /// `false`.
    ///
    /// # Errors
    /// Returns [`StoreError::NoAssistant`] for a later version of an assistant that does not exist.
    async fn put_assistant(&self, assistant: AssistantRow) -> Result<(AssistantRow, bool), StoreError>;

    /// Reads the current version of an assistant.
    async fn assistant(&self, id: &str) -> Result<Option<AssistantRow>, StoreError>;

    /// Finds assistants, in their current versions.
    async fn assistants(&self, query: &AssistantQuery) -> Result<Found<AssistantRow>, StoreError>;

    /// Reads the versions of an assistant, newest first.
    async fn versions(&self, assistant: &str) -> Result<Vec<AssistantRow>, StoreError>;

    /// Makes a version of an assistant the current one; `None` if there is no such version.
    async fn set_version(
        &self,
        assistant: &str,
        version: u32,
        now_ms: u64,
    ) -> Result<Option<AssistantRow>, StoreError>;

    /// Deletes an assistant with its versions. Returns `false` if there is none.
    async fn delete_assistant(&self, id: &str) -> Result<bool, StoreError>;

    /// Stores a schedule, replacing one with the same id.
    async fn put_cron(&self, cron: CronRow) -> Result<(), StoreError>;

    /// Reads a schedule.
    async fn cron(&self, id: &str) -> Result<Option<CronRow>, StoreError>;

    /// Finds schedules.
    async fn crons(&self, query: &CronQuery) -> Result<Found<CronRow>, StoreError>;

    /// Moves the next start of a schedule from `due_ms` to `next_ms`. Returns `false`, and changes nothing, if
    /// another process did: each start happens once.
    async fn advance_cron(&self, id: &str, due_ms: u64, next_ms: Option<u64>) -> Result<bool, StoreError>;

    /// Deletes a schedule. Returns `false` if there is none.
    async fn delete_cron(&self, id: &str) -> Result<bool, StoreError>;

    /// Reserves numbers for events of a thread: returns the first of `count` numbers that were never given out. The
    /// first number of a thread is 1.
    async fn reserve_events(&self, thread: &ThreadId, count: u64) -> Result<u64, StoreError>;

    /// Gives back the reserved numbers from `next` up to, but not including, `reserved_to`, which no event has: the
    /// next reservation begins at `next`, unless another one was made since.
    async fn release_events(&self, thread: &ThreadId, next: u64, reserved_to: u64) -> Result<(), StoreError>;

    /// Stores events of an attempt, all or none; an event with the number of a stored one replaces it. Returns `false`,
    /// and stores nothing, if a later attempt of the run has begun, or the run has ended or was deleted: readers have
    /// later numbers, or the end of the run, and do not look for these events.
    async fn append_events(&self, attempt: u32, events: Vec<EventRow>) -> Result<bool, StoreError>;

    /// Reads the events of a thread, or of one of its runs, with numbers above `after`, in their order.
    async fn events(
        &self,
        thread: &ThreadId,
        run: Option<&str>,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError>;

    /// Sets the time at which a run's events expire, whether the run's row exists or was rolled back.
    async fn expire_events(&self, thread: &ThreadId, run: &str, at_ms: u64) -> Result<(), StoreError>;

    /// Has `hear` called with the [signals](Signal) of other processes, until it returns `false`. Returns `false` if this
    /// store sends none: then a process looks at the rows from time to time.
    fn listen(&self, _hear: Hear) -> bool {
        false
    }

    /// Removes expired events, and returns up to `limit` threads whose time has come, that are not busy, and whose
    /// webhooks were called, for the caller to delete, or to prune and [change](Self::change_thread).
    async fn sweep(&self, now_ms: u64, limit: usize) -> Result<Vec<ThreadRow>, StoreError>;
}

/// A change of a thread's row. Members that are `None` stay unchanged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadChange {
    /// Metadata entries, merged into the existing ones at the top level.
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
    /// The graph, for a thread without one.
    pub graph: Option<NodeName>,
    /// The configuration of the last run.
    pub config: Option<Json>,
    /// The expiry; `Some(None)` removes it.
    pub expiry: Option<Option<Expiry>>,
    /// The status, after a change of the thread's state. A thread with runs that have not ended stays `busy`.
    pub status: Option<ThreadStatus>,
    /// The error of the last run; `Some(None)` removes it.
    pub error: Option<Option<Json>>,
    /// `true` if the thread's state has changed.
    pub is_state: bool,
}

/// A hint that other processes have changed rows. One may be lost, and none says what has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Signals arrive from now on; those before may be lost.
    Open,
    /// No signals arrive until the next [`Open`](Self::Open).
    Closed,
    /// A run may be claimed.
    Queue,
    /// The runs or the events of a thread have changed.
    Thread(ThreadId),
}

/// The receiver of signals. It returns `false` to get no more of them.
pub type Hear = Box<dyn Fn(Signal) -> bool + Send + Sync>;

/// A worker's claim to a run, which is extended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The run.
    pub run: String,
    /// The worker's attempt.
    pub attempt: u32,
    /// The new number of [lost attempts](RunRow::lost); `None` leaves it unchanged.
    pub lost: Option<u32>,
}

/// A worker's request for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunClaim {
    /// The name of the worker's process, for people.
    pub owner: String,
    /// The graphs that the worker has.
    pub graphs: Vec<NodeName>,
    /// The runs that the worker leaves to others, as it may not continue their threads. The later runs of these threads wait.
    pub left: Vec<String>,
    /// The time at which the run counts as abandoned unless the worker extends it.
    pub until_ms: u64,
}
