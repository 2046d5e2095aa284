//! The functions that descriptions name.

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

/// Node functions over a [`JsonState`], and decisions, by the names that a [`Description`] calls them by.
///
/// A function is an `async fn` of extractors, as any node's, and returns a `serde_json::Value` (an update), a
/// [`JsonOutcome`](crate::node::JsonOutcome) (an update and a case), or a `Result` of those.
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
    /// A registry without functions.
    #[must_use]
    pub fn new() -> Self {
        Self { nodes: BTreeMap::new(), branches: BTreeMap::new(), context: PhantomData }
    }

    /// Registers a node function. One of the same name is replaced. Several nodes may run one function.
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

    /// Registers a decision for branches: from the state to the name of a case. One of the same name is replaced.
    #[must_use]
    pub fn branch<R: Into<String>>(
        mut self,
        name: impl Into<String>,
        decide: impl Fn(&JsonState) -> R + Send + Sync + 'static,
    ) -> Self {
        self.branches.insert(name.into(), Arc::new(move |state| decide(state).into()));
        self
    }

    /// The graph of a description. What is wrong with it is reported by `compile()`, all at once.
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
