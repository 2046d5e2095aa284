//! The registry of functions that descriptions name.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::marker::PhantomData;

use super::code::{Decide, JsonDecision};
use super::description::Description;
use super::reader::Reader;
use crate::graph::StateGraph;
use crate::node::{CalledAs, Code, IntoNode, NodeDescription};
use crate::state::JsonState;

/// Node functions over a [`JsonState`], and decisions, under the names by which a [`Description`] refers to them.
///
/// A function is an `async fn` of extractors, like any node function. It returns a `serde_json::Value` (an update),
/// a [`JsonOutcome`](crate::node::JsonOutcome) (an update and a case), or a `Result` of one of these.
///
/// ```
/// use serde_json::{Value, json};
/// use superstep_core::graph::{Description, Registry};
/// use superstep_core::node::Snapshot;
/// use superstep_core::state::JsonState;
///
/// async fn greet(state: Snapshot<JsonState>) -> Value {
///     json!({ "text": format!("hello, {}", state["name"].as_str().unwrap_or("world")) })
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let description = Description::from_json(r#"{
///     "graph": "hello",
///     "state": { "name": { "type": "string" }, "text": { "type": "string" } },
///     "nodes": { "greet": { "to": "END" } },
///     "start": "greet"
/// }"#)?;
/// let hello = Registry::<()>::new().node("greet", greet).build(&description).compile()?;
/// let done = hello.run(hello.update(&json!({ "name": "Ada" }))?).await?.finished()?;
/// assert_eq!(done["text"], "hello, Ada");
/// # Ok(())
/// # }
/// ```
pub struct Registry<C = ()> {
    pub(super) nodes: BTreeMap<String, Registered>,
    pub(super) branches: BTreeMap<String, Decide>,
    context: PhantomData<fn(C)>,
}

/// A function, without its types.
#[derive(Clone)]
pub(super) struct Registered {
    pub(super) description: NodeDescription,
    pub(super) code: Code,
}

impl<C: Send + Sync + 'static> Registry<C> {
    /// Creates an empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self { nodes: BTreeMap::new(), branches: BTreeMap::new(), context: PhantomData }
    }

    /// Registers a node function, and replaces one with the same name. Several nodes may run the same function.
    #[must_use]
    pub fn node<Signature, N>(mut self, name: impl Into<String>, node: N) -> Self
    where
        N: CalledAs<JsonState, C, Signature> + IntoNode<JsonState, C, Signature>,
        N::Route: JsonDecision,
    {
        let (description, code) = node.into_code();
        self.nodes.insert(name.into(), Registered { description, code });
        self
    }

    /// Registers a decision for branches, which returns the name of a case for a state. It replaces one with the
    /// same name.
    #[must_use]
    pub fn branch<R: Into<String>>(
        mut self,
        name: impl Into<String>,
        decide: impl Fn(&JsonState) -> R + Send + Sync + 'static,
    ) -> Self {
        self.branches.insert(name.into(), Arc::new(move |state| decide(state).into()));
        self
    }

    /// Builds the graph of a description. `compile()` reports all mistakes in the description.
    #[must_use]
    pub fn build(&self, description: &Description) -> StateGraph<JsonState, C> {
        Reader::new(self, description).read()
    }
}

impl<C: Send + Sync + 'static> Default for Registry<C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<C> fmt::Debug for Registry<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("nodes", &self.nodes.keys())
            .field("branches", &self.branches.keys())
            .finish()
    }
}
