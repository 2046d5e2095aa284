//! The usage of model calls.

use serde::{Deserialize, Serialize};

use superstep_core::checkpoint::{EffectOutcome, EffectRecord};

use super::page::{Page, plain};

/// The usage and the duration of model calls. A model call is an effect whose outcome has a member `usage` with
/// `input_tokens` and `output_tokens`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct TokenUsage {
    model_calls: u64,
    input_tokens: u64,
    output_tokens: u64,
    /// The part of `input_tokens` that was in the provider's cache.
    #[serde(skip_serializing_if = "is_zero")]
    cache_read_tokens: u64,
    elapsed_ms: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The members of a model call's outcome that are read.
#[derive(Deserialize)]
struct ModelCall {
    usage: Tokens,
    #[serde(default)]
    elapsed_ms: u64,
}

#[derive(Deserialize)]
struct Tokens {
    input_tokens: u64,
    output_tokens: u64,
    #[serde(default)]
    cache_read_tokens: u64,
}

impl TokenUsage {
    /// Returns the usage of the model calls among these effects; `None` if there are none.
    pub(super) fn by(effects: &[EffectRecord]) -> Option<Self> {
        let outcomes = effects.iter().filter_map(|effect| match &effect.outcome {
            Some(EffectOutcome::Ok(value)) => value.decode::<ModelCall>().ok(),
            _ => None,
        });
        Self::sum(outcomes.map(|ModelCall { usage, elapsed_ms }| Self {
            model_calls: 1,
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cache_read_tokens: usage.cache_read_tokens,
            elapsed_ms,
        }))
    }

    /// Returns the sum of these; `None` if there are none.
    pub(super) fn sum(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        all.into_iter().reduce(|sum, more| Self {
            model_calls: sum.model_calls.saturating_add(more.model_calls),
            input_tokens: sum.input_tokens.saturating_add(more.input_tokens),
            output_tokens: sum.output_tokens.saturating_add(more.output_tokens),
            cache_read_tokens: sum.cache_read_tokens.saturating_add(more.cache_read_tokens),
            elapsed_ms: sum.elapsed_ms.saturating_add(more.elapsed_ms),
        })
    }

    /// Returns the number of tokens read and written.
    pub(super) fn both(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Formats the tokens for a column: input and output.
    pub(super) fn tokens(self) -> String {
        format!("{}+{}", self.input_tokens, self.output_tokens)
    }

    /// Shows the usage, after the text `of`.
    pub(super) fn show(self, page: &mut Page, of: &str) {
        let Self { model_calls, input_tokens, output_tokens, elapsed_ms, .. } = self;
        let calls =
            if model_calls == 1 { "1 model call".into() } else { format!("{model_calls} model calls") };
        let seconds = std::time::Duration::from_millis(elapsed_ms).as_secs_f64();
        page.line([plain(format!(
            "{of}{calls}: {input_tokens} tokens read, {output_tokens} written, {seconds:.1} s"
        ))]);
    }
}
