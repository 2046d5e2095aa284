//! What a compiled graph over a JSON state knows of it.

use std::any::Any;
use std::sync::Arc;

use serde_json::Value;

use super::graph::Graph;
use crate::state::{JsonError, JsonFields, JsonState, JsonUpdate};

impl<C> Graph<JsonState, C> {
    /// The fields of the state.
    #[must_use]
    pub fn fields(&self) -> &Arc<JsonFields> {
        let initial: &dyn Any = self.initial();
        initial.downcast_ref::<JsonState>().expect("the initial state of this graph").fields()
    }

    /// An update from an object, each member through the reducer of its field: what `run` and `edit` take.
    ///
    /// # Errors
    /// When a member names no field, or its value does not fit.
    pub fn update(&self, values: &Value) -> Result<JsonUpdate, JsonError> {
        self.fields().update(values)
    }
}
