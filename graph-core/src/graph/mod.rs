//! Graphs: the builder, the handles, the checks and the frozen topology.
//!
//! ```text
//! StateGraph  ── node, edge, join, route, branch, policy ──►  build()  ──►  Program
//!   (handles are typed: a forgotten case, an edge out of a deciding node,       Topology  what the engine plans with
//!    or an edge into a node that needs an input, do not compile)                code      behind each node
//! ```
//!
//! Building a graph checks for problems that the types cannot rule out, and reports all of them at once.

mod builder;
mod check;
mod described;
mod draw;
mod exit;
mod handle;
mod on_error;
mod policy;
mod program;
mod select;
mod stored;
mod topology;

pub use builder::{StateGraph, Wiring};
pub use check::{BuildError, Problem};
pub use described::{CaseError, Description, DescriptionError, JsonDecision, Registry};
pub use exit::{Exit, Exited};
pub use handle::{
    END, EdgeTarget, IntoTargets, JoinSources, NodeRef, Nothing, START, TakesNothing, Targets, Unrouted,
    each, to,
};
pub use on_error::FitsInput;
pub use policy::PolicyOf;
pub use program::Program;
pub use select::{EveryNode, SelectNodes};
pub use topology::{NodeId, Topology};

#[cfg(feature = "tokio")]
pub(crate) use exit::ExitType;
pub(crate) use handle::{Target, each_item, to_node};
pub(crate) use program::NodeProgram;
#[cfg(feature = "tokio")]
pub(crate) use program::Router;
pub(crate) use select::Selected;
pub(crate) use topology::Join;
#[cfg(test)]
pub(crate) use topology::TopologyNode;
