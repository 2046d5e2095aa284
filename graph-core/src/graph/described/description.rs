//! The description of a graph.

use alloc::format;
use alloc::string::String;
use core::fmt;

use serde_json::Value;

use super::unique::Unique;
use crate::state::{Excess, SizeLimits};

/// A graph described as data. The code comes from the [`Registry`](super::Registry).
///
/// | member | meaning |
/// |---|---|
/// | `graph` | the graph's name |
/// | `state` | the graph's fields, as [`JsonFields`](crate::state::JsonFields) describes them |
/// | `nodes` | the graph's nodes, by name |
/// | `start` | the start of a run: a node, several nodes, or `{"to": .., "branches": ..}` |
/// | `joins` | an array of `{"of": [nodes], "to": node}` |
///
/// A node has these members, all of them optional:
///
/// | member | meaning |
/// |---|---|
/// | `run` | the registered function; by default the node's name |
/// | `to` | the targets of its edges: a node, several nodes, or `"END"` |
/// | `cases` | the targets of the cases that it may choose |
/// | `branches` | an array of decisions on the state: `{"on": field, "cases": .., "else": ..}` on the value of a field, or `"by"` a registered decision |
/// | `retry` | `attempts`, and `initial_ms`, `max_ms` and `jitter`, or `fixed_ms` |
/// | `timeout_ms`, `idle_timeout_ms` | the policies of the same names, in milliseconds |
/// | `defer` | `true` if it runs only when nothing else is left to run |
/// | `on_unknown` | the policy for an effect that may have happened: `"fail"`, `"retry"` or `"ask"` |
/// | `on_mismatch` | the policy for a recorded effect that no longer fits the code: `"fail"` or `"run_again"` |
/// | `cache` | reuses earlier results: `true`, or `{"time_to_live_ms": ..}` |
/// | `on_error` | the registered function that handles its failure and has the same targets, or `{"run": function, "cases": ..}` for other targets |
///
/// A case leads to a node, to several nodes, to `"END"`, or to one task per item: `{"each": node, "items": field}`.
/// Without `items`, the node that chooses the case returns the items.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    value: Value,
}

impl Description {
    /// Reads a description from JSON.
    ///
    /// # Errors
    /// Returns an error if the text is not JSON, contains a member twice, or exceeds the [limits](SizeLimits).
    /// Mistakes in the graph are reported by `compile()`.
    pub fn from_json(text: &str) -> Result<Self, DescriptionError> {
        Self::from_json_within(text, SizeLimits::default())
    }

    /// Works like [`from_json`](Self::from_json), with other limits on the text.
    ///
    /// # Errors
    /// Returns the errors of [`from_json`](Self::from_json).
    pub fn from_json_within(text: &str, limits: SizeLimits) -> Result<Self, DescriptionError> {
        limits
            .check(text)
            .map_err(|excess| DescriptionError::too_large(excess, "Description::from_json_within"))?;
        let value = serde_json::from_str(text);
        let value = value.map(|Unique(value)| Self::from_value(value));
        value.map_err(|error| DescriptionError::of("JSON", &error))
    }

    /// Reads a description from TOML.
    ///
    /// # Errors
    /// Returns an error if the text is not TOML, or exceeds the [limits](SizeLimits). Mistakes in the graph are
    /// reported by `compile()`.
    #[cfg(feature = "toml")]
    pub fn from_toml(text: &str) -> Result<Self, DescriptionError> {
        Self::from_toml_within(text, SizeLimits::default())
    }

    /// Works like [`from_toml`](Self::from_toml), with other limits on the text. For values and levels, an upper
    /// bound of their number is checked.
    ///
    /// # Errors
    /// Returns the errors of [`from_toml`](Self::from_toml).
    #[cfg(feature = "toml")]
    pub fn from_toml_within(text: &str, limits: SizeLimits) -> Result<Self, DescriptionError> {
        super::toml_size::check(text, limits)
            .map_err(|excess| DescriptionError::too_large(excess, "Description::from_toml_within"))?;
        toml::from_str(text).map(Self::from_value).map_err(|error| DescriptionError::of("TOML", &error))
    }

    /// Creates a description from a value that was read by other means.
    #[must_use]
    pub fn from_value(value: Value) -> Self {
        Self { value }
    }

    /// Returns the description as a JSON value.
    #[must_use]
    pub fn as_value(&self) -> &Value {
        &self.value
    }
}

/// The error of a text that is not a description.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the description {reason}")]
pub struct DescriptionError {
    reason: String,
    excess: Option<Excess>,
}

impl DescriptionError {
    fn of(language: &'static str, error: &dyn fmt::Display) -> Self {
        Self { reason: format!("is not {language}: {error}"), excess: None }
    }

    fn too_large(excess: Excess, within: &str) -> Self {
        Self { reason: format!("has {}", excess.allowed_by(within)), excess: Some(excess) }
    }

    /// Returns the limit that the text exceeds, if that is the cause of the error.
    #[must_use]
    pub fn excess(&self) -> Option<Excess> {
        self.excess
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn what_is_too_large_is_named_with_what_allows_more() {
        let text = r#"{"graph": "g", "start": ["a", "b"]}"#;
        let small = SizeLimits::default().bytes(text.len() - 1);
        let error = Description::from_json_within(text, small).unwrap_err();
        let said = "the description has more than 34 bytes; Description::from_json_within allows more";
        assert_eq!((error.to_string().as_str(), error.excess()), (said, Some(Excess::Bytes(34))));
        assert!(Description::from_json_within(text, SizeLimits::default().bytes(text.len())).is_ok());
        let nested = "[".repeat(300);
        let error = Description::from_json(&nested).unwrap_err().to_string();
        assert_eq!(
            error,
            "the description has more than 128 levels of lists and objects, and this limit cannot be raised"
        );
        let error = Description::from_json("{").unwrap_err();
        assert!(error.to_string().starts_with("the description is not JSON: ") && error.excess().is_none());
    }

    #[cfg(feature = "toml")]
    #[test]
    fn a_description_in_toml_has_the_same_limits() {
        let text = "graph = \"g\"\nstart = [\"a\", \"b\"]\n";
        let error = Description::from_toml_within(text, SizeLimits::default().values(4)).unwrap_err();
        let said = "the description has more than 4 values; Description::from_toml_within allows more";
        assert_eq!((error.to_string().as_str(), error.excess()), (said, Some(Excess::Values(4))));
        assert!(Description::from_toml(text).is_ok());
        let nested = format!("graph{} = 1", ".a".repeat(100_000));
        let error = Description::from_toml(&nested).unwrap_err();
        assert_eq!(error.excess(), Some(Excess::Depth(128)));
    }
}
