//! The system's clock, ids and chance.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use uuid::Uuid;

pub use crate::node::Ambient;
use crate::store::Clock;

/// The time of a run, for its store.
pub(super) struct AmbientClock(pub(super) Arc<dyn Ambient>);

impl Clock for AmbientClock {
    fn now(&self) -> Duration {
        self.0.now()
    }
}

/// The system's clock and generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Ambient for System {
    fn id(&self) -> Uuid {
        Uuid::now_v7()
    }

    fn now(&self) -> Duration {
        // A clock before 1970 is shown as 1970: times are for people and order nothing.
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    fn roll(&self) -> f64 {
        // The last 32 bits of a UUIDv7 are random.
        let bits = u32::from_le_bytes(*Uuid::now_v7().as_bytes().last_chunk().expect("a UUID has 16 bytes"));
        f64::from(bits) / (f64::from(u32::MAX) + 1.0)
    }
}
