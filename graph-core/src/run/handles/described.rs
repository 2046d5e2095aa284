//! Updates from JSON, and what a compiled graph over a JSON state knows of it.

use std::any::Any;
use std::sync::Arc;

use serde_json::Value;

use super::graph::Graph;
use crate::state::{JsonError, JsonFields, JsonState, State};

impl<S: State, C> Graph<S, C> {
    /// Creates an update from an object, for `run` and `edit`: each member is written through the reducer of its
    /// field. Fields have the names of the [schema](State::schema), such as `chat.messages` for a field of an
    /// embedded state.
    ///
    /// A member contains the reducer's argument: a list of items for [`Append`](crate::reducer::Append),
    /// [`Union`](crate::reducer::Union) and [`KeyedLog`](crate::reducer::KeyedLog), an object of entries for
    /// [`Merge`](crate::reducer::Merge), and the JSON form of [`Reducer::Write`](crate::reducer::Reducer::Write)
    /// for others.
    ///
    /// ```
    /// # extern crate superstep_core as superstep;
    /// use serde_json::json;
    /// # use superstep::graph::{END, START, StateGraph};
    /// # use superstep::reducer::Append;
    /// # use superstep::state::State;
    /// # #[derive(State, Clone, Default)]
    /// # struct Essay { topic: String, #[reducer(Append)] facts: Vec<String> }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut g = StateGraph::<Essay>::new("essay");
    /// # let write = g.node("write", || async {});
    /// # g.edge(START, write);
    /// # g.edge(write, END);
    /// # let essays = g.compile()?;
    /// let update = essays.update(&json!({ "topic": "Rust", "facts": ["typed"] }))?;
    /// let essay = essays.run(update).await?.finished()?;
    /// assert_eq!((&*essay.topic, essay.facts.len()), ("Rust", 1));
    ///
    /// let error = essays.update(&json!({ "fact": [] })).unwrap_err();
    /// assert_eq!(error.to_string(), r#"the state has no field "fact"; did you mean "facts"?"#);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if a member names no field, or its value does not fit.
    pub fn update(&self, values: &Value) -> Result<S::Update, JsonError> {
        let initial: &dyn Any = self.initial();
        let initial = initial.downcast_ref::<S>().expect("the initial state of this graph");
        initial.update_from(values)
    }
}

impl<C> Graph<JsonState, C> {
    /// Returns the fields of the state.
    #[must_use]
    pub fn fields(&self) -> &Arc<JsonFields> {
        let initial: &dyn Any = self.initial();
        initial.downcast_ref::<JsonState>().expect("the initial state of this graph").fields()
    }
}
