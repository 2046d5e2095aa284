//! Compiled graphs as nodes of other graphs.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::vec::Vec;

use super::graph::Graph;
use crate::graph::{ExitType, NodeRef, Problem, Program, StateGraph};
use crate::id::NodeName;
use crate::run::driver::subgraph::lens::Lens;
use crate::run::driver::subgraph::nested::Nested;
use crate::run::runtime::shared::Runtime;
use crate::state::State;

/// A compiled graph over `S` that can be a node of a graph with context `C`.
///
/// A graph that still needs its context converts into a subgraph, and receives the context of the surrounding
/// graph. A graph that already has its context keeps it; if the surrounding graph has a context, convert it with
/// [`Graph::with_own_context`].
pub struct Subgraph<S: State, C> {
    runtime: Arc<Runtime>,
    own_context: bool,
    types: PhantomData<fn(S, C)>,
}

/// A graph that can be a node of a graph with context `C`: it has the same context type, or [its own
/// context](Graph::with_own_context).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a subgraph of a graph with context `{C}`",
    label = "its context has another type",
    note = "for a graph that has its context, or needs none, add `.with_own_context()`"
)]
pub trait IntoSubgraph<S: State, C> {
    /// Converts the graph into a subgraph.
    fn into_subgraph(self) -> Subgraph<S, C>;
}

impl<S: State, C> IntoSubgraph<S, C> for Graph<S, C> {
    fn into_subgraph(self) -> Subgraph<S, C> {
        let runtime = self.into_runtime();
        // A graph that already has its context needs no other one.
        let own_context = !(*runtime.context).is::<()>();
        Subgraph { runtime, own_context, types: PhantomData }
    }
}

impl<S: State, C> IntoSubgraph<S, C> for Subgraph<S, C> {
    fn into_subgraph(self) -> Self {
        self
    }
}

impl<S: State> Graph<S> {
    /// Converts the graph into a subgraph that keeps its own context, whatever the context of the surrounding
    /// graph.
    #[must_use]
    pub fn with_own_context<C>(self) -> Subgraph<S, C> {
        Subgraph { runtime: self.into_runtime(), own_context: true, types: PhantomData }
    }
}

impl<P: State, C: Send + Sync + 'static> StateGraph<P, C> {
    /// Adds a compiled graph as a node. The subgraph has a state of its own. `lens` defines the data that it
    /// receives from the surrounding state, and the data that it returns as one update at its end.
    ///
    /// Its supersteps are stored like those of any graph, below the task that runs it, so after a crash, a failure
    /// or an answer it continues where it stopped. It uses the checkpointer of the surrounding graph; its own
    /// checkpointer and its own observers are not used. Its questions pause the surrounding graph, and are answered
    /// there. Its recursion limit and its concurrency limit apply to each run of its node.
    ///
    /// ```
    /// # extern crate superstep_core as superstep;
    /// # use serde::{Deserialize, Serialize};
    /// # use superstep::graph::{END, START, StateGraph};
    /// # use superstep::node::Snapshot;
    /// # use superstep::run::Lens;
    /// # use superstep::state::{State, Update};
    /// # #[derive(State, Clone, Default, Serialize, Deserialize)]
    /// # struct Essay { topic: String, summary: String }
    /// # #[derive(State, Clone, Default, Serialize, Deserialize)]
    /// # struct Search { query: String, found: String }
    /// # async fn look_up(search: Snapshot<Search>) -> Update<Search> {
    /// #     Search::update().found(format!("{} is a language", search.query))
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut search = StateGraph::<Search>::new("search");
    /// let look_up = search.node("look_up", look_up);
    /// search.edge(START, look_up);
    /// search.edge(look_up, END);
    ///
    /// let mut essay = StateGraph::<Essay>::new("essay");
    /// let lens = Lens::new().give(Essay::TOPIC, Search::QUERY).take(Search::FOUND, Essay::SUMMARY);
    /// let research = essay.subgraph("research", search.compile()?, lens);
    /// essay.edge(START, research);
    /// essay.edge(research, END);
    ///
    /// let run = essay.compile()?.run(Essay::update().topic("Rust")).await?;
    /// assert_eq!(run.finished()?.summary, "Rust is a language");
    /// # Ok(())
    /// # }
    /// ```
    pub fn subgraph<S: State, In: 'static, Out: Send + 'static>(
        &mut self,
        name: impl Into<NodeName>,
        graph: impl IntoSubgraph<S, C>,
        lens: Lens<P, S, In, Out>,
    ) -> NodeRef<In, Out> {
        let Subgraph { runtime, own_context, .. } = graph.into_subgraph();
        let (program, name) = (Arc::clone(&runtime.program), name.into());
        self.check_lens(&name, &program, &lens);
        let node = self.node(name, Nested { runtime, own_context, lens });
        self.nest(node, &program);
        node
    }
}

impl<P: State, C: Send + Sync + 'static> StateGraph<P, C> {
    fn check_lens<S: State, In, Out>(
        &mut self,
        node: &NodeName,
        program: &Program,
        lens: &Lens<P, S, In, Out>,
    ) {
        if program.exit != lens.exit {
            let name = |exit: Option<ExitType>| exit.map(|exit| exit.name());
            self.problem(Problem::OtherExit {
                node: node.clone(),
                exit: name(program.exit),
                lens: name(lens.exit),
            });
        }
        let (given, taken) = (lens.given.iter(), lens.taken.iter());
        let given = given.map(|(from, to)| (self.schema().field(*from), program.schema.field(*to)));
        let taken = taken.map(|(from, to)| (program.schema.field(*from), self.schema().field(*to)));
        let leaks = given.chain(taken).filter(|(from, to)| from.secret && !to.secret);
        let leaks: Vec<_> = leaks
            .map(|(from, to)| Problem::SecretLeaks {
                node: node.clone(),
                from: from.name.clone(),
                to: to.name.clone(),
            })
            .collect();
        leaks.into_iter().for_each(|leak| self.problem(leak));
        for (inner, outer) in &lens.shared {
            let (inner, outer) = (program.schema.field(*inner), self.schema().field(*outer).clone());
            if last_segment(&inner.reducer) != last_segment(&outer.reducer) {
                self.problem(Problem::SharedDifferently {
                    node: node.clone(),
                    outer: outer.name,
                    outer_reducer: outer.reducer,
                    inner: inner.name.clone(),
                    inner_reducer: inner.reducer.clone(),
                });
            }
        }
    }
}

/// A reducer may be written with or without its path.
fn last_segment(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path).trim()
}

impl<S: State, C> fmt::Debug for Subgraph<S, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subgraph")
            .field("graph", self.runtime.program.topology.name())
            .finish_non_exhaustive()
    }
}
