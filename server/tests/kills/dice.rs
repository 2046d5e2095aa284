//! Random numbers, the same in every run with the same seed.

/// The seed, unless `SUPERSTEP_KILLS_SEED` says another.
const SEED: u64 = 0x5eed_0000_5eed;

/// Reads a variable with a number.
pub(crate) fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is a number, not {text:?}")))
}

/// A small generator.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new() -> Self {
        Self(number("SUPERSTEP_KILLS_SEED").unwrap_or(SEED))
    }

    /// Returns another generator.
    pub(crate) fn split(&mut self) -> Self {
        Self(self.below(u64::MAX))
    }

    /// Returns a number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit.max(1)
    }
}
