//! The clock of the server.

use std::sync::Arc;
use std::time::Duration;

use superstep_core::store::SystemClock;

/// A clock. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Clock(Arc<dyn superstep_core::store::Clock>);

impl Clock {
    /// Returns the time in milliseconds since the Unix epoch.
    pub(crate) fn now_ms(&self) -> u64 {
        millis(self.0.now())
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self(Arc::new(SystemClock))
    }
}

impl<C: superstep_core::store::Clock> From<C> for Clock {
    fn from(clock: C) -> Self {
        Self(Arc::new(clock))
    }
}

/// Returns a duration in milliseconds.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
