//! Checks that random graphs have all kinds of parts, and that the comparison detects a difference in any of them.

use std::collections::BTreeMap;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::reference::tell;
use super::spec::{Kind, Spec, Way, specs};
use super::stage::Trouble;
use super::{LIMIT, asking, graphs, play};

/// Draws `many` random graphs, the same ones in every run.
fn drawn(many: usize) -> impl Iterator<Item = Spec> {
    let mut runner = TestRunner::deterministic();
    (0..many).map(move |_| {
        let mut spec = specs().new_tree(&mut runner).expect("nothing is refused").current();
        // Joins that never complete are removed, as they are before a run.
        graphs::graph(&mut spec);
        spec
    })
}

fn ways(spec: &Spec) -> impl Iterator<Item = &Way> {
    let ways = spec.nodes.iter().map(|node| match &node.kind {
        Kind::Plain { branch, .. } => branch.iter().flatten().flatten().collect::<Vec<_>>(),
        Kind::Routed { cases } => cases.iter().flatten().collect(),
        Kind::Worker { .. } => Vec::new(),
    });
    ways.flatten()
}

/// Lists the kinds of parts that a graph and its subgraphs have.
fn kinds(spec: &Spec, level: usize) -> Vec<&'static str> {
    let mut found = Vec::new();
    let mut has = |kind, is_there: bool| found.extend(is_there.then_some(kind));
    has("fan-out", spec.start.len() > 1);
    has("join", !spec.joins.is_empty());
    has("each", ways(spec).any(|way| matches!(way, Way::Each(_, items) if *items > 1)));
    has("exit", ways(spec).any(|way| matches!(way, Way::Leave(_))));
    has("subgraph in a subgraph", level > 1);
    for node in &spec.nodes {
        has("branch", matches!(&node.kind, Kind::Plain { branch: Some(_), .. }));
        has("route", matches!(node.kind, Kind::Routed { .. }));
        has("fan-out", matches!(&node.kind, Kind::Plain { edges, .. } if edges.len() > 1));
        has("deferred node", node.deferred);
        has("overwrite", node.writes.overwrite);
        has("subgraph", node.inner.is_some());
        has("subgraph that keeps its state", node.inner.is_some() && node.keeps);
    }
    found.extend(
        spec.nodes.iter().filter_map(|node| node.inner.as_deref()).flat_map(|inner| kinds(inner, level + 1)),
    );
    found
}

#[test]
fn random_graphs_have_everything_that_a_graph_may_have() {
    const ALL: [&str; 12] = [
        "branch",
        "deferred node",
        "each",
        "exit",
        "fan-out",
        "join",
        "overwrite",
        "question",
        "route",
        "subgraph",
        "subgraph in a subgraph",
        "subgraph that keeps its state",
    ];
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    for spec in drawn(500) {
        let mut has = kinds(&spec, 0);
        let (told, _) = tell(&spec, LIMIT);
        has.extend((!asking(&spec, &told).is_empty()).then_some("question"));
        has.sort_unstable();
        has.dedup();
        for kind in has {
            *counted.entry(kind).or_default() += 1;
        }
    }
    for kind in ALL {
        assert!(
            counted.get(kind).is_some_and(|graphs| *graphs >= 20),
            "hardly a graph has: {kind}; {counted:?}"
        );
    }
}

/// Removes one edge, if there is one that can be removed.
fn without_an_edge(spec: &mut Spec) -> bool {
    let edges = spec.nodes.iter_mut().filter_map(|node| match &mut node.kind {
        Kind::Plain { edges, .. } | Kind::Worker { edges } if !edges.is_empty() => Some(edges),
        _ => None,
    });
    edges.map(|edges| edges.pop()).next().is_some()
}

/// Swaps the first and the last node in the merge order.
fn in_another_order(spec: &mut Spec) -> bool {
    let many = spec.nodes.len();
    if many > 1 {
        let (first, last) = (spec.nodes[0].name, spec.nodes[many - 1].name);
        (spec.nodes[0].name, spec.nodes[many - 1].name) = (last, first);
    }
    many > 1
}

/// Runs random graphs, and compares each with the reference's result for a changed graph. Returns the number of
/// changed graphs, and the number of differences that were found.
fn found_out(change: fn(&mut Spec) -> bool) -> (usize, usize) {
    let (mut changed, mut found) = (0, 0);
    for mut spec in drawn(60) {
        let mut other = spec.clone();
        if !change(&mut other) {
            continue;
        }
        changed += 1;
        let played = play(0, Trouble::None, usize::MAX).run(&graphs::graph(&mut spec));
        found +=
            usize::from((&played.told, &played.ending) != (&tell(&other, LIMIT).0, &tell(&other, LIMIT).1));
    }
    (changed, found)
}

#[test]
fn an_edge_that_is_not_followed_is_noticed() {
    let (changed, found) = found_out(without_an_edge);
    assert!(changed > 20 && found * 2 > changed, "{found} of {changed}");
}

#[test]
fn another_order_of_nodes_is_noticed() {
    let (changed, found) = found_out(in_another_order);
    assert!(changed > 20 && found * 2 > changed, "{found} of {changed}");
}
