//! Values by the names of models.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Values by the names of models, such as prices or context windows.
///
/// A value is that of one model: of the name that it has, and of that name with a date or `latest` behind it, as
/// providers name the versions of a model. A name that ends with `*` is a prefix, and its value is that of every model
/// whose name begins so.
///
/// | value of | model | has it |
/// |---|---|---|
/// | `gpt-4o` | `gpt-4o`, `gpt-4o-2024-08-06`, `gpt-4o-latest` | yes |
/// | `gpt-4o` | `gpt-4o-mini`, `gpt-4o-audio-preview` | no |
/// | `claude-sonnet-4-5` | `claude-sonnet-4-5-20250929`, `claude-sonnet-4-5@20250929` | yes |
/// | `mistral-large` | `mistral-large-2411` | yes: four, six or eight digits are a date |
/// | `claude-sonnet-*` | `claude-sonnet-4-5-20250929` | yes |
///
/// Of several values that of the whole name counts, then that of the name without the date, then that of the longest
/// prefix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ByModel<T>(BTreeMap<String, T>);

impl<T> ByModel<T> {
    /// Makes an empty table.
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Adds a value, or replaces it.
    #[must_use]
    pub fn with(mut self, model: impl Into<String>, value: T) -> Self {
        self.0.insert(model.into(), value);
        self
    }

    /// Returns the value of a model, by the rules above.
    pub fn of(&self, model: &str) -> Option<&T> {
        let named = |name: &str| self.0.get(name);
        named(model).or_else(|| named(without_version(model)?)).or_else(|| self.of_prefix(model))
    }

    /// The value of the longest prefix of a name.
    fn of_prefix(&self, model: &str) -> Option<&T> {
        let begins = |name: &str| name.strip_suffix('*').is_some_and(|prefix| model.starts_with(prefix));
        let prefixes = self.0.iter().filter(|(name, _)| begins(name));
        prefixes.max_by_key(|(name, _)| name.len()).map(|(_, value)| value)
    }
}

impl<T> Default for ByModel<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// The name of a model without the date or the `latest` behind it, if it has one.
fn without_version(model: &str) -> Option<&str> {
    let is_number =
        |text: &str, digits: usize| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_date = |text: &str| [4, 6, 8].iter().any(|digits| is_number(text, *digits));
    let (name, last) = model.rsplit_once(['-', '@'])?;
    // A date in parts: 2024-08-06.
    let in_parts = || {
        let (rest, month) = name.rsplit_once('-')?;
        let (rest, year) = rest.rsplit_once(['-', '@'])?;
        (is_number(last, 2) && is_number(month, 2) && is_number(year, 4)).then_some(rest)
    };
    in_parts().or_else(|| (last == "latest" || is_date(last)).then_some(name))
}
