//! Exits of a subgraph into the surrounding graph.

use alloc::vec;
use alloc::vec::Vec;
use core::any::{TypeId, type_name};
use core::fmt;
use core::marker::PhantomData;

use serde::{Deserialize, Serialize};

use super::handle::{END_INDEX, List, Target, Targets};
use crate::node::{Item, short_type_name};
use crate::route::{Case, Route};

/// An exit of a graph that runs as a subgraph, created by [`StateGraph::exit`](super::StateGraph::exit). The
/// graph's own routes lead to it.
pub struct Exit<R> {
    graph: u32,
    route: PhantomData<fn(R)>,
}

impl<R: Route + Sync> Exit<R> {
    pub(super) fn new(graph: u32) -> Self {
        Self { graph, route: PhantomData }
    }

    /// Leads out of the graph, with a decision for the surrounding graph. The current superstep is finished first, so
    /// its writes count. No other task that it leads to runs. If several tasks leave at once, the first one in merge
    /// order decides.
    pub fn with(self, decision: R) -> Targets {
        let items = Some(vec![Item::new(decision)]);
        Targets(List::One(Target { graph: self.graph, node: END_INDEX, items }))
    }
}

impl<R> Clone for Exit<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Exit<R> {}

impl<R> fmt::Debug for Exit<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Exit")
    }
}

/// The decision of a subgraph's node in the surrounding graph, for a subgraph with an [`Exit`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exited<R> {
    /// The subgraph finished, because nothing was left to run.
    Finished,
    /// A node of the subgraph took the exit, with this decision.
    With(R),
}

impl<R: Route> Route for Exited<R> {
    fn cases() -> Vec<Case<Self>> {
        let with =
            R::cases().into_iter().map(|case| Case { name: case.name, example: Self::With(case.example) });
        core::iter::once(Case { name: "Finished", example: Self::Finished }).chain(with).collect()
    }

    fn case(&self) -> &'static str {
        match self {
            Self::Finished => "Finished",
            Self::With(route) => route.case(),
        }
    }
}

/// The decision type of a graph's exit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExitType {
    id: TypeId,
    name: &'static str,
}

impl ExitType {
    pub(crate) fn of<R: 'static>() -> Self {
        Self { id: TypeId::of::<R>(), name: type_name::<R>() }
    }

    pub(crate) fn name(&self) -> alloc::string::String {
        short_type_name(self.name)
    }
}

impl PartialEq for ExitType {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}
