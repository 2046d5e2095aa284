//! The end of an attempt: from the engine's outcome to the row.

use serde_json::json;
use superstep_core::checkpoint::StoreError;
use superstep_core::error::ErrorReport;
use superstep_core::records::life::Ending;
use superstep_core::records::{RunStatus, ThreadStatus};
use superstep_core::run::{AnyState, RunError, Status, Thread, ThreadError};
use superstep_core::state::Json;

/// The error with which a run ends, as clients see it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failed {
    /// The name of the error.
    pub(crate) error: String,
    /// The text.
    pub(crate) message: String,
    /// The treatment of the run.
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The run has failed.
    Failed,
    /// The run took too long.
    TimedOut,
    /// Another program works on the thread; the run may be tried again.
    Elsewhere,
    /// This program may not continue the thread, or its graph does not fit it.
    Unfit,
}

impl Failed {
    pub(super) fn new(error: &str, message: String) -> Self {
        Self { error: error.to_owned(), message, kind: Kind::Failed }
    }

    /// Returns the error of a run that Restate drove, with its code there.
    #[cfg(feature = "restate")]
    pub(super) fn of_code(code: u16, message: String) -> Self {
        let (error, kind) = match code {
            400 => ("ValueError", Kind::Failed),
            404 => ("EmptyInputError", Kind::Failed),
            408 => ("TimeoutError", Kind::TimedOut),
            409 => ("InvalidAnswer", Kind::Failed),
            413 => ("StoreError", Kind::Failed),
            422 => ("InvalidUpdateError", Kind::Failed),
            _ => (NODE, Kind::Failed),
        };
        Self { error: error.to_owned(), message, kind }
    }

    /// Returns `true` if the run may be tried again, because another program works on its thread.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.kind == Kind::Elsewhere
    }

    /// Returns `true` if a program with another version of the graph may be able to carry out the run.
    pub(super) fn is_unfit(&self) -> bool {
        self.kind == Kind::Unfit
    }

    /// Takes name and text from the failed task, which contain no secrets and nothing of the server.
    pub(super) fn of_task(self, report: Option<&ErrorReport>) -> Self {
        let Some(report) = report.filter(|_| self.error == NODE) else { return self };
        Self { error: format!("{:?}", report.kind), message: report.to_string(), ..self }
    }

    pub(super) fn ending(&self) -> Ending {
        let status = if self.kind == Kind::TimedOut { RunStatus::Timeout } else { RunStatus::Error };
        let error = Json::encode(&json!({ "error": self.error, "message": self.message }));
        Ending::Ended { status, thread: ThreadStatus::Error, error: error.ok() }
    }
}

/// The name of the error of a node, until that of its task is known.
const NODE: &str = "NodeError";

impl From<ThreadError> for Failed {
    fn from(error: ThreadError) -> Self {
        RunError::from(error).into()
    }
}

impl From<RunError> for Failed {
    fn from(error: RunError) -> Self {
        let (name, kind) = match &error {
            RunError::Node(_) => (NODE, Kind::Failed),
            RunError::StepTimedOut { .. } => ("TimeoutError", Kind::TimedOut),
            RunError::Leased { .. }
            | RunError::Superseded { .. }
            | RunError::LeaseLost { .. }
            | RunError::Thread(
                ThreadError::Superseded(_) | ThreadError::Store(StoreError::LeaseLost { .. }),
            ) => ("ThreadBusy", Kind::Elsewhere),
            RunError::Changed { .. }
            | RunError::Thread(
                ThreadError::Restore(_)
                | ThreadError::Decode { .. }
                | ThreadError::Version { .. }
                | ThreadError::OtherVersion { .. },
            ) => ("RunError", Kind::Unfit),
            RunError::Conflict { .. } => ("InvalidUpdateError", Kind::Failed),
            RunError::Configuration { .. } => ("InvalidConfiguration", Kind::Failed),
            RunError::WrongAnswer { .. } | RunError::WhichQuestion { .. } => ("InvalidAnswer", Kind::Failed),
            RunError::Thread(ThreadError::Misfit { .. }) => ("InvalidUpdateError", Kind::Failed),
            RunError::Thread(ThreadError::NeverRan(_)) => ("EmptyInputError", Kind::Failed),
            RunError::Thread(ThreadError::Store(StoreError::NoCheckpoint { .. })) => {
                ("CheckpointNotFound", Kind::Failed)
            }
            RunError::Thread(ThreadError::Store(_)) => ("StoreError", Kind::Failed),
            _ => ("RunError", Kind::Failed),
        };
        Self { error: name.to_owned(), message: error.to_string(), kind }
    }
}

/// Returns the end of a run that did not fail. `None`: it was cancelled or drained.
pub(super) fn ended(status: &Status) -> Option<Ending> {
    let (status, thread) = match status {
        Status::Finished | Status::TaskRecorded => (RunStatus::Success, ThreadStatus::Idle),
        Status::Interrupted { .. } | Status::Breakpoint { .. } => {
            (RunStatus::Success, ThreadStatus::Interrupted)
        }
        Status::LimitReached { limit } => {
            let message = format!(
                "Recursion limit of {limit} reached without hitting a stop condition. You can increase the limit by \
                 setting the `recursion_limit` config key."
            );
            return Some(Failed::new("GraphRecursionError", message).ending());
        }
        _ => return None,
    };
    Some(Ending::Ended { status, thread, error: None })
}

/// Returns the status of a thread that no run works on.
pub(crate) async fn resting(thread: &Thread<AnyState>) -> Result<ThreadStatus, ThreadError> {
    match thread.head().await {
        Ok(head) if !head.next().is_empty() => Ok(ThreadStatus::Interrupted),
        Ok(_) | Err(ThreadError::NeverRan(_)) => Ok(ThreadStatus::Idle),
        Err(error) => Err(error),
    }
}
