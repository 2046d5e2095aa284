//! The system's clock, ids and random numbers.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use spin::Mutex;
use uuid::Uuid;

pub use crate::node::Ambient;
use crate::store::Clock;

/// The clock of a run's store.
pub(crate) struct AmbientClock(pub(crate) Arc<dyn Ambient>);

impl Clock for AmbientClock {
    fn now(&self) -> Duration {
        self.0.now()
    }
}

/// The system's clock and random number generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

/// The last id of this process, and the time at which it was drawn.
static LAST: Mutex<(Duration, Uuid)> = Mutex::new((Duration::ZERO, Uuid::nil()));

/// The counter part of a UUIDv7: all bits after the variant.
const TAIL: u128 = (1 << 62) - 1;

impl Ambient for System {
    /// Returns a UUIDv7. The first id of a millisecond has new random bits, and later ones count up from there: the
    /// method "monotonic random" of RFC 9562, section 6.2. They sort in the order in which they were drawn, at a
    /// tenth of the cost.
    fn id(&self) -> Uuid {
        let now = self.now();
        let mut last = LAST.lock();
        let (made, id) = &mut *last;
        let bits = id.as_u128();
        *id = if now.as_millis() == made.as_millis() && bits & TAIL != TAIL {
            Uuid::from_u128(bits + 1)
        } else {
            Uuid::now_v7()
        };
        *made = now;
        *id
    }

    fn now(&self) -> Duration {
        // A clock before 1970 counts as 1970, because times are only for people.
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    fn roll(&self) -> f64 {
        // The last 32 bits of a UUIDv7 are random.
        let bits = u32::from_le_bytes(*Uuid::now_v7().as_bytes().last_chunk().expect("a UUID has 16 bytes"));
        f64::from(bits) / (f64::from(u32::MAX) + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn ids_sort_as_they_were_made_and_say_when() {
        let before = System.now().as_millis();
        let ids: Vec<Uuid> = (0..10_000).map(|_| System.id()).collect();
        let after = System.now().as_millis();
        assert!(ids.is_sorted_by(|a, b| a < b));
        for id in ids {
            let (seconds, nanos) = id.get_timestamp().expect("a UUIDv7 has a time").to_unix();
            let made = u128::from(seconds) * 1000 + u128::from(nanos) / 1_000_000;
            assert!((before..=after).contains(&made), "{made} is not between {before} and {after}");
            assert_eq!((id.get_version_num(), id.get_variant()), (7, uuid::Variant::RFC4122));
        }
    }
}
