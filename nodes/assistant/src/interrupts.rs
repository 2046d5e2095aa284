//! The interruption of a turn.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use superstep_core::id::ThreadId;
use superstep_core::node::TaskInfo;
use superstep_core::run::CancellationToken;

/// Stops turns of sessions while they run, such as when a person presses Esc. Clones share the sessions.
///
/// A stopped turn is no cancelled run: the model or the tools stop, every open call is answered, and the run finishes
/// with [`Exit::AbortedStreaming`](crate::exit::Exit::AbortedStreaming) or
/// [`Exit::AbortedTools`](crate::exit::Exit::AbortedTools). Sub-agents stop with their session.
#[derive(Clone, Default)]
pub struct Interrupts(Arc<Mutex<HashMap<ThreadId, CancellationToken>>>);

impl Interrupts {
    /// Makes one without sessions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the turn that runs in a session. Returns `false` if none runs in this process, or it is stopped already.
    pub fn stop(&self, session: &ThreadId) -> bool {
        // A token is whole between the operations of the map.
        let tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match tokens.get(session) {
            Some(token) if !token.is_cancelled() => {
                token.cancel();
                true
            }
            _ => false,
        }
    }

    /// Begins a turn of the task's session: a stop of an earlier run, which failed before it saw it, is forgotten.
    pub(crate) fn begin(&self, task: &TaskInfo) {
        if !task.thread().is_below() {
            let mut tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            tokens.insert(task.thread().clone(), CancellationToken::new());
        }
    }

    /// Returns the token that stops the turn of the task's session. It stays, cancelled or not, until the run
    /// [ends](Self::end), so every node after a stop sees it.
    pub(crate) fn of(&self, task: &TaskInfo) -> CancellationToken {
        let mut tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.entry(session(task)).or_default().clone()
    }

    /// Forgets the session of a task with which the run ends. To be called at every exit.
    pub(crate) fn end(&self, task: &TaskInfo) {
        if !task.thread().is_below() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(task.thread());
        }
    }
}

/// Returns the session that a task belongs to: sub-agents run on threads below that of the session.
fn session(task: &TaskInfo) -> ThreadId {
    let mut session = task.thread().clone();
    while let Some(above) = session.above() {
        session = above;
    }
    session
}

impl fmt::Debug for Interrupts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupts").finish_non_exhaustive()
    }
}
