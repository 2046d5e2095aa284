//! Work on top of a checkpoint, as the texts of rows.

use serde::{Deserialize, Serialize};
use superstep_core::checkpoint::{FailureRecord, StoreError, TaskResult};

/// A checkpoint from the view of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) seq: i64,
    /// The row of the thread whose work on the checkpoint is visible.
    pub(crate) worker: i64,
    /// `true` if the checkpoint is that thread's head.
    pub(crate) head: bool,
}

pub(crate) fn encode<T: Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Io(Box::new(error)))
}

/// The outcome of a task, as its row contains it.
pub(crate) enum Pending {
    Finished(TaskResult),
    Failed(FailureRecord),
}

impl Pending {
    /// Parses the text of a row.
    pub(crate) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        if text.starts_with(FAILED) {
            serde_json::from_str(text).map(|Failed { failure }| Self::Failed(failure))
        } else {
            serde_json::from_str(text).map(Self::Finished)
        }
    }
}

/// The text of a failure's row. A result's text begins with its task.
#[derive(Serialize, Deserialize)]
struct Failed<F> {
    failure: F,
}

/// Returns the text of a failure's row.
pub(crate) fn encode_failure(failure: &FailureRecord) -> Result<String, StoreError> {
    encode(&Failed { failure })
}

const FAILED: &str = "{\"failure\":";
