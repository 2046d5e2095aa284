//! The sessions of the threads that a node runs tools for.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use superstep_core::id::ThreadId;

use crate::tool::ToolSession;

/// The maximum number of threads whose session is kept.
const MOST_KEPT: usize = 1_000;

/// The sessions of threads: values that tools share in one thread are not seen in another.
///
/// The sessions of the most recently used threads are kept. A thread that is used again later begins a new session, as
/// it does in another process.
#[derive(Default)]
pub(super) struct ToolSessions {
    workspace: Option<PathBuf>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// With the number of the visit at which each was used last.
    sessions: HashMap<ThreadId, (u64, ToolSession)>,
    visits: u64,
}

impl ToolSessions {
    /// Sessions whose tools work in this folder.
    pub(super) fn in_workspace(folder: impl Into<PathBuf>) -> Self {
        Self { workspace: Some(folder.into()), ..Self::default() }
    }

    /// The session of a thread.
    pub(super) fn of(&self, thread: &ThreadId) -> ToolSession {
        // Nothing in here panics half done.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.visits += 1;
        let now = kept.visits;
        if let Some((used, session)) = kept.sessions.get_mut(thread) {
            *used = now;
            return session.clone();
        }
        if kept.sessions.len() >= MOST_KEPT {
            let oldest = kept.sessions.iter().min_by_key(|(_, (used, _))| *used);
            let oldest = oldest.map(|(thread, _)| thread.clone()).expect("there are as many as are kept");
            kept.sessions.remove(&oldest);
        }
        let session = self.workspace.clone().map_or_else(ToolSession::new, ToolSession::in_workspace);
        kept.sessions.insert(thread.clone(), (now, session.clone()));
        session
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn thread(name: impl ToString) -> ThreadId {
        name.to_string().into()
    }

    /// Counts a visit of this thread in its session, and returns the number of visits before it.
    fn visit(sessions: &ToolSessions, name: impl ToString) -> u32 {
        sessions.of(&thread(name)).shared::<AtomicU32>().fetch_add(1, Ordering::Relaxed)
    }

    #[test]
    fn threads_do_not_see_each_others_values() {
        let sessions = ToolSessions::in_workspace("/work");
        assert_eq!(["a", "a", "b"].map(|name| visit(&sessions, name)), [0, 1, 0]);
        assert_eq!(sessions.of(&thread("b")).workspace(), Some("/work".as_ref()));
    }

    #[test]
    fn the_session_that_was_not_used_for_longest_goes_first() {
        let sessions = ToolSessions::default();
        visit(&sessions, "old");
        visit(&sessions, "used");
        for other in 2..MOST_KEPT {
            visit(&sessions, other);
        }
        assert_eq!(visit(&sessions, "used"), 1);
        visit(&sessions, "one too many");
        assert_eq!((visit(&sessions, "used"), visit(&sessions, "old")), (2, 0));
    }
}
