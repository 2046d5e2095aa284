//! The errors of the core as errors of requests.

use superstep_core::checkpoint::StoreError;
use superstep_core::run::{RunError, ThreadError};
use superstep_core::store::AccessError;

use crate::wire::Failure;

/// The error of a request for a store that fails.
fn store(error: &dyn std::fmt::Display) -> Failure {
    tracing::error!(%error, "the store failed");
    let detail = "the store cannot be used at the moment; try again";
    Failure { retry_after: Some(1), ..Failure::new(503, detail) }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoCheckpoint { checkpoint, .. } => {
                Self::not_found(format!("Checkpoint {checkpoint} not found"))
            }
            StoreError::ThreadExists(thread) => {
                Self::conflict(format!("Thread with ID {thread} already exists"))
            }
            StoreError::NoThread(thread) => Self::not_found(format!("Thread with ID {thread} not found")),
            error @ (StoreError::Superseded { .. } | StoreError::LeaseLost { .. }) => {
                Self::conflict(error.to_string())
            }
            error @ StoreError::WrongGraph { .. } => Self::conflict(error.to_string()),
            error => store(&error),
        }
    }
}

impl From<ThreadError> for Failure {
    fn from(error: ThreadError) -> Self {
        match error {
            ThreadError::Store(error) => error.into(),
            ThreadError::NoSuchNode { node, meant, .. } => {
                Self::bad_request(format!("Node {node} does not exist{meant}"))
            }
            ThreadError::NeverRan(thread) => Self::not_found(format!("Thread {thread} has no checkpoint")),
            error @ ThreadError::Misfit { .. } => Self::invalid(error.to_string()),
            error @ ThreadError::Superseded(_) => Self::conflict(error.to_string()),
            error => Self::bad_request(error.to_string()),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Thread(error) => error.into(),
            error @ (RunError::Superseded { .. } | RunError::Leased { .. } | RunError::LeaseLost { .. }) => {
                Self::conflict(error.to_string())
            }
            error @ (RunError::WrongAnswer { .. } | RunError::WhichQuestion { .. }) => {
                Self::invalid(error.to_string())
            }
            error => Self::bad_request(error.to_string()),
        }
    }
}

impl From<AccessError> for Failure {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::NoStore => Self::not_found(error.to_string()),
            AccessError::Empty(_) => Self::bad_request(error.to_string()),
            error => store(&error),
        }
    }
}
