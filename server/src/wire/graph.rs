//! The drawing of a graph: nodes and edges.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Value, json};

use super::Failure;
use super::query::Query;

const START: &str = "__start__";
const END: &str = "__end__";

/// The number of levels of subgraphs that are drawn with their own nodes.
///
/// # Errors
/// Returns status 422 for a parameter that is neither a boolean nor a number.
pub(crate) fn levels(query: &Query) -> Result<usize, Failure> {
    let Some(text) = query.text("xray") else { return Ok(0) };
    match text.to_ascii_lowercase().as_str() {
        "true" => Ok(usize::MAX),
        "false" => Ok(0),
        number => number
            .parse()
            .map_err(|_| Failure::invalid(format!("xray: {text:?} is not a boolean or a number"))),
    }
}

/// The description of a graph, as its store keeps it.
#[derive(Debug, Deserialize)]
struct Described {
    nodes: Vec<Node>,
    #[serde(default)]
    joins: Vec<Join>,
}

#[derive(Debug, Deserialize)]
struct Node {
    name: String,
    #[serde(default)]
    edges: Vec<String>,
    #[serde(default)]
    decisions: Vec<Decision>,
    #[serde(default)]
    subgraph: Option<Described>,
}

#[derive(Debug, Deserialize)]
struct Decision {
    cases: Vec<Case>,
    #[serde(default)]
    may_reach: Vec<String>,
    #[serde(default)]
    on_error: bool,
}

#[derive(Debug, Deserialize)]
struct Case {
    case: String,
    #[serde(default)]
    to: Vec<String>,
    #[serde(default)]
    each: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Join {
    sources: Vec<String>,
    target: String,
}

/// An edge of a drawing. The order is that of the list: edges between nodes, decisions, edges to the end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    kind: EdgeKind,
    source: String,
    target: String,
    label: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EdgeKind {
    Plain,
    Conditional,
    Last,
}

struct Drawing {
    nodes: Vec<String>,
    edges: BTreeSet<Edge>,
}

/// Returns the drawing of a graph from the description of its topology. Subgraphs of so many levels are drawn with
/// their own nodes, as `parent:child`.
pub(crate) fn drawing(topology: &Value, levels: usize) -> Value {
    // A description of another form can only come from another version of the core: nothing is drawn then.
    let described =
        Described::deserialize(topology).unwrap_or(Described { nodes: Vec::new(), joins: Vec::new() });
    let drawing = drawn(&described, levels);
    let nodes = drawing.nodes.iter().map(|name| match name.as_str() {
        END => json!({ "id": END }),
        name => json!({ "id": name, "type": "runnable", "data": { "name": name } }),
    });
    let edges = drawing.edges.iter().map(|edge| {
        let mut shown = json!({ "source": edge.source, "target": edge.target });
        if edge.kind == EdgeKind::Conditional {
            shown["conditional"] = true.into();
        }
        if let Some(label) = &edge.label {
            shown["data"] = label.as_str().into();
        }
        shown
    });
    json!({ "nodes": nodes.collect::<Vec<_>>(), "edges": edges.collect::<Vec<_>>() })
}

fn drawn(graph: &Described, levels: usize) -> Drawing {
    let inner = graph.nodes.iter().map(|node| node.name.clone()).filter(|name| name != START && name != END);
    let nodes = std::iter::once(START.to_owned()).chain(inner).chain([END.to_owned()]);
    let mut drawing = Drawing { nodes: nodes.collect(), edges: BTreeSet::new() };
    for node in &graph.nodes {
        drawing.wire(node);
    }
    for join in &graph.joins {
        for source in &join.sources {
            drawing.plain(source, &join.target);
        }
    }
    for node in graph.nodes.iter().filter(|_| levels > 0) {
        if let Some(subgraph) = &node.subgraph {
            drawing.expand(&node.name, &drawn(subgraph, levels - 1));
        }
    }
    drawing
}

impl Drawing {
    fn plain(&mut self, source: &str, target: &str) {
        let kind = if target == END { EdgeKind::Last } else { EdgeKind::Plain };
        self.edges.insert(Edge { kind, source: source.into(), target: target.into(), label: None });
    }

    fn wire(&mut self, node: &Node) {
        for target in &node.edges {
            self.plain(&node.name, target);
        }
        for decision in &node.decisions {
            for case in &decision.cases {
                let targets = case.to.iter().chain(&case.each).map(String::as_str);
                let ends = (case.to.is_empty() && case.each.is_empty()).then_some(END);
                for target in targets.chain(ends) {
                    let label = Some(&case.case).filter(|case| decision.on_error || case.as_str() != target);
                    self.decide(&node.name, target, label.cloned());
                }
            }
            for target in &decision.may_reach {
                self.decide(&node.name, target, None);
            }
        }
    }

    fn decide(&mut self, source: &str, target: &str, label: Option<String>) {
        let (source, target) = (source.to_owned(), target.to_owned());
        self.edges.insert(Edge { kind: EdgeKind::Conditional, source, target, label });
    }

    /// Replaces a node by the drawing of its subgraph. The start and the end of the subgraph are left out where one
    /// edge leads from or to them.
    fn expand(&mut self, node: &str, inner: &Drawing) {
        let name = |child: &str| format!("{node}:{child}");
        let first =
            single(inner.edges.iter().filter(|edge| edge.source == START)).map(|edge| edge.target.as_str());
        let last =
            single(inner.edges.iter().filter(|edge| edge.target == END)).map(|edge| edge.source.as_str());
        let is_left_out = |child: &str| child == START && first.is_some() || child == END && last.is_some();
        let at = self.nodes.iter().position(|known| known == node).unwrap_or(0);
        let children = inner.nodes.iter().filter(|child| !is_left_out(child)).map(|child| name(child));
        self.nodes.splice(at..=at, children);
        let (entry, exit) = (name(first.unwrap_or(START)), name(last.unwrap_or(END)));
        let outer = std::mem::take(&mut self.edges).into_iter().map(|mut edge| {
            if edge.source == node {
                edge.source.clone_from(&exit);
            }
            if edge.target == node {
                edge.target.clone_from(&entry);
            }
            edge
        });
        let own = inner.edges.iter().filter(|edge| !is_left_out(&edge.source) && !is_left_out(&edge.target));
        let own = own.map(|edge| {
            let kind = if edge.kind == EdgeKind::Last { EdgeKind::Plain } else { edge.kind };
            Edge { kind, source: name(&edge.source), target: name(&edge.target), label: edge.label.clone() }
        });
        self.edges = outer.chain(own).collect();
    }
}

/// Returns the only item.
fn single<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology() -> Value {
        let inner = json!({ "name": "sub", "nodes": [
            { "name": "__start__", "edges": ["w1"] }, { "name": "__end__" },
            { "name": "w1", "edges": ["w2"] }, { "name": "w2", "edges": ["__end__"] }] });
        json!({ "name": "g", "nodes": [
            { "name": "__start__", "edges": ["plan"] }, { "name": "__end__" },
            { "name": "plan", "decisions": [{ "cases": [
                { "case": "worker", "each": ["worker"] }, { "case": "done" }] }] },
            { "name": "worker", "edges": ["gather"], "subgraph": inner },
            { "name": "gather", "edges": ["__end__"] }] })
    }

    fn pairs(drawing: &Value) -> Vec<String> {
        let edges = drawing["edges"].as_array().unwrap().iter();
        let text = |edge: &Value, name: &str| edge[name].as_str().unwrap().to_owned();
        edges.map(|edge| format!("{} {}", text(edge, "source"), text(edge, "target"))).collect()
    }

    #[test]
    fn edges_are_listed_before_decisions_and_ends() {
        let drawing = drawing(&topology(), 0);
        let node = |name: &str| json!({ "id": name, "type": "runnable", "data": { "name": name } });
        assert_eq!(
            drawing["nodes"],
            json!([
            node("__start__"), node("plan"), node("worker"), node("gather"), { "id": "__end__" }])
        );
        assert_eq!(
            drawing["edges"],
            json!([
            { "source": "__start__", "target": "plan" },
            { "source": "worker", "target": "gather" },
            { "source": "plan", "target": "__end__", "conditional": true, "data": "done" },
            { "source": "plan", "target": "worker", "conditional": true },
            { "source": "gather", "target": "__end__" }])
        );
    }

    #[test]
    fn xray_draws_the_nodes_of_subgraphs() {
        let expanded = drawing(&topology(), 1);
        let names = expanded["nodes"].as_array().unwrap().iter().map(|node| node["id"].as_str().unwrap());
        assert_eq!(
            names.collect::<Vec<_>>(),
            ["__start__", "plan", "worker:w1", "worker:w2", "gather", "__end__"]
        );
        let expected = [
            "__start__ plan",
            "worker:w1 worker:w2",
            "worker:w2 gather",
            "plan __end__",
            "plan worker:w1",
            "gather __end__",
        ];
        assert_eq!(pairs(&expanded), expected);
        let asked = |query: &str| levels(&Query::parse(query));
        assert_eq!(
            (asked("xray=true").unwrap(), asked("xray=2").unwrap(), asked("").unwrap()),
            (usize::MAX, 2, 0)
        );
        assert_eq!(asked("xray=deep").unwrap_err().status, 422);
    }
}
