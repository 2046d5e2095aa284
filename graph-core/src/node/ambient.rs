//! Where a run takes time, ids and chance from.

use core::time::Duration;

use uuid::Uuid;

/// Gives the driver time, ids and random numbers. Replace it to make runs repeatable to the byte.
pub trait Ambient: Send + Sync + 'static {
    /// A fresh id: a UUIDv7.
    fn id(&self) -> Uuid;

    /// The time since the Unix epoch.
    fn now(&self) -> Duration;

    /// A random number in [0, 1).
    fn roll(&self) -> f64;
}

impl dyn Ambient {
    /// The time since the Unix epoch, in milliseconds.
    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.now().as_millis()).unwrap_or(u64::MAX)
    }
}
