//! The source of time, ids and random numbers for a run.

use core::time::Duration;

use uuid::Uuid;

/// Provides the driver with time, ids and random numbers. Replace it to make runs reproducible to the byte.
pub trait Ambient: Send + Sync + 'static {
    /// Returns a new id, a UUIDv7.
    fn id(&self) -> Uuid;

    /// Returns the time since the Unix epoch.
    fn now(&self) -> Duration;

    /// Returns a random number in [0, 1).
    fn roll(&self) -> f64;
}

impl dyn Ambient {
    /// Returns the time since the Unix epoch, in milliseconds.
    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.now().as_millis()).unwrap_or(u64::MAX)
    }
}
