//! The prices of tokens.

use serde::{Deserialize, Serialize};

use super::{ByModel, Usage};

/// The prices of tokens, [by the names of models](ByModel). Prices change, so they are data: a program brings its own,
/// from code or from a file. A model without a price costs an unknown sum, never that of another one.
///
/// ```
/// use superstep_nodes::model::Prices;
///
/// let prices: Prices = serde_json::from_str(r#"{
///     "claude-x": { "input": 3.0, "output": 15.0, "cache_read": 0.3, "cache_write": 3.75 },
///     "gpt-x-*": { "input": 0.25, "output": 1.25 }
/// }"#)?;
/// assert_eq!(prices.of("claude-x-20260101").unwrap().input, 3.0);
/// assert!(prices.of("claude-x-mini").is_none());
/// assert_eq!(prices.of("gpt-x-mini").unwrap().input, 0.25);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Prices(ByModel<Price>);

/// The prices of a million tokens, in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// The price of tokens read.
    pub input: f64,
    /// The price of tokens written.
    pub output: f64,
    /// The price of tokens found in the provider's cache; that of any input if it is `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// The price of tokens written to the provider's cache; that of any input if it is `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

impl Prices {
    /// Makes a list without prices.
    pub const fn none() -> Self {
        Self(ByModel::new())
    }

    /// Adds a price, or replaces it.
    #[must_use]
    pub fn with(self, model: impl Into<String>, price: Price) -> Self {
        Self(self.0.with(model, price))
    }

    /// Returns the price of a model; nothing for a model that has none.
    pub fn of(&self, model: &str) -> Option<Price> {
        self.0.of(model).copied()
    }
}

impl Price {
    /// Makes a price of input and output, in US dollars for a million tokens.
    pub const fn per_million(input: f64, output: f64) -> Self {
        Self { input, output, cache_read: None, cache_write: None }
    }

    /// Returns the cost of a usage, in millionths of a US dollar, rounded up.
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

    fn prices(names: &[&str]) -> Prices {
        let price = |place: usize| Price::per_million(place as f64, 0.0);
        names
            .iter()
            .enumerate()
            .fold(Prices::none(), |prices, (place, name)| prices.with(*name, price(place)))
    }

    /// A price counted for all names that began so: `gpt-4o-mini` cost what `gpt-4o` costs, sixteen times too much.
    #[test]
    fn a_price_is_that_of_one_model_and_of_its_dated_versions() {
        let names = ["gpt-4o", "claude-sonnet-4-5", "claude-3-5-sonnet", "mistral-large", "gpt-3.5-turbo"];
        let prices = prices(&names);
        for (model, name) in [
            ("gpt-4o", "gpt-4o"),
            ("gpt-4o-2024-08-06", "gpt-4o"),
            ("gpt-4o-latest", "gpt-4o"),
            ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
            ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
            ("claude-3-5-sonnet-latest", "claude-3-5-sonnet"),
            ("mistral-large-2411", "mistral-large"),
            ("gpt-3.5-turbo-0125", "gpt-3.5-turbo"),
        ] {
            let place = names.iter().position(|known| *known == name).unwrap();
            assert_eq!(prices.of(model).map(|price| price.input), Some(place as f64), "{model}");
        }
        for model in [
            "gpt-4o-mini",
            "gpt-4o-mini-2024-07-18",
            "gpt-4",
            "claude-sonnet-4",
            "claude-sonnet-4-20250514",
            "new",
            "",
        ] {
            assert_eq!(prices.of(model), None, "{model}");
        }
    }

    #[test]
    fn a_prefix_says_that_it_is_one_and_the_closest_price_counts() {
        let prices = prices(&["*", "a-*", "a-b*", "a-b", "a-b-20260101"]);
        for (model, place) in
            [("a-b-20260101", 4), ("a-b-20260202", 3), ("a-b", 3), ("a-bc", 2), ("a-c", 1), ("b", 0)]
        {
            assert_eq!(prices.of(model).map(|price| price.input), Some(f64::from(place)), "{model}");
        }
    }

    #[test]
    fn a_misspelled_member_of_a_price_is_an_error() {
        assert!(serde_json::from_str::<Prices>(r#"{ "a": { "input": 1.0, "ouput": 2.0 } }"#).is_err());
    }
}
