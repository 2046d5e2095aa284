//! Flows: plain async code as a graph of one node.
//!
//! ```text
//!   START ─► "flow" ─► END        the one node runs the code; its journal and its questions do the rest
//! ```
//!
//! A flow uses the same engine: it is a [`Graph`] whose handles accept the flow's input and return its return
//! value.

mod cx;
mod node;
mod state;

pub use cx::Cx;
pub use state::FlowState;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use alloc::string::ToString;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use self::node::FlowNode;
use self::state::stored;
use super::graph::Graph;
use crate::error::NodeError;
use crate::graph::{END, NodeId, START, StateGraph};
use crate::id::NodeName;
use crate::node::{OnUnknown, Policy, Retry};
use crate::state::JsonError;

/// Creates a flow from plain async code. It needs no graph, but every effect is recorded, every question pauses the
/// thread, and a thread resumes where it stopped.
///
/// `code` receives a [`Cx`] and returns a `Result`. It must access the outside world through [`cx.run`](Cx::run),
/// so that an action is not repeated when the code runs again; all other code must give the same result each time.
/// The future owns its data: clone what the closure captures, then use `async move`.
///
/// ```
/// use superstep_core::error::NodeError;
/// use superstep_core::run::{Cx, flow};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let sum = flow("sum", |cx: Cx<Vec<u32>>| async move {
///     let mut sum = 0;
///     for number in cx.input() {
///         sum += cx.run("double", || async { Ok::<_, std::io::Error>(number * 2) }).await?;
///     }
///     Ok::<u32, NodeError>(sum)
/// });
/// assert_eq!(sum.run(&vec![1, 2, 3]).await?.finished()?, 12);
/// # Ok(())
/// # }
/// ```
pub fn flow<I, O, E, Fut>(
    name: impl Into<NodeName>,
    code: impl Fn(Cx<I>) -> Fut + Send + Sync + 'static,
) -> Flow<I, O>
where
    I: Serialize + DeserializeOwned + Send + Sync + 'static,
    O: Serialize + DeserializeOwned + Send + 'static,
    E: Into<NodeError> + Send + 'static,
    Fut: Future<Output = Result<O, E>> + Send + 'static,
{
    let mut graph = StateGraph::<stored::FlowState>::new(name);
    let node = graph.node(NODE, FlowNode::new(code));
    graph.edge(START, node);
    graph.edge(node, END);
    let graph = graph.compile().expect("one node between START and END has no problem");
    graph.with(|runtime| runtime.read_input = Some(read_input::<I>)).in_form()
}

/// The name of the one node.
const NODE: &str = "flow";

/// Plain async code that runs on threads, from an input of type `I` to a value of type `O`. It is a [`Graph`] of
/// one node, with all features of a graph: threads, a checkpointer, observers, a history.
///
/// ```
/// use superstep_core::checkpoint::MemorySaver;
/// use superstep_core::error::NodeError;
/// use superstep_core::run::{Cx, Flow, flow};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let double: Flow<u32, u32> = flow("double", async |cx: Cx<u32>| Ok::<_, NodeError>(cx.input() * 2));
/// let double = double.checkpointer(MemorySaver::new());
/// let thread = double.thread("t");
/// assert_eq!(thread.run(&21).await?.finished()?, 42);
/// assert_eq!(thread.head().await?.step(), 1);
/// # Ok(())
/// # }
/// ```
pub type Flow<I, O> = Graph<FlowState<I, O>>;

impl<I, O> Graph<FlowState<I, O>> {
    fn policy(self, change: impl FnOnce(&mut Policy)) -> Self {
        self.with(|runtime| {
            let program = Arc::make_mut(&mut runtime.program);
            let node = program.topology.find(&NODE.into()).unwrap_or(NodeId::START);
            change(&mut program.nodes[node.index()].policy);
        })
    }

    /// Retries the flow's code when it fails. Successful effects are not repeated.
    #[must_use]
    pub fn retry(self, retry: Retry) -> Self {
        self.policy(|policy| policy.retries.push(retry))
    }

    /// Limits the duration of each attempt of the flow.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        self.policy(|policy| policy.timeout = Some(timeout))
    }

    /// Sets the policy for effects of the flow whose outcome is unknown after a crash.
    #[must_use]
    pub fn on_unknown(self, on_unknown: OnUnknown) -> Self {
        self.policy(|policy| policy.on_unknown = on_unknown)
    }
}

/// Converts the input of a flow, given as JSON, into its fields.
fn read_input<I: DeserializeOwned>(input: Value) -> Result<Value, JsonError> {
    match I::deserialize(&input) {
        Ok(_) => Ok(json!({ "input": input })),
        Err(error) => Err(JsonError::Input { reason: error.to_string() }),
    }
}
