//! A graph as stored in a checkpoint file, and drawings of it.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use superstep_core::id::NodeName;

/// The edges of a graph, by the names of nodes.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct StoredGraph {
    pub(super) name: String,
    pub(super) nodes: Vec<StoredNode>,
    #[serde(default)]
    pub(super) joins: Vec<StoredJoin>,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct StoredNode {
    pub(super) name: NodeName,
    #[serde(default)]
    pub(super) defer: bool,
    #[serde(default)]
    pub(super) edges: Vec<NodeName>,
    #[serde(default)]
    pub(super) decisions: Vec<StoredDecision>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) subgraph: Option<Box<StoredGraph>>,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct StoredDecision {
    #[serde(default)]
    pub(super) cases: Vec<StoredCase>,
    #[serde(default)]
    pub(super) may_reach: Vec<NodeName>,
    #[serde(default)]
    pub(super) on_error: bool,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct StoredCase {
    pub(super) case: String,
    #[serde(default)]
    pub(super) to: Vec<NodeName>,
    #[serde(default)]
    pub(super) each: Vec<NodeName>,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct StoredJoin {
    pub(super) sources: Vec<NodeName>,
    pub(super) target: NodeName,
}

/// An edge from a node to another.
#[derive(Debug)]
pub(super) struct Way<'g> {
    pub(super) from: &'g NodeName,
    pub(super) to: Option<&'g NodeName>,
    pub(super) how: How<'g>,
}

/// The condition under which an edge is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How<'g> {
    Always,
    Case(&'g str),
    Each(&'g str),
    OnError(&'g str),
    Perhaps,
    Join,
}

impl How<'_> {
    /// Returns the condition in words; empty if there is none to say.
    pub(super) fn label(self) -> String {
        match self {
            Self::Case(case) => case.to_owned(),
            Self::Each(case) => format!("each {case}"),
            Self::OnError(case) => format!("on error: {case}"),
            Self::Always | Self::Perhaps | Self::Join => String::new(),
        }
    }
}

impl StoredGraph {
    /// Returns all edges, in the order of the nodes. A case without a target leads to END.
    pub(super) fn ways(&self) -> Vec<Way<'_>> {
        let mut ways = Vec::new();
        for node in &self.nodes {
            let mut push = |to, how| ways.push(Way { from: &node.name, to, how });
            node.edges.iter().for_each(|target| push(Some(target), How::Always));
            for decision in &node.decisions {
                for case in &decision.cases {
                    let name = &*case.case;
                    let (to, each) = match decision.on_error {
                        true => (How::OnError(name), How::OnError(name)),
                        false => (How::Case(name), How::Each(name)),
                    };
                    if case.to.is_empty() && case.each.is_empty() {
                        push(None, to);
                    }
                    case.to.iter().for_each(|target| push(Some(target), to));
                    case.each.iter().for_each(|target| push(Some(target), each));
                }
                decision.may_reach.iter().for_each(|target| push(Some(target), How::Perhaps));
            }
        }
        for join in &self.joins {
            ways.extend(join.sources.iter().map(|from| Way { from, to: Some(&join.target), how: How::Join }));
        }
        ways
    }

    /// Returns the positions of the nodes, which name them in drawings.
    fn positions(&self) -> HashMap<&NodeName, usize> {
        self.nodes.iter().enumerate().map(|(at, node)| (&node.name, at)).collect()
    }

    /// Returns the edges by the positions of their nodes.
    pub(super) fn arrows(&self) -> impl Iterator<Item = (usize, usize, How<'_>)> {
        let positions = self.positions();
        let end = self.nodes.iter().position(|node| node.name.is_end()).unwrap_or(1);
        self.ways().into_iter().filter_map(move |way| {
            let to = way.to.map_or(Some(end), |to| positions.get(to).copied());
            Some((*positions.get(way.from)?, to?, way.how))
        })
    }

    /// Draws the graph as a Mermaid flowchart, like `Topology::mermaid`.
    pub(super) fn mermaid(&self) -> String {
        let mut text = String::from("flowchart TD\n");
        for (at, node) in self.nodes.iter().enumerate() {
            text += &match &node.name {
                start if start.is_start() => format!("    n{at}((START))\n"),
                end if end.is_end() => format!("    n{at}((END))\n"),
                name => format!("    n{at}[\"{}\"]\n", name.as_str().replace('"', "#quot;")),
            };
        }
        for (from, to, how) in self.arrows() {
            let arrow = match how {
                How::Always => "-->".into(),
                How::Case(case) => format!("-->|{case}|"),
                How::Each(case) => format!("-.->|each {case}|"),
                How::OnError(case) => format!("-.->|on error: {case}|"),
                How::Perhaps => "-.->".into(),
                How::Join => "==>".into(),
            };
            text += &format!("    n{from} {arrow} n{to}\n");
        }
        text
    }

    /// Draws the graph in Graphviz' DOT language, like `Topology::dot`.
    pub(super) fn dot(&self) -> String {
        let quoted = |name: &str| format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""));
        let mut text = format!("digraph {} {{\n", quoted(&self.name));
        for (at, node) in self.nodes.iter().enumerate() {
            let (label, shape) = match &node.name {
                start if start.is_start() => ("START", "circle"),
                end if end.is_end() => ("END", "doublecircle"),
                name => (name.as_str(), "box"),
            };
            text += &format!("    n{at} [label={}, shape={shape}];\n", quoted(label));
        }
        for (from, to, how) in self.arrows() {
            let style = match how {
                How::Always => String::new(),
                How::Case(case) => format!(" [label={}]", quoted(case)),
                How::Each(case) => format!(" [label={}, style=dashed]", quoted(&format!("each {case}"))),
                How::OnError(case) => {
                    format!(" [label={}, style=dashed]", quoted(&format!("on error: {case}")))
                }
                How::Perhaps => " [style=dashed]".into(),
                How::Join => " [style=bold]".into(),
            };
            text += &format!("    n{from} -> n{to}{style};\n");
        }
        text + "}\n"
    }
}
