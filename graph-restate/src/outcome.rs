//! The errors of runs as Restate's: repeated, or terminal.

use restate_sdk::errors::{HandlerError, TerminalError};
use superstep_core::checkpoint::StoreError;
use superstep_core::id::ThreadId;
use superstep_core::run::{RunError, ThreadError};

/// The code of a cancelled invocation.
pub(crate) const CANCELLED: u16 = 409;

/// Returns the error of a run for Restate.
pub(crate) fn failed(error: RunError) -> HandlerError {
    terminal(error).map_or_else(|repeated| repeated, HandlerError::from)
}

/// Returns the error that ends a run, or the one for which Restate repeats it.
///
/// A failed run is terminal, because graphs have retries of their own. Errors of the store and of races are repeated,
/// and so is a thread that this process may not run: another one may have its version of the graph.
pub(crate) fn terminal(error: RunError) -> Result<TerminalError, HandlerError> {
    let code = match &error {
        RunError::Superseded { .. } | RunError::Leased { .. } | RunError::LeaseLost { .. } => {
            return Err(error.into());
        }
        RunError::Changed { .. }
        | RunError::Thread(
            ThreadError::Restore(_)
            | ThreadError::Decode { .. }
            | ThreadError::Version { .. }
            | ThreadError::OtherVersion { .. }
            | ThreadError::Store(StoreError::NewerFormat { .. }),
        ) => return Err(format!("this process may not run the thread: {error}").into()),
        RunError::Thread(ThreadError::Superseded(_)) => return Err(error.into()),
        RunError::Thread(ThreadError::Store(stored)) => match stored {
            StoreError::TooLarge { .. } => 413,
            StoreError::NoInterrupt { .. } | StoreError::AlreadyAnswered(_) => 409,
            StoreError::WrongGraph { .. } | StoreError::NoLeases => 400,
            StoreError::Corrupt { .. } => 500,
            _ => return Err(error.into()),
        },
        RunError::Configuration { .. }
        | RunError::WrongAnswer { .. }
        | RunError::Subgraph { .. }
        | RunError::Thread(ThreadError::Misfit { .. } | ThreadError::Encode { .. }) => 400,
        RunError::StepTimedOut { .. } => 408,
        RunError::Conflict { .. } => 422,
        RunError::NothingToResume { .. } | RunError::Thread(ThreadError::NeverRan(_)) => 404,
        RunError::NothingAsked { .. } | RunError::WhichQuestion { .. } => 409,
        _ => 500,
    };
    Ok(TerminalError::new_with_code(code, error.to_string()))
}

/// Returns the end of a run that was cancelled.
pub(crate) fn cancelled(thread: &ThreadId) -> TerminalError {
    let text = format!("the run of thread {thread} was cancelled; resume the thread to continue it");
    TerminalError::new_with_code(CANCELLED, text)
}

/// Returns `true` for the error with which the SDK reports that the invocation was cancelled.
pub(crate) fn is_cancelled(error: &TerminalError) -> bool {
    error.code() == CANCELLED && error.message() == "cancelled"
}

/// Returns the error of a process that is about to end, which Restate repeats.
pub(crate) fn stopping() -> HandlerError {
    "this process is being stopped: another one continues".into()
}
