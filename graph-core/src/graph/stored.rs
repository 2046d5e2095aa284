//! Reads a topology from a stored description.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::handle::END_INDEX;
use super::topology::{CaseTargets, Decision, Join, NodeId, NodeText, Topology, TopologyNode, TopologyText};
use crate::id::NodeName;
use crate::state::{CodecError, Json};

impl Topology {
    /// Reads a topology from its [stored description](crate::checkpoint::GraphDescription). It is sufficient for
    /// planning without the program.
    ///
    /// # Errors
    /// Returns an error if the text is not a description of a graph.
    pub fn from_json(stored: &Json) -> Result<Self, CodecError> {
        Self::from_text(&stored.decode()?)
    }

    fn from_text(text: &TopologyText) -> Result<Self, CodecError> {
        let find = |name: &NodeName| -> Result<NodeId, CodecError> {
            let at = text.nodes.iter().position(|node| node.name == *name);
            let at = at.and_then(|at| u32::try_from(at).ok());
            at.map(NodeId).ok_or_else(|| CodecError::new(alloc::format!("the graph has no node {name}")))
        };
        let all = |names: &[NodeName]| names.iter().map(find).collect::<Result<Vec<_>, _>>();
        if !text.nodes.first().is_some_and(|node| node.name.is_start())
            || !text.nodes.get(END_INDEX as usize).is_some_and(|node| node.name.is_end())
        {
            return Err(CodecError::new("the graph does not begin with START and END"));
        }
        let joins = text
            .joins
            .iter()
            .map(|join| Ok(Join { sources: all(&join.sources)?, target: find(&join.target)? }));
        let joins = joins.collect::<Result<Vec<_>, CodecError>>()?;
        let mut nodes = Vec::with_capacity(text.nodes.len());
        for node in &text.nodes {
            let id = find(&node.name)?;
            let edges = all(&node.edges)?;
            let asks = |asks: &[super::topology::AskText]| {
                asks.iter().map(|ask| (ask.question.clone(), ask.answer.clone())).collect()
            };
            let rank = text.nodes.iter().filter(|other| other.name < node.name).count();
            nodes.push(TopologyNode {
                name: node.name.clone(),
                rank: u32::try_from(rank).map_err(|error| CodecError::new(alloc::format!("{error}")))?,
                ends: edges.contains(&NodeId::END),
                edges: edges.into_iter().filter(|edge| *edge != NodeId::END).collect(),
                joins: (0..joins.len()).filter(|join| joins[*join].sources.contains(&id)).collect(),
                decisions: decisions(node, find)?,
                takes: node.takes.clone(),
                asks: asks(&node.asks),
                handler_asks: asks(&node.handler_asks),
                subgraph: match &node.subgraph {
                    Some(inner) => Some(Arc::new(Self::from_text(inner)?)),
                    None => None,
                },
            });
        }
        let mut topology = Self { name: text.name.as_str().into(), nodes, joins, deferred: Vec::new() };
        let deferred = text.nodes.iter().filter(|node| node.defer).map(|node| find(&node.name));
        topology.defer(&deferred.collect::<Result<Vec<_>, _>>()?);
        Ok(topology)
    }
}

fn decisions(
    node: &NodeText,
    find: impl Fn(&NodeName) -> Result<NodeId, CodecError>,
) -> Result<Vec<Decision>, CodecError> {
    let decisions = node.decisions.iter().map(|decision| {
        let cases = decision.cases.iter().map(|case| {
            let to = case.to.iter().map(|name| Ok((find(name)?, false)));
            let each = case.each.iter().map(|name| Ok((find(name)?, true)));
            let targets = to.chain(each).collect::<Result<_, CodecError>>()?;
            Ok(CaseTargets { case: case.case.clone(), targets })
        });
        Ok(Decision {
            cases: cases.collect::<Result<_, CodecError>>()?,
            may_reach: decision.may_reach.iter().map(&find).collect::<Result<_, _>>()?,
            on_error: decision.on_error,
        })
    });
    decisions.collect()
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::graph::{END, START, StateGraph, each, to};
    use crate::node::Input;
    use crate::route::Route;
    use crate::state::State;

    #[derive(State, Clone, Debug, Default)]
    struct Nothing {}

    #[derive(Route, Serialize, Deserialize)]
    enum Next {
        Items(Vec<u8>),
        On,
        Out,
    }

    async fn quiet() {}

    async fn decide() -> Next {
        Next::Out
    }

    async fn item(_: Input<u8>) {}

    #[test]
    fn a_graph_is_read_as_it_was_stored() {
        let mut g = StateGraph::<Nothing>::new("g");
        let [b, a, late] = ["b", "a", "late"].map(|name| g.node(name, quiet));
        let (decide, item) = (g.node("decide", decide), g.node("item", item));
        g.policy(late).defer();
        g.edge(START, a);
        g.edge(START, b);
        g.edge(a, late);
        g.join([a, b], decide);
        g.edge(late, END);
        g.edge(item, END);
        g.route(decide, move |next| match next {
            Next::Items(items) => each(item, items),
            Next::On => to(late).and(to(a)),
            Next::Out => END,
        });
        let topology = g.build().expect("the graph is sound").topology;
        let read = Topology::from_json(&topology.describe()).expect("it was stored so");
        assert_eq!(read.describe(), topology.describe());
        assert_eq!(
            alloc::format!("{read:?}"),
            alloc::format!("{topology:?}"),
            "ranks, joins and deferred nodes, too"
        );
    }

    #[test]
    fn what_is_no_graph_is_refused() {
        let error =
            |text: &str| alloc::format!("{}", Topology::from_json(&Json::parse(text).unwrap()).unwrap_err());
        let ends = r#"{"name":"__start__","edges":["x"]},{"name":"__end__"}"#;
        assert_eq!(error(r#"{"name":"g","nodes":[]}"#), "the graph does not begin with START and END");
        assert_eq!(error(&alloc::format!(r#"{{"name":"g","nodes":[{ends}]}}"#)), "the graph has no node x");
        assert!(error("1").contains("invalid type"));
    }
}
