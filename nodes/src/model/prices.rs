//! What tokens cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Usage;

/// What tokens cost, by the names of models. Prices change, so they are data: a program brings its own, from code or
/// from a file.
///
/// A price counts for every model whose name begins with its own, as providers add dates to theirs; of several the
/// longest.
///
/// ```
/// use superstep_nodes::model::Prices;
///
/// let prices: Prices = serde_json::from_str(r#"{
///     "claude-x": { "input": 3.0, "output": 15.0, "cache_read": 0.3, "cache_write": 3.75 },
///     "claude-x-mini": { "input": 0.25, "output": 1.25 }
/// }"#)?;
/// assert_eq!(prices.of("claude-x-20260101").unwrap().input, 3.0);
/// assert_eq!(prices.of("claude-x-mini-1").unwrap().input, 0.25);
/// assert!(prices.of("gpt-x").is_none());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Prices(BTreeMap<String, Price>);

/// What a million tokens cost, in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Of what is read.
    pub input: f64,
    /// Of what is written.
    pub output: f64,
    /// Of what is found in the provider's cache; as any input without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Of what is written to the provider's cache; as any input without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

impl Prices {
    /// Makes a list without prices.
    pub const fn none() -> Self {
        Self(BTreeMap::new())
    }

    /// Adds a price, or replaces it.
    #[must_use]
    pub fn with(mut self, model: impl Into<String>, price: Price) -> Self {
        self.0.insert(model.into(), price);
        self
    }

    /// Returns the price of a model.
    pub fn of(&self, model: &str) -> Option<Price> {
        // Of all beginnings of a name, the longest is the last in order.
        self.0.iter().rfind(|(begins, _)| model.starts_with(begins.as_str())).map(|(_, price)| *price)
    }
}

impl Price {
    /// Makes a price of input and output, in US dollars for a million tokens.
    pub const fn per_million(input: f64, output: f64) -> Self {
        Self { input, output, cache_read: None, cache_write: None }
    }

    /// Returns what a usage costs, in millionths of a US dollar, rounded up.
    pub fn micro_usd(&self, usage: &Usage) -> u64 {
        let cached = usage.cache_read_tokens.saturating_add(usage.cache_write_tokens);
        let parts = [
            (usage.input_tokens.saturating_sub(cached), self.input),
            (usage.cache_read_tokens, self.cache_read.unwrap_or(self.input)),
            (usage.cache_write_tokens, self.cache_write.unwrap_or(self.input)),
            (usage.output_tokens, self.output),
        ];
        // A dollar for a million tokens is a millionth of a dollar for one.
        let sum: f64 = parts.iter().map(|(tokens, price)| *tokens as f64 * price).sum();
        sum.ceil() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_cached_has_its_own_price() {
        let price = Price { cache_read: Some(0.3), cache_write: Some(3.75), ..Price::per_million(3.0, 15.0) };
        let usage = Usage { cache_read_tokens: 1_200, cache_write_tokens: 300, ..Usage::of(1_540, 87) };
        // 40 × 3 + 1,200 × 0.3 + 300 × 3.75 + 87 × 15 = 120 + 360 + 1,125 + 1,305
        assert_eq!(price.micro_usd(&usage), 2_910);
        assert_eq!(Price::per_million(3.0, 15.0).micro_usd(&usage), 1_540 * 3 + 87 * 15);
    }

    #[test]
    fn a_part_of_a_millionth_counts_as_one() {
        assert_eq!(Price::per_million(0.1, 0.0).micro_usd(&Usage::of(1, 0)), 1);
    }

    #[test]
    fn the_longest_beginning_of_a_name_counts() {
        let prices =
            Prices::none().with("a", Price::per_million(1.0, 0.0)).with("a-b", Price::per_million(2.0, 0.0));
        assert_eq!(prices.of("a-c").unwrap().input, 1.0);
        assert_eq!(prices.of("a-b-2026").unwrap().input, 2.0);
        assert_eq!(prices.of("b"), None);
    }

    #[test]
    fn a_misspelled_member_of_a_price_is_an_error() {
        assert!(serde_json::from_str::<Prices>(r#"{ "a": { "input": 1.0, "ouput": 2.0 } }"#).is_err());
    }
}
