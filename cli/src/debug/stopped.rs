//! The reasons why a run stopped early.

use crate::failure::Failure;
use superstep_core::run::{RunError, ThreadError};

/// The reason why a run stopped early.
#[derive(Debug)]
pub(super) enum Stopped {
    /// It did not start: the request is not valid for the thread.
    Refused(Failure),
    /// It failed.
    Failed(RunError),
}

impl From<ThreadError> for Stopped {
    fn from(error: ThreadError) -> Self {
        Self::Refused(error.into())
    }
}

impl From<RunError> for Stopped {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Thread(error) => error.into(),
            RunError::NothingToResume { .. } => Self::Refused(Failure::nothing(error.to_string())),
            RunError::NothingAsked { .. }
            | RunError::WhichQuestion { .. }
            | RunError::WrongAnswer { .. }
            | RunError::Subgraph { .. }
            | RunError::Leased { .. }
            | RunError::NotANewThread { .. }
            | RunError::Changed { .. } => Self::Refused(Failure::unusable(error.to_string())),
            error => Self::Failed(error),
        }
    }
}

impl From<ThreadError> for Failure {
    fn from(error: ThreadError) -> Self {
        match error {
            ThreadError::Store(error) => error.into(),
            ThreadError::NeverRan(_) => Self::nothing(error.to_string()),
            error => Self::unusable(error.to_string()),
        }
    }
}
