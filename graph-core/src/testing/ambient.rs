//! A manual clock, sequential ids and seeded random numbers for tests.

use std::sync::Arc;
use std::time::Duration;

use spin::Mutex;
use uuid::Uuid;

use crate::run::Ambient;

/// The initial time of a test's clock, since the Unix epoch: 2025-01-01.
const BEGIN: Duration = Duration::from_secs(1_735_689_600);

/// Time, ids and random numbers for a test: two runs of the same program produce the same checkpoints, byte for
/// byte.
///
/// The clock stands still at 2025-01-01, 00:00 UTC, until the test advances it. With
/// [`on_paused_time`](Self::on_paused_time) it also follows tokio's paused clock: retries, timeouts and waits then
/// take no real time, and the deadlines of questions expire with them.
///
/// Clones share the clock and the ids: give a clone to the graph and keep one.
///
/// ```
/// # extern crate superstep_core as superstep;
/// use std::time::Duration;
/// use superstep::run::Ambient;
/// use superstep::testing::TestAmbient;
///
/// let (one, other) = (TestAmbient::seeded(7), TestAmbient::seeded(7));
/// assert_eq!([one.id(), one.id()], [other.id(), other.id()]);
///
/// let before = one.now();
/// one.advance(Duration::from_secs(86_400));
/// assert_eq!(one.now() - before, Duration::from_secs(86_400));
/// ```
#[derive(Clone, Debug)]
pub struct TestAmbient {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug)]
struct Inner {
    random: u64,
    /// The number of ids drawn so far.
    ids: u64,
    told: Duration,
    /// The start time on tokio's clock, if this clock follows it.
    began: Option<tokio::time::Instant>,
}

impl TestAmbient {
    /// Creates a source whose ids and random numbers follow from `seed`.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        let inner = Inner { random: seed, ids: 0, told: Duration::ZERO, began: None };
        Self { inner: Arc::new(Mutex::new(inner)) }
    }

    /// Makes the clock follow tokio's clock, which must be paused.
    ///
    /// # Panics
    /// Panics if tokio's clock is not paused. Start the test with `#[tokio::test(start_paused = true)]`.
    #[must_use]
    #[track_caller]
    pub fn on_paused_time(self) -> Self {
        // A running clock lies between two readings of the system's clock; a paused one does not.
        let before = std::time::Instant::now();
        let now = tokio::time::Instant::now();
        let runs = (before..=std::time::Instant::now()).contains(&now.into_std());
        assert!(
            !runs,
            "tokio's clock is not paused, so no two runs are the same: start the test with #[tokio::test(start_paused \
             = true)]"
        );
        self.inner.lock().began = Some(now);
        self
    }

    /// Advances the clock. Sleeps and timeouts use tokio's clock, so they do not end because of this.
    pub fn advance(&self, time: Duration) {
        let mut inner = self.inner.lock();
        inner.told = inner.told.saturating_add(time);
    }
}

impl Inner {
    fn now(&self) -> Duration {
        let slept = self.began.map_or(Duration::ZERO, |began| began.elapsed());
        BEGIN.saturating_add(self.told).saturating_add(slept)
    }

    /// Returns the next number of SplitMix64 (Steele, Lea and Flood, 2014).
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

impl Ambient for TestAmbient {
    /// Returns a UUIDv7 with a counter after its time, so that ids sort in the order in which they were drawn.
    fn id(&self) -> Uuid {
        let mut inner = self.inner.lock();
        inner.ids += 1;
        let ms = inner.now().as_millis() & ((1 << 48) - 1);
        let (count, random) = (u128::from(inner.ids), u128::from(inner.random()));
        // The counter takes 42 bits: 12 after the version, and 30 after the variant. The other 32 bits are random.
        let (high, low) = ((count >> 30) & 0xfff, count & ((1 << 30) - 1));
        let tail = (low << 32) | (random & 0xffff_ffff);
        Uuid::from_u128((ms << 80) | (0x7 << 76) | (high << 64) | (0b10 << 62) | tail)
    }

    fn now(&self) -> Duration {
        self.inner.lock().now()
    }

    fn roll(&self) -> f64 {
        let bits = self.inner.lock().random() >> 32;
        f64::from(u32::try_from(bits).expect("32 bits are left")) / (f64::from(u32::MAX) + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn ids_sort_as_they_were_made_and_follow_from_the_seed() {
        let ids = |seed| {
            let ambient = TestAmbient::seeded(seed);
            (0..1000).map(|_| ambient.id()).collect::<Vec<_>>()
        };
        assert_eq!(ids(7), ids(7));
        assert_ne!(ids(7), ids(8));
        assert!(ids(7).is_sorted_by(|one, other| one < other));
        let first = ids(7)[0];
        assert_eq!((first.get_version_num(), first.get_variant()), (7, uuid::Variant::RFC4122));
        let (seconds, _) = first.get_timestamp().expect("a UUIDv7 has a time").to_unix();
        assert_eq!(seconds, BEGIN.as_secs());
        let roll = TestAmbient::seeded(7).roll();
        assert!((0.0..1.0).contains(&roll));
    }

    #[test]
    #[should_panic(expected = "tokio's clock is not paused")]
    fn a_clock_that_runs_is_not_followed() {
        let _ambient = TestAmbient::seeded(7).on_paused_time();
    }
}
