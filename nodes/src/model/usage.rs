//! The usage of model calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_core::reducer::{Addend, Overflow};

/// The usage of a model call, in tokens. A model that has no tokens documents the unit that it counts.
///
/// The first two are totals; the others are parts of them, if the provider reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Input tokens, including those that were read from or written to a cache.
    pub input_tokens: u64,
    /// Output tokens, including those of thinking.
    pub output_tokens: u64,
    /// The part of the input that was found in the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_read_tokens: u64,
    /// The part of the input that was written to the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// The part of the output that is thinking.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
}

impl Usage {
    /// Makes a usage of so many tokens read and written.
    pub const fn of(input_tokens: u64, output_tokens: u64) -> Self {
        Self { input_tokens, output_tokens, cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 }
    }

    /// Returns all tokens, read and written.
    pub const fn total(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Returns the larger number of each: what two reports on one call come to.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.max(other.input_tokens),
            output_tokens: self.output_tokens.max(other.output_tokens),
            cache_read_tokens: self.cache_read_tokens.max(other.cache_read_tokens),
            cache_write_tokens: self.cache_write_tokens.max(other.cache_write_tokens),
            reasoning_tokens: self.reasoning_tokens.max(other.reasoning_tokens),
        }
    }
}

impl Addend for Usage {
    fn try_add(&mut self, more: Self) -> Result<(), Overflow> {
        let mut sum = *self;
        sum.input_tokens.try_add(more.input_tokens)?;
        sum.output_tokens.try_add(more.output_tokens)?;
        sum.cache_read_tokens.try_add(more.cache_read_tokens)?;
        sum.cache_write_tokens.try_add(more.cache_write_tokens)?;
        sum.reasoning_tokens.try_add(more.reasoning_tokens)?;
        *self = sum;
        Ok(())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
