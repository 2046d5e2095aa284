//! A description as it is written.

use alloc::string::{String, ToString};
use core::fmt;

use serde_json::Value;

use super::unique::Unique;
use crate::state::SizeLimits;

/// A graph as data. It says nothing of the code: that is the [`Registry`](super::Registry)'s.
///
/// | member | says |
/// |---|---|
/// | `graph` | the graph's name |
/// | `state` | its fields, as [`JsonFields`](crate::state::JsonFields) describes them |
/// | `nodes` | its nodes, by name |
/// | `start` | where a run begins: a node, several, or `{"to": .., "branches": ..}` |
/// | `joins` | an array of `{"of": [nodes], "to": node}` |
///
/// A node has these members, all of them optional:
///
/// | member | says |
/// |---|---|
/// | `run` | the registered function; by default the node's name |
/// | `to` | where its edges lead: a node, several, or `"END"` |
/// | `cases` | where the cases that it may choose lead |
/// | `branches` | an array of decisions on the state: `{"on": field, "cases": .., "else": ..}` on the value of a field, or `"by"` a registered decision |
/// | `retry` | `attempts`, and `initial_ms`, `max_ms` and `jitter`, or `fixed_ms` |
/// | `timeout_ms`, `idle_timeout_ms` | as the policies of the same names |
/// | `defer` | whether it runs when nothing else is left to run |
/// | `on_unknown` | of an effect that may have happened: `"fail"`, `"retry"` or `"ask"` |
/// | `on_mismatch` | of a record of an effect that the code does not fit any more: `"fail"` or `"run_again"` |
/// | `cache` | whether what it returned is used again: `true`, or `{"time_to_live_ms": ..}` |
/// | `on_error` | the registered function that handles its failure and leads on as it would, or `{"run": function, "cases": ..}` to lead elsewhere |
///
/// A case leads to a node, to several, to `"END"`, or to one task per item: `{"each": node, "items": field}`, where
/// without `items` the node that chooses the case gives them.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    value: Value,
}

impl Description {
    /// Reads a description in JSON.
    ///
    /// # Errors
    /// When the text is not JSON, or gives a member twice. What is wrong with the graph is reported by `compile()`.
    pub fn from_json(text: &str) -> Result<Self, DescriptionError> {
        SizeLimits::default().check(text).map_err(|excess| DescriptionError::of("JSON", &excess))?;
        let value = serde_json::from_str(text);
        let value = value.map(|Unique(value)| Self::from_value(value));
        value.map_err(|error| DescriptionError::of("JSON", &error))
    }

    /// Reads a description in TOML.
    ///
    /// # Errors
    /// When the text is not TOML. What is wrong with the graph is reported by `compile()`.
    #[cfg(feature = "toml")]
    pub fn from_toml(text: &str) -> Result<Self, DescriptionError> {
        toml::from_str(text).map(Self::from_value).map_err(|error| DescriptionError::of("TOML", &error))
    }

    /// Takes a description that was read by other means.
    #[must_use]
    pub fn from_value(value: Value) -> Self {
        Self { value }
    }

    /// The description.
    #[must_use]
    pub fn as_value(&self) -> &Value {
        &self.value
    }
}

/// A text that is no description.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the description is not {language}: {reason}")]
pub struct DescriptionError {
    language: &'static str,
    reason: String,
}

impl DescriptionError {
    fn of(language: &'static str, error: &dyn fmt::Display) -> Self {
        Self { language, reason: error.to_string() }
    }
}
