//! The token usage that an answer reports.

/// The tokens of an answer, which the server tells and does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_read: u64,
    pub(super) cache_written: u64,
    pub(super) reasoning: u64,
}

impl Usage {
    /// Tokens of the input that were neither read from a cache nor written to one, and tokens of the output.
    pub fn new(input: u64, output: u64) -> Self {
        Self { input, output, cache_read: 0, cache_written: 0, reasoning: 0 }
    }

    /// Says how many more tokens of the input were read from a cache.
    #[must_use]
    pub fn cache_read(self, tokens: u64) -> Self {
        Self { cache_read: tokens, ..self }
    }

    /// Says how many more tokens of the input were written to a cache.
    #[must_use]
    pub fn cache_written(self, tokens: u64) -> Self {
        Self { cache_written: tokens, ..self }
    }

    /// Says how many tokens of the output were thinking.
    #[must_use]
    pub fn reasoning(self, tokens: u64) -> Self {
        Self { reasoning: tokens, ..self }
    }

    /// All of the input, which is what OpenAI calls the input.
    pub(super) fn whole_input(&self) -> u64 {
        self.input + self.cache_read + self.cache_written
    }
}

impl Default for Usage {
    fn default() -> Self {
        Self::new(20, 5)
    }
}
