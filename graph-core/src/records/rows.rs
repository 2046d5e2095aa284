//! The rows.

use alloc::string::String;
use core::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::id::{NodeName, ThreadId};
use crate::state::Json;

/// A thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadRow {
    /// Its id.
    pub id: ThreadId,
    /// The graph of its first run; `None` before it.
    pub graph: Option<NodeName>,
    /// Entries of clients and of the server.
    pub metadata: Map<String, Value>,
    /// Its status.
    pub status: ThreadStatus,
    /// The configuration of its last run.
    pub config: Json,
    /// The error of the last run, if it failed.
    pub error: Option<Json>,
    /// The time of its creation.
    pub created_ms: u64,
    /// The time of the last change of the row.
    pub updated_ms: u64,
    /// The time of the last change of its state.
    pub state_updated_ms: u64,
    /// The time and manner of its end.
    pub expiry: Option<Expiry>,
}

/// The status of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadStatus {
    /// No run, no open question, no next node.
    Idle,
    /// A run is pending or running.
    Busy,
    /// The thread waits for an answer, or stopped before a node.
    Interrupted,
    /// The last run failed.
    Error,
}

/// The end of a thread that is not used.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expiry {
    /// The lifetime after the last change, in minutes.
    pub minutes: f64,
    /// The manner of its end.
    pub strategy: ExpiryStrategy,
    /// The time of its end. It moves with every change of the thread's row.
    pub at_ms: u64,
}

impl Expiry {
    /// Returns the expiry of a thread that was changed now.
    #[must_use]
    pub fn new(minutes: f64, strategy: ExpiryStrategy, now_ms: u64) -> Self {
        let mut expiry = Self { minutes, strategy, at_ms: 0 };
        expiry.restart(now_ms);
        expiry
    }

    pub(super) fn restart(&mut self, now_ms: u64) {
        let lifetime = Duration::try_from_secs_f64(self.minutes * 60.0).unwrap_or(Duration::MAX);
        self.at_ms = now_ms.saturating_add(u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX));
    }
}

/// The manner in which an expired thread ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpiryStrategy {
    /// It is deleted.
    Delete,
    /// Only its latest checkpoint is kept.
    KeepLatest,
}

/// A run, with the request that it came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// Its id, a UUIDv7.
    pub id: String,
    /// Its thread.
    pub thread: ThreadId,
    /// The assistant.
    pub assistant: String,
    /// The graph.
    pub graph: NodeName,
    /// Its status.
    pub status: RunStatus,
    /// The request: input, command, configuration, stream modes.
    pub kwargs: Json,
    /// Entries of the client.
    pub metadata: Map<String, Value>,
    /// The treatment of the thread's other runs.
    pub multitask: Multitask,
    /// The time of its creation.
    pub created_ms: u64,
    /// The time of the last change of its status.
    pub updated_ms: u64,
    /// The earliest time of its start; the time of its start once it was claimed.
    pub not_before_ms: u64,
    /// The worker of the latest attempt.
    pub owner: Option<String>,
    /// The time at which a running run counts as abandoned.
    pub until_ms: u64,
    /// The number of attempts that were started. It grows with each claim, and is the fence of a worker's writes.
    pub attempt: u32,
    /// The number of attempts that were lost with their workers since the run's last progress. While a later attempt than
    /// the first is running, it is counted, too.
    pub lost: u32,
    /// A request to end it.
    pub cancel: Option<CancelAction>,
    /// The error, if it failed.
    pub error: Option<Json>,
    /// The calls of its webhook. `None` without one, and after the last call.
    #[serde(default)]
    pub calls: Option<Calls>,
}

/// The calls of a run's webhook, which are made after the end of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    /// The earliest time of the next call. While a call is made, the time at which it counts as lost.
    pub next_ms: u64,
    /// The number of calls that were started. It grows with each claim, and is the fence of a caller.
    pub started: u32,
}

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Accepted, and not started.
    Pending,
    /// Claimed by a worker.
    Running,
    /// Ended: the graph finished, or waits for an answer.
    Success,
    /// Ended: a node failed, or the run could not be started.
    Error,
    /// Ended by a request, or by a newer run.
    Interrupted,
    /// Ended: it took too long.
    Timeout,
}

/// Gives each value of an enum the name that it has in JSON.
macro_rules! names {
    ($($type:ident { $($variant:ident = $name:literal),+ })+) => {
        $(impl $type {
            /// Returns the name, as in JSON.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// Returns the value with this name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)+
                    _ => None,
                }
            }
        })+
    };
}

names! {
    ThreadStatus { Idle = "idle", Busy = "busy", Interrupted = "interrupted", Error = "error" }
    RunStatus {
        Pending = "pending", Running = "running", Success = "success", Error = "error",
        Interrupted = "interrupted", Timeout = "timeout"
    }
    Multitask { Reject = "reject", Enqueue = "enqueue", Interrupt = "interrupt", Rollback = "rollback" }
    CancelAction { Interrupt = "interrupt", Rollback = "rollback" }
}

impl RunStatus {
    /// Returns `true` for the status of a run that has ended.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }
}

/// The treatment of the runs of a thread that have not ended when a new one arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Multitask {
    /// The new run is refused.
    Reject,
    /// The new run waits for them.
    #[default]
    Enqueue,
    /// They end as `interrupted`, and their work is kept.
    Interrupt,
    /// They are deleted, and the thread goes back to the state before them.
    Rollback,
}

/// The end that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelAction {
    /// The run ends as `interrupted`, and its work is kept.
    Interrupt,
    /// The run is deleted, and the thread goes back to the state before it.
    Rollback,
}

/// A version of an assistant: a graph with configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AssistantRow {
    /// Its id.
    pub id: String,
    /// The version, from 1.
    pub version: u32,
    /// The graph.
    pub graph: NodeName,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// The configuration of its runs.
    pub config: Json,
    /// The context of its runs.
    pub context: Json,
    /// Entries of clients and of the server.
    pub metadata: Map<String, Value>,
    /// The time at which the assistant was created.
    pub created_ms: u64,
    /// The time at which this version was stored or made the current one.
    pub updated_ms: u64,
}

/// A schedule of runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CronRow {
    /// Its id.
    pub id: String,
    /// The thread of its runs; `None` for a new thread each time.
    pub thread: Option<ThreadId>,
    /// The assistant.
    pub assistant: String,
    /// The times, as a cron expression.
    pub schedule: String,
    /// The time zone of the expression; UTC without one.
    pub timezone: Option<String>,
    /// The request of each run.
    pub payload: Json,
    /// Entries of clients and of the server.
    pub metadata: Map<String, Value>,
    /// `true` if the thread of a run is kept, for runs on threads of their own.
    pub keeps_thread: bool,
    /// `false` for a schedule that starts nothing.
    pub enabled: bool,
    /// The next start; `None` after the last one.
    pub next_ms: Option<u64>,
    /// The time after which nothing starts.
    pub end_ms: Option<u64>,
    /// The time of its creation.
    pub created_ms: u64,
    /// The time of its last change.
    pub updated_ms: u64,
}

/// An event of a thread's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRow {
    /// The thread.
    pub thread: ThreadId,
    /// Its number in the thread's log.
    pub seq: u64,
    /// The run.
    pub run: String,
    /// The time at which it was logged.
    pub at_ms: u64,
    /// The event.
    pub text: Json,
}
