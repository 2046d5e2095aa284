//! Reproducible randomness.

/// A generator of numbers: the same from the same seed, always. It is SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in `0..sides`.
    pub(crate) fn below(&mut self, sides: usize) -> usize {
        let sides = u64::try_from(sides).expect("a small number");
        usize::try_from(self.next() % sides).expect("a small number")
    }

    /// Returns `true` once in so many times, on average.
    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// A number in [0, 1).
    pub(crate) fn fraction(&mut self) -> f64 {
        f64::from(u32::try_from(self.next() >> 32).expect("32 bits")) / 4_294_967_296.0
    }
}
