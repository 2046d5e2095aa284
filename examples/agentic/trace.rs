//! Which phases a turn went through.

use std::sync::{Arc, Mutex, PoisonError};

use superstep::run::{EventKind, Observer, RunEvent};

/// The nodes that have run, in order.
#[derive(Clone, Default)]
pub(crate) struct Phases(Arc<Mutex<Vec<String>>>);

impl Phases {
    pub(crate) fn ran(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Observer for Phases {
    fn on_event(&self, event: &RunEvent) {
        if let EventKind::TaskFinished { node, .. } = &event.kind
            && event.path.is_empty()
            && !node.is_start()
        {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(node.to_string());
        }
    }
}
