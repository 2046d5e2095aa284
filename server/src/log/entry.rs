//! An event of a thread's log, and its projection into frames of a stream.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use superstep_core::records::{RunStatus, ThreadStatus};
use superstep_core::run::{CheckpointView, RunEvent};

use crate::wire::request::StreamMode;

/// The numbers of messages for each entry of the log.
pub(crate) const PER_ENTRY: u64 = 1024;

/// An event of a thread's log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LogEntry {
    /// The number, which grows within the thread and is never used twice.
    pub(crate) seq: u64,
    /// The time at which it was logged, in milliseconds since the Unix epoch.
    pub(crate) at_ms: u64,
    /// The run.
    pub(crate) run: String,
    /// The attempt of the run, from 1.
    pub(crate) attempt: u32,
    /// The event.
    pub(crate) what: Logged,
}

impl LogEntry {
    /// Returns the number of the message with this position among those that a projection makes of the entry. It
    /// follows from the number of the entry, so it is the same in every stream, and after a restart.
    pub(crate) fn number(&self, index: u64) -> u64 {
        self.seq.saturating_mul(PER_ENTRY).saturating_add(index.min(PER_ENTRY - 1))
    }

    /// Returns the id of that message for clients: `<milliseconds>-<number>`.
    pub(crate) fn id(&self, index: u64) -> String {
        format!("{}-{}", self.at_ms, self.number(index))
    }
}

/// The kinds of logged events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Logged {
    /// An attempt of the run begins. The first entry of each attempt.
    Begun {
        /// The graph.
        graph: String,
        /// The assistant.
        assistant: String,
        /// The metadata of the run.
        metadata: Map<String, Value>,
        /// The stream modes of the run.
        modes: Vec<StreamMode>,
        /// `true` if the events of subgraphs are streamed, too.
        subgraphs: bool,
    },
    /// An event of the graph, [`Update`](superstep_core::run::EventKind::Update) included, which names the written
    /// fields. States are not in the log: a projection that needs the one of a stored checkpoint
    /// [reads](Projection::needs_view) it.
    Event {
        /// The event.
        event: RunEvent,
    },
    /// The run has ended, and its row says so. The last entry of a run.
    Ended {
        /// The status of the run.
        status: RunStatus,
        /// The status of the thread.
        thread: ThreadStatus,
        /// The error: `error` with its name, `message` with its text.
        error: Option<Value>,
    },
}

/// A message of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frame {
    /// The name of the event.
    pub(crate) event: String,
    /// The data.
    pub(crate) data: Value,
    /// The id with which a client resumes after this message, for streams that can be resumed.
    pub(crate) id: Option<String>,
}

/// A form of a log for one client: a pure function of the entries that it was given, in order.
pub(crate) trait Projection: Send {
    /// Returns `true` if [`frames`](Self::frames) needs the checkpoint that this entry says was stored, or from which it
    /// says that a run continues.
    fn needs_view(&self, entry: &LogEntry) -> bool;

    /// Returns the messages for an entry. `view` is the checkpoint of an entry with
    /// [`CheckpointSaved`](superstep_core::run::EventKind::CheckpointSaved) or a continued
    /// [`RunStarted`](superstep_core::run::EventKind::RunStarted), if it was needed and still exists.
    fn frames(&mut self, entry: &LogEntry, view: Option<&CheckpointView>) -> Vec<Frame>;
}
