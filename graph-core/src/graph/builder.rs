//! The graph builder: registers nodes and connects them.

mod build;
mod decisions;

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::any::TypeId;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU32, Ordering};

use super::check::Problem;
use super::exit::{Exit, ExitType};
use super::handle::{
    ANY_GRAPH, END_INDEX, EdgeTarget, IntoTargets, JoinSources, NodeRef, START_INDEX, TakesNothing, Unrouted,
};
use super::on_error::DefaultHandler;
use super::policy::PolicyOf;
use super::program::{Branch, NodeProgram, Program, Router};
use super::topology::{Decision, Join, NodeId};
use crate::id::{EDIT_NAME, END_NAME, NodeName, START_NAME};
use crate::node::{CalledAs, IntoNode};
use crate::route::Route;
use crate::state::{Schema, State};

pub use decisions::Wiring;

/// A graph under construction, with states of type `S` and a context of type `C` for its nodes.
///
/// Register nodes, wire their handles, then compile. `compile()` collects the mistakes that the compiler cannot
/// detect, and reports all of them together.
pub struct StateGraph<S: State, C = ()> {
    graph: u32,
    name: NodeName,
    pub(super) schema: Schema,
    initial: S,
    nodes: Vec<Draft>,
    joins: Vec<Join>,
    problems: Vec<Problem>,
    exit: Option<ExitType>,
    pub(super) default_handler: Option<DefaultHandler>,
    context: PhantomData<fn(C)>,
}

struct Draft {
    name: NodeName,
    decides: bool,
    edges: Vec<u32>,
    decisions: Vec<Decision>,
    program: NodeProgram,
}

/// Each builder has a number, so that handles of different graphs are not confused.
static NEXT_GRAPH: AtomicU32 = AtomicU32::new(ANY_GRAPH + 1);

impl Program {
    /// Returns a number that no other graph has.
    pub(crate) fn next_number() -> u32 {
        NEXT_GRAPH.fetch_add(1, Ordering::Relaxed)
    }
}

impl<S: State, C: Send + Sync + 'static> StateGraph<S, C> {
    /// Creates an empty graph. The name is stored with threads: a thread belongs to the graph that first ran it.
    #[must_use]
    pub fn new(name: impl Into<NodeName>) -> Self {
        Self::with_schema(name, S::schema(), S::initial())
    }

    /// Creates an empty graph over a state whose schema is a value. `initial` is a thread's state before any input.
    #[must_use]
    pub fn with_schema(name: impl Into<NodeName>, schema: Schema, initial: S) -> Self {
        let draft = |name: &str| Draft {
            name: name.into(),
            decides: false,
            edges: Vec::new(),
            decisions: Vec::new(),
            program: NodeProgram::default(),
        };
        Self {
            graph: Program::next_number(),
            name: name.into(),
            schema,
            initial,
            nodes: vec![draft(START_NAME), draft(END_NAME)],
            joins: Vec::new(),
            problems: Vec::new(),
            exit: None,
            default_handler: None,
            context: PhantomData,
        }
    }

    /// Adds a node: an `async fn` of extractors, or a type that implements [`Node`](crate::node::Node).
    ///
    /// The name is for storage and for people. No other call names the node by a string.
    pub fn node<Signature, N>(&mut self, name: impl Into<NodeName>, node: N) -> NodeRef<N::Input, N::Route>
    where
        N: CalledAs<S, C, Signature> + IntoNode<S, C, Signature>,
    {
        let (description, code) = node.into_code();
        let program = NodeProgram { code: Some(code), description, ..NodeProgram::default() };
        let decides = TypeId::of::<N::Route>() != TypeId::of::<()>();
        NodeRef::new(self.graph, self.add(name.into(), decides, program))
    }

    /// Adds a node without its types.
    pub(super) fn add(&mut self, name: NodeName, decides: bool, program: NodeProgram) -> u32 {
        if [START_NAME, END_NAME, EDIT_NAME, ""].contains(&name.as_str()) {
            self.problems.push(Problem::ReservedName { name: name.clone() });
        } else if self.nodes.iter().any(|other| other.name == name) {
            self.problems.push(Problem::DuplicateName { name: name.clone() });
        }
        self.nodes.push(Draft { name, decides, edges: Vec::new(), decisions: Vec::new(), program });
        index(self.nodes.len() - 1)
    }

    /// Returns the number of the builder, which its handles carry.
    pub(super) fn number(&self) -> u32 {
        self.graph
    }

    /// Declares that a node runs `program` as a subgraph.
    #[cfg(feature = "tokio")]
    pub(crate) fn nest<In, Out>(&mut self, node: NodeRef<In, Out>, program: &Arc<Program>) {
        if let Some(node) = self.own(node.graph, node.node) {
            self.draft(node).program.subgraph = Some(Arc::clone(program));
        }
    }

    /// Runs `target` after the tasks of `from`, once per superstep in which any node leads to it.
    pub fn edge<In, Out: Unrouted>(&mut self, from: NodeRef<In, Out>, target: impl EdgeTarget) {
        let Some(from) = self.own(from.graph, from.node) else {
            return;
        };
        let targets = target.edge_targets().into_vec();
        if targets.is_empty() {
            self.draft(from).edges.push(END_INDEX);
        }
        for target in targets {
            if target.items.is_some() {
                self.problems.push(Problem::EachOnEdge { from: self.name_of(from) });
            } else if let Some(node) = self.own(target.graph, target.node) {
                self.draft(from).edges.push(node);
            }
        }
    }

    /// Runs `target` once all of `sources` have run, in any supersteps; then waits for all of them again.
    ///
    /// The sources are an array, `[a, b]`, or a tuple, `(a, b)`. If their handles have different types, for example
    /// because only one node takes an `Input`, use a tuple: in an array they are rustc's error E0308.
    pub fn join<To: TakesNothing, Decides>(
        &mut self,
        sources: impl JoinSources,
        target: NodeRef<To, Decides>,
    ) {
        let Some(target) = self.own(target.graph, target.node) else {
            return;
        };
        let mut ids = Vec::new();
        for (graph, node) in sources.into_sources() {
            if let Some(source) = self.own(graph, node).map(NodeId)
                && !ids.contains(&source)
            {
                ids.push(source);
            }
        }
        if ids.len() < 2 {
            self.problems.push(Problem::JoinOfOne { target: self.name_of(target) });
        }
        let join = Join { sources: ids, target: NodeId(target) };
        // A join that is wired twice counts once, like an edge, because checkpoints name a join by its nodes.
        if !self.joins.iter().any(|other| other.same_nodes(&join)) {
            self.joins.push(join);
        }
    }

    /// Declares where each case of a node's decision leads.
    ///
    /// `compile()` also calls the map, with an example of each case, to check and draw the graph. The map must
    /// therefore be pure. Declare targets that depend on a case's payload with [`Wiring::may_reach`].
    pub fn route<In, R: Route, T: IntoTargets>(
        &mut self,
        from: NodeRef<In, R>,
        map: impl Fn(R) -> T + Send + Sync + 'static,
    ) -> Wiring<'_, S, C> {
        let router = Router::new(map);
        let own = self.own(from.graph, from.node);
        let cases = own.map(|node| self.router_cases::<R>(node, &router)).unwrap_or_default();
        let Some(node) = self.own(from.graph, from.node) else {
            return Wiring { graph: self, decision: None };
        };
        if self.draft(node).program.router.is_some() {
            self.problems.push(Problem::RoutedTwice { node: self.name_of(node) });
        }
        self.draft(node).program.router = Some(router);
        self.decision(node, cases)
    }

    /// Adds a conditional edge: `decide` chooses a case from the state, which includes the node's own writes and
    /// excludes its siblings' writes, and `map` returns where the case leads.
    pub fn branch<In, Out, R: Route, T: IntoTargets>(
        &mut self,
        from: NodeRef<In, Out>,
        decide: impl Fn(&S) -> R + Send + Sync + 'static,
        map: impl Fn(R) -> T + Send + Sync + 'static,
    ) -> Wiring<'_, S, C> {
        let map = Arc::new(map);
        let cases = self.cases::<R>(from.graph, from.node, &|route| map(route).into_targets());
        let Some(node) = self.own(from.graph, from.node) else {
            return Wiring { graph: self, decision: None };
        };
        let branch = Branch::new(decide, move |route| map(route));
        self.draft(node).program.branches.push(branch);
        self.decision(node, cases)
    }

    /// Declares an exit of this graph for use as a subgraph. One of its nodes can then decide how the surrounding
    /// graph continues. A graph has exits of one type.
    ///
    /// A route leads to the exit with [`Exit::with`]. In the surrounding graph, the subgraph's node decides with an
    /// [`Exited<R>`](super::Exited), if its lens says so. If the graph runs by itself, the exit only ends the run.
    pub fn exit<R: Route + Sync>(&mut self) -> Exit<R> {
        let exit = ExitType::of::<R>();
        match self.exit {
            Some(other) if other != exit => {
                let problem = Problem::TwoExits { first: other.name(), second: exit.name() };
                self.problems.push(problem);
            }
            _ => self.exit = Some(exit),
        }
        self.draft(END_INDEX).program.description.takes::<R>();
        Exit::new(self.graph)
    }

    /// Adds a problem, which `compile()` reports.
    pub(crate) fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Returns the schema of the graph's state.
    #[cfg(feature = "tokio")]
    pub(crate) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns the policies of a node, to change them.
    pub fn policy<In, Out>(&mut self, node: NodeRef<In, Out>) -> PolicyOf<'_, S, C, In, Out> {
        let own = self.own(node.graph, node.node);
        PolicyOf::new(self, own.unwrap_or(START_INDEX))
    }

    /// Returns the index of a handle; reports a problem if it belongs to another graph.
    fn own(&mut self, graph: u32, node: u32) -> Option<u32> {
        if graph == self.graph || graph == ANY_GRAPH {
            return Some(node);
        }
        let problem = Problem::ForeignHandle;
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
        None
    }

    /// Returns the program of a node, to change it.
    pub(super) fn program(&mut self, node: u32) -> &mut NodeProgram {
        &mut self.draft(node).program
    }

    fn draft(&mut self, node: u32) -> &mut Draft {
        &mut self.nodes[node as usize]
    }

    /// Returns the decisions of a node, to change them.
    pub(super) fn decisions(&mut self, node: u32) -> &mut Vec<Decision> {
        &mut self.draft(node).decisions
    }

    /// Returns `true` if a node returns a route.
    pub(super) fn decides(&self, node: u32) -> bool {
        self.nodes[node as usize].decides
    }

    /// Returns the indexes of the nodes that the user registered.
    pub(super) fn user_nodes(&self) -> core::ops::Range<u32> {
        END_INDEX + 1..index(self.nodes.len())
    }

    pub(super) fn name_of(&self, node: u32) -> NodeName {
        self.nodes[node as usize].name.clone()
    }
}

fn index(position: usize) -> u32 {
    u32::try_from(position).expect("a graph has fewer than 2^32 nodes")
}

impl<S: State, C> core::fmt::Debug for StateGraph<S, C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let names: Vec<String> = self.nodes.iter().map(|draft| format!("{}", draft.name)).collect();
        f.debug_struct("StateGraph").field("name", &self.name).field("nodes", &names).finish_non_exhaustive()
    }
}
