//! A compiled graph without its types: the topology, and the code behind each node.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::{Any, TypeId};
use core::fmt;

use super::exit::ExitType;
use super::handle::{ANY_GRAPH, IntoTargets, Targets};
use super::topology::Topology;
use crate::checkpoint::{GraphDescription, RouteRecord};
use crate::error::BoxError;
use crate::id::{Fingerprint, NodeName};
use crate::node::{Code, Done, NodeDescription, Policy, short_type_name};
use crate::route::Route;
use crate::state::{CodecError, ErasedState, Json, Schema, State};

/// The parts of a graph that a driver needs. The engine only uses the [`Topology`].
#[derive(Clone)]
pub struct Program {
    /// The number of the builder, which its handles carry.
    pub(crate) graph: u32,
    pub(crate) topology: Arc<Topology>,
    /// The names of the nodes, by position, which tasks use.
    pub(crate) names: Arc<[NodeName]>,
    pub(crate) nodes: Vec<NodeProgram>,
    pub(crate) schema: Arc<Schema>,
    pub(crate) schema_fingerprint: Fingerprint,
    pub(crate) initial: Arc<dyn ErasedState>,
    pub(crate) description: GraphDescription,
    /// The decision type of its exit, if it is used as a subgraph.
    pub(crate) exit: Option<ExitType>,
}

impl Program {
    /// Checks the configuration of a run against the types of its nodes, those of subgraphs included. An error names
    /// the node, and the member that does not fit.
    pub(crate) fn check_configuration(&self, configuration: Option<&Json>) -> Result<(), (NodeName, String)> {
        for (node, name) in self.nodes.iter().zip(&*self.names) {
            let wrong = |(type_name, error): (&str, CodecError)| {
                let type_name = short_type_name(type_name);
                let reason = error.mismatch().map_or_else(
                    || alloc::format!("{type_name}: {error}"),
                    |mismatch| alloc::format!("{type_name}{mismatch}"),
                );
                (name.clone(), reason)
            };
            for description in node.descriptions() {
                description.check_configuration(configuration).map_err(wrong)?;
            }
            if let Some(subgraph) = &node.subgraph {
                subgraph.check_configuration(configuration)?;
            }
        }
        Ok(())
    }

    /// Adds the schemas of the configuration that nodes take, those of subgraphs included, each once.
    pub(crate) fn add_configurations(&self, schemas: &mut Vec<Json>) {
        for node in &self.nodes {
            for schema in node.descriptions().flat_map(NodeDescription::configurations) {
                if !schemas.contains(schema) {
                    schemas.push(schema.clone());
                }
            }
            if let Some(subgraph) = &node.subgraph {
                subgraph.add_configurations(schemas);
            }
        }
    }

    /// Returns `true` for a graph that was read from a store.
    #[cfg(feature = "tokio")]
    pub(crate) fn lacks_code(&self) -> bool {
        self.nodes.iter().skip(2).any(|node| node.code.is_none())
    }

    /// Returns `true` if a handle with this graph number belongs to this graph.
    pub(crate) fn is_own(&self, graph: u32) -> bool {
        graph == self.graph || graph == ANY_GRAPH
    }
}

/// The code and the policies of one node. START has no code, but may have branches.
#[derive(Clone, Default)]
pub(crate) struct NodeProgram {
    pub(crate) code: Option<Code>,
    pub(crate) router: Option<Router>,
    pub(crate) branches: Vec<Branch>,
    pub(crate) description: NodeDescription,
    pub(crate) policy: Policy,
    /// The graph that the node runs, if it is a subgraph.
    pub(crate) subgraph: Option<Arc<Program>>,
    pub(crate) handler: Option<Handler>,
    /// The check of an outcome that replaces a run, if the node is described by data.
    pub(crate) given: Option<GivenOutcome>,
}

/// Converts a given result into the one that the node's code would have returned.
#[derive(Clone)]
pub(crate) struct GivenOutcome {
    /// Returns `true` if the decision is of a type that the code could return.
    pub(crate) fits: fn(&(dyn Any + Send)) -> bool,
    pub(crate) check: Arc<Check>,
}

/// The error handler of a node, which continues the task after the node has failed and no retry is left.
#[derive(Clone)]
pub(crate) struct Handler {
    pub(crate) code: Code,
    pub(crate) description: NodeDescription,
    /// Maps the handler's own decision to targets, which replace all wires of the node; `None` if it has the
    /// decision type of the node.
    pub(crate) router: Option<Router>,
}

impl NodeProgram {
    /// Returns the descriptions of the node and of its error handler.
    fn descriptions(&self) -> impl Iterator<Item = &NodeDescription> {
        [&self.description].into_iter().chain(self.handler.as_ref().map(|handler| &handler.description))
    }

    /// Returns `true` if the node, or a branch of it, decides where to go.
    pub(crate) fn decides(&self) -> bool {
        self.router.is_some() || !self.branches.is_empty()
    }

    /// Returns the map of the decision that the node, or its error handler, made.
    pub(crate) fn router(&self, by_handler: bool) -> Option<&Router> {
        let own = self.handler.as_ref().filter(|_| by_handler).and_then(|handler| handler.router.as_ref());
        own.or(self.router.as_ref())
    }

    /// Returns `true` if the node's error handler has other targets than the node.
    pub(crate) fn handler_leads_elsewhere(&self) -> bool {
        self.handler.as_ref().is_some_and(|handler| handler.router.is_some())
    }
}

/// Maps a decision without its type to targets.
type Map<R> = Arc<dyn Fn(R) -> Result<Targets, BoxError> + Send + Sync>;

/// Checks a given result, with the state on which it is based, and converts it.
type Check = dyn Fn(Done, &Arc<dyn ErasedState>) -> Result<Done, BoxError> + Send + Sync;

/// Maps a state without its type to targets.
type Decide = dyn Fn(&dyn ErasedState) -> Result<Targets, BoxError> + Send + Sync;

/// Maps a node's decision to its targets.
#[derive(Clone)]
pub(crate) struct Router {
    /// The type of the decision.
    pub(crate) decides: TypeId,
    pub(crate) encode: fn(&(dyn Any + Send)) -> Result<RouteRecord, CodecError>,
    pub(crate) decode: fn(&Json) -> Result<Box<dyn Any + Send>, CodecError>,
    pub(crate) map: Map<Box<dyn Any + Send>>,
}

/// Maps the state to targets: a conditional edge.
#[derive(Clone)]
pub(crate) struct Branch {
    pub(crate) decide: Arc<Decide>,
}

impl Router {
    pub(crate) fn new<R: Route, T: IntoTargets>(map: impl Fn(R) -> T + Send + Sync + 'static) -> Self {
        Self {
            decides: TypeId::of::<R>(),
            encode: |route| {
                let route = route.downcast_ref::<R>().expect("a route is typed by its node's handle");
                Ok(RouteRecord { case: route.case().to_string(), value: Json::encode(route)? })
            },
            decode: |json| Ok(Box::new(json.decode::<R>()?)),
            map: Arc::new(move |route| {
                let route = route.downcast::<R>().expect("a route is typed by its node's handle");
                map(*route).into_targets()
            }),
        }
    }
}

impl Branch {
    pub(crate) fn new<S: State, R: Route, T: IntoTargets>(
        decide: impl Fn(&S) -> R + Send + Sync + 'static,
        map: impl Fn(R) -> T + Send + Sync + 'static,
    ) -> Self {
        Self {
            decide: Arc::new(move |state| {
                let state: &dyn Any = state;
                let state = state.downcast_ref::<S>().expect("the driver owns the state of this graph");
                map(decide(state)).into_targets()
            }),
        }
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("name", &self.topology.name).finish_non_exhaustive()
    }
}
