//! Flows: plain async code as a graph of one node.
//!
//! ```text
//! flow(name, code) ─► Flow ─ thread(id) ─► FlowThread ─ run, resume, answer ─► FlowRequest ─ .await ─► FlowRun
//!
//!   START ─► "flow" ─► END        the one node runs the code; its journal and its questions do the rest
//! ```
//!
//! There is no second engine: a flow is a [`Graph`] over [`FlowState`], and everything that a graph has, it has.

mod cx;
mod node;
mod request;
mod state;
mod thread;

pub use cx::Cx;
pub use request::{FlowRequest, FlowRun, FlowStream};
pub use state::FlowState;
pub use thread::FlowThread;

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use self::node::FlowNode;
use super::graph::Graph;
use crate::checkpoint::Checkpointer;
use crate::error::NodeError;
use crate::graph::{END, NodeId, START, StateGraph};
use crate::id::{NodeName, ThreadId};
use crate::node::{OnUnknown, Policy, Retry};
use crate::run::runtime::ambient::Ambient;
use crate::run::runtime::event::Observer;
use crate::store::Store;

/// Makes a flow of plain async code: no graph to draw, and yet every effect is recorded, every question pauses,
/// and a thread resumes where it stopped.
///
/// `code` gets a [`Cx`] and returns a `Result`. What it does to the outside world it does with
/// [`cx.run`](Cx::run), so that it is not done twice when the code runs again; everything else must come to the
/// same result each time. The future owns what it needs: clone what the closure captures, then `async move`.
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
    let mut graph = StateGraph::<FlowState>::new(name);
    let node = graph.node(NODE, FlowNode::new(code));
    graph.edge(START, node);
    graph.edge(node, END);
    Flow::of(graph.compile().expect("one node between START and END has no problem"))
}

/// The name of the one node.
const NODE: &str = "flow";

/// Plain async code that can be run on threads: from an input of type `I` to a value of type `O`.
///
/// Cheap to clone: clones share everything.
pub struct Flow<I, O> {
    graph: Graph<FlowState>,
    types: PhantomData<fn(I) -> O>,
}

impl<I, O> Flow<I, O> {
    fn of(graph: Graph<FlowState>) -> Self {
        Self { graph, types: PhantomData }
    }

    fn policy(self, change: impl FnOnce(&mut Policy)) -> Self {
        let graph = self.graph.with(|runtime| {
            let program = Arc::make_mut(&mut runtime.program);
            let node = program.topology.find(&NODE.into()).unwrap_or(NodeId::START);
            change(&mut program.nodes[node.index()].policy);
        });
        Self::of(graph)
    }

    /// Runs the code again when it fails; effects that succeeded are not repeated.
    #[must_use]
    pub fn retry(self, retry: Retry) -> Self {
        self.policy(|policy| policy.retries.push(retry))
    }

    /// Gives each attempt this long.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        self.policy(|policy| policy.timeout = Some(timeout))
    }

    /// Sets the policy for effects whose outcome is unknown after a crash.
    #[must_use]
    pub fn on_unknown(self, on_unknown: OnUnknown) -> Self {
        self.policy(|policy| policy.on_unknown = on_unknown)
    }

    /// Keeps every run in `saver`, so that threads survive, can be resumed, and can be looked back at.
    #[must_use]
    pub fn checkpointer(self, saver: impl Checkpointer) -> Self {
        self.shared_checkpointer(Arc::new(saver))
    }

    /// The same flow, with its graph changed.
    pub(crate) fn map_graph(self, change: impl FnOnce(Graph<FlowState>) -> Graph<FlowState>) -> Self {
        Self::of(change(self.graph))
    }

    /// Like [`checkpointer`](Self::checkpointer), for a saver that several flows and graphs share.
    #[must_use]
    pub fn shared_checkpointer(self, saver: Arc<dyn Checkpointer>) -> Self {
        Self::of(self.graph.shared_checkpointer(saver))
    }

    /// Lets `observer` watch every run.
    #[must_use]
    pub fn observe(self, observer: impl Observer) -> Self {
        Self::of(self.graph.observe(observer))
    }

    /// Keeps what the code emits. See [`Graph::record_events`].
    #[must_use]
    pub fn record_events(self) -> Self {
        Self::of(self.graph.record_events())
    }

    /// Gives the code a store of values that outlive threads. See [`Graph::store`].
    #[must_use]
    pub fn store(self, store: impl Into<Store>) -> Self {
        Self::of(self.graph.store(store))
    }

    /// Replaces the clock and the source of ids and chance.
    #[must_use]
    pub fn ambient(self, ambient: impl Ambient) -> Self {
        Self::of(self.graph.ambient(ambient))
    }

    /// The graph of one node behind the flow: its threads, its open questions, its unfinished work.
    #[must_use]
    pub fn graph(&self) -> &Graph<FlowState> {
        &self.graph
    }
}

impl<I: Serialize, O: DeserializeOwned> Flow<I, O> {
    /// The thread with this id: a sequence of runs, each of which knows what the one before it saved. It need not
    /// exist yet.
    #[must_use]
    pub fn thread(&self, id: impl Into<ThreadId>) -> FlowThread<I, O> {
        FlowThread::new(self.graph.thread(id))
    }

    /// Runs the flow once, on a thread of its own.
    pub fn run(&self, input: &I) -> FlowRequest<O> {
        FlowRequest::input(input, |update| self.graph.run(update))
    }
}

impl<I, O> Clone for Flow<I, O> {
    fn clone(&self) -> Self {
        Self::of(self.graph.clone())
    }
}

impl<I, O> fmt::Debug for Flow<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flow").field("name", self.graph.name()).finish_non_exhaustive()
    }
}
