//! The number of repetitions, and the random numbers.

/// The seed, unless `SUPERSTEP_TORTURE_SEED` says another.
const SEED: u64 = 0x5eed_0000_5eed;

/// The multiple of the gate's counts: `SUPERSTEP_TORTURE`.
pub(crate) fn times(gate: u64) -> u64 {
    let times = number("SUPERSTEP_TORTURE").unwrap_or(1);
    gate * times.max(1)
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is a number, not {text:?}")))
}

/// Prints how to reproduce a failure, if the test that holds it fails.
pub(crate) struct Replay(pub(crate) &'static str);

impl Drop for Replay {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let seed = number("SUPERSTEP_TORTURE_SEED").unwrap_or(SEED);
            let (times, test) = (times(1), self.0);
            println!(
                "\nseed {seed}; once more: SUPERSTEP_TORTURE_SEED={seed} SUPERSTEP_TORTURE={times} \
                 cargo test --test processes -- --include-ignored torture::{test}"
            );
        }
    }
}

/// A small generator: the same numbers in every run with the same seed.
pub(crate) struct Dice(u64);

impl Dice {
    /// The generator of one test or of one of its cases, each of which has its own.
    pub(crate) fn of(case: u64) -> Self {
        let seed = number("SUPERSTEP_TORTURE_SEED").unwrap_or(SEED);
        Self(seed ^ (case + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// A number below `limit`; 0 for 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit.max(1)
    }
}
