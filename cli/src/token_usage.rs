//! The usage of model calls.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

use superstep_core::checkpoint::{EffectOutcome, EffectRecord};
use superstep_nodes::model::{Prices, Usage};

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
    /// The cost, if the prices of all these models are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<Cost>,
}

/// A cost in millionths of a US dollar. Its JSON form is in dollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cost(u64);

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The members of a model call's outcome that are read.
#[derive(Deserialize)]
pub(super) struct ModelCall {
    pub(super) model: Option<String>,
    pub(super) usage: Tokens,
    pub(super) elapsed_ms: Option<u64>,
    pub(super) first_token_ms: Option<u64>,
}

/// The tokens of a model call. The last two are parts of the input.
#[derive(Deserialize)]
pub(super) struct Tokens {
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) cache_read_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

impl ModelCall {
    /// Returns the cost; `None` if the price is unknown.
    pub(super) fn cost(&self, prices: &Prices) -> Option<Cost> {
        let price = prices.of(self.model.as_deref()?)?;
        let Tokens { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens } = self.usage;
        let usage = Usage {
            cache_read_tokens: cache_read_tokens.unwrap_or(0),
            cache_write_tokens: cache_write_tokens.unwrap_or(0),
            ..Usage::of(input_tokens, output_tokens)
        };
        Some(Cost(price.micro_usd(&usage)))
    }
}

impl Cost {
    fn plus(self, more: Self) -> Self {
        Self(self.0.saturating_add(more.0))
    }

    fn dollars(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Small costs keep their digits.
        let digits = if self.0 < 1_000_000 { 6 } else { 2 };
        write!(f, "${:.digits$}", self.dollars())
    }
}

impl Serialize for Cost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.dollars())
    }
}

impl TokenUsage {
    /// Returns the usage of the model calls among these effects; `None` if there are none.
    pub(super) fn by(effects: &[EffectRecord], prices: &Prices) -> Option<Self> {
        let outcomes = effects.iter().filter_map(|effect| match &effect.outcome {
            Some(EffectOutcome::Ok(value)) => value.decode::<ModelCall>().ok(),
            _ => None,
        });
        Self::sum(outcomes.map(|call| Self {
            model_calls: 1,
            input_tokens: call.usage.input_tokens,
            output_tokens: call.usage.output_tokens,
            cache_read_tokens: call.usage.cache_read_tokens.unwrap_or(0),
            elapsed_ms: call.elapsed_ms.unwrap_or(0),
            cost: call.cost(prices),
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
            cost: sum.cost.zip(more.cost).map(|(sum, more)| sum.plus(more)),
        })
    }

    /// Returns the number of tokens read and written.
    pub(super) fn both(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Returns the cost, if all prices are known.
    pub(super) fn cost(self) -> Option<Cost> {
        self.cost
    }

    /// Formats the tokens for a column: input and output.
    pub(super) fn tokens(self) -> String {
        format!("{}+{}", self.input_tokens, self.output_tokens)
    }

    /// Shows the usage, after the text `of`.
    pub(super) fn show(self, page: &mut Page, of: &str) {
        let Self { model_calls, input_tokens, output_tokens, elapsed_ms, cost, .. } = self;
        let calls =
            if model_calls == 1 { "1 model call".into() } else { format!("{model_calls} model calls") };
        let seconds = std::time::Duration::from_millis(elapsed_ms).as_secs_f64();
        let cost = cost.map(|cost| format!(", {cost}")).unwrap_or_default();
        page.line([plain(format!(
            "{of}{calls}: {input_tokens} tokens read, {output_tokens} written, {seconds:.1} s{cost}"
        ))]);
    }
}
