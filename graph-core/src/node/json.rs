//! The result type of nodes in graphs over a JSON state.

use alloc::string::String;
use alloc::vec::Vec;

use serde_json::Value;

use super::outcome::{IntoOutcome, Output};
use crate::error::NodeError;
use crate::state::{JsonState, JsonUpdate};

/// The result of a node over a [`JsonState`]: an update and, if the node decides, the name of a case.
///
/// It is checked against the description when the node returns: an unknown field, a value of the wrong type or an
/// unknown case fails the node. A plain [`Value`] is a result that only writes.
///
/// ```
/// use serde_json::json;
/// use superstep_core::node::JsonOutcome;
///
/// let outcome = JsonOutcome::update(json!({ "plan": "search, then write" })).route("research").items(["a", "b"]);
/// # let _ = outcome;
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use = "an outcome does nothing until a node returns it"]
pub struct JsonOutcome {
    pub(crate) update: Value,
    pub(crate) overwrite: Value,
    pub(crate) route: Option<String>,
    pub(crate) items: Option<Vec<Value>>,
}

impl JsonOutcome {
    /// Writes the members of an object, each through the reducer of its field.
    pub fn update(update: Value) -> Self {
        Self { update, overwrite: empty(), route: None, items: None }
    }

    /// Writes nothing, and selects the case with this name.
    pub fn routed(case: impl Into<String>) -> Self {
        Self::update(empty()).route(case)
    }

    /// Overwrites fields with the members of an object.
    pub fn overwrite(self, overwrite: Value) -> Self {
        Self { overwrite, ..self }
    }

    /// Selects the case with this name.
    pub fn route(self, case: impl Into<String>) -> Self {
        Self { route: Some(case.into()), ..self }
    }

    /// Sets the items for the `each` of the case, if its description names no field.
    pub fn items<T: Into<Value>>(self, items: impl IntoIterator<Item = T>) -> Self {
        Self { items: Some(items.into_iter().map(Into::into).collect()), ..self }
    }
}

fn empty() -> Value {
    Value::Object(serde_json::Map::new())
}

/// Creates an outcome that only writes.
impl From<Value> for JsonOutcome {
    fn from(update: Value) -> Self {
        Self::update(update)
    }
}

impl IntoOutcome<JsonState> for JsonOutcome {
    type Route = Self;

    fn into_outcome(self) -> Result<Output<JsonState, Self>, NodeError> {
        Ok(Output::routed(self))
    }
}

impl IntoOutcome<JsonState> for Value {
    type Route = JsonOutcome;

    fn into_outcome(self) -> Result<Output<JsonState, JsonOutcome>, NodeError> {
        JsonOutcome::update(self).into_outcome()
    }
}

impl IntoOutcome<JsonState> for JsonUpdate {
    type Route = ();

    fn into_outcome(self) -> Result<Output<JsonState, ()>, NodeError> {
        Ok(Output::updated(self))
    }
}
