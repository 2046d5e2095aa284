//! Decisions: where each case of a route or a conditional edge leads.

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::StateGraph;
use crate::error::BoxError;
use crate::graph::check::Problem;
use crate::graph::handle::{END_INDEX, NodeRef, Target, Targets};
use crate::graph::program::Router;
use crate::graph::topology::{CaseTargets, Decision, NodeId};
use crate::route::Route;
use crate::state::{State, caught};

impl<S: State, C: Send + Sync + 'static> StateGraph<S, C> {
    /// Returns where each case of a router's decision leads.
    pub(in crate::graph) fn router_cases<R: Route>(
        &mut self,
        node: u32,
        router: &Router,
    ) -> Vec<CaseTargets> {
        self.cases::<R>(self.graph, node, &|route| (router.map)(Box::new(route)))
    }

    /// Returns where each case of `R` leads, by calling the map with its examples.
    pub(super) fn cases<R: Route>(
        &mut self,
        graph: u32,
        node: u32,
        map: &dyn Fn(R) -> Result<Targets, BoxError>,
    ) -> Vec<CaseTargets> {
        let Some(node) = self.own(graph, node) else {
            return Vec::new();
        };
        let mut cases = Vec::new();
        for case in R::cases() {
            let targets = match caught(|| map(case.example)) {
                Ok(Ok(targets)) => targets.into_vec(),
                // An error for the example does not mean an error for other payloads.
                Ok(Err(_)) => continue,
                Err(panic) => {
                    let node = self.name_of(node);
                    self.problems.push(Problem::MapPanicked { node, case: case.name.to_string(), panic });
                    continue;
                }
            };
            let targets = targets.into_iter().filter_map(|Target { graph, node, items }| {
                // For this graph, an exit is an end.
                let node = self.own(graph, node).filter(|node| *node != END_INDEX)?;
                Some((NodeId(node), items.is_some()))
            });
            cases.push(CaseTargets { case: case.name.to_string(), targets: targets.collect() });
        }
        cases
    }

    pub(in crate::graph) fn decision(&mut self, node: u32, cases: Vec<CaseTargets>) -> Wiring<'_, S, C> {
        let decisions = &mut self.draft(node).decisions;
        decisions.push(Decision { cases, may_reach: Vec::new(), on_error: false });
        let decision = Some((node, decisions.len() - 1));
        Wiring { graph: self, decision }
    }
}

/// A route or a branch that was just added.
pub struct Wiring<'g, S: State, C> {
    pub(super) graph: &'g mut StateGraph<S, C>,
    pub(super) decision: Option<(u32, usize)>,
}

impl<S: State, C: Send + Sync + 'static> Wiring<'_, S, C> {
    /// Declares that some payload may lead to `node`, although no example of a case does.
    pub fn may_reach<In, Out>(self, node: NodeRef<In, Out>) -> Self {
        if let (Some(target), Some((from, decision))) = (self.graph.own(node.graph, node.node), self.decision)
        {
            self.graph.draft(from).decisions[decision].may_reach.push(NodeId(target));
        }
        self
    }
}
