use alloc::string::ToString;

use super::*;
use crate::graph::{END, NodeRef, Program, START, StateGraph, Targets, each, to};
use crate::node::{Input, NoInput, Node, NodeDescription, Task};
use crate::reducer::Append;
use crate::route::Route;
use crate::state::{State, Update};

#[derive(State, Clone, Debug, Default)]
struct Essay {
    draft: String,
    #[reducer(Append)]
    facts: Vec<String>,
}

#[derive(Route, serde::Serialize, serde::Deserialize)]
enum Verdict {
    Accept,
    Revise,
}

async fn quiet() {}

async fn judge() -> Verdict {
    Verdict::Accept
}

async fn work(_item: Input<u32>) {}

/// A node that declares its written field, as prebuilt nodes do.
struct Writes(FieldId);

impl<C: Send + Sync + 'static> Node<Essay, C> for Writes {
    type Output = Update<Essay>;

    async fn call(&self, _task: Task<Essay, C>) -> Update<Essay> {
        Essay::update()
    }

    fn describe(&self, node: &mut NodeDescription) {
        node.writes_field(self.0);
    }
}

type Quiet = NodeRef<NoInput, ()>;

/// Builds a graph of the quiet nodes `a`, `b`, `c`, wired by `wire`.
fn built(wire: impl FnOnce(&mut StateGraph<Essay>, [Quiet; 3])) -> Result<Program, BuildError> {
    let mut g = StateGraph::<Essay>::new("essay");
    let nodes = ["a", "b", "c"].map(|name| g.node(name, quiet));
    wire(&mut g, nodes);
    g.build()
}

/// Returns the problems of a graph, one line each.
fn problems(wire: impl FnOnce(&mut StateGraph<Essay>, [Quiet; 3])) -> Vec<String> {
    let error = built(wire).expect_err("the graph has problems");
    error.problems.iter().map(ToString::to_string).collect()
}

fn chain(g: &mut StateGraph<Essay>, [a, b, c]: [Quiet; 3]) {
    g.edge(START, a);
    g.edge(a, b);
    g.edge(b, c);
    g.edge(c, END);
}

#[test]
fn a_sound_graph_has_no_problem() {
    assert!(built(chain).is_ok());
}

#[test]
fn all_problems_are_reported_at_once() {
    let error = built(|_, _| {}).expect_err("nothing is wired");
    assert_eq!(
        error.to_string(),
        "graph \"essay\" has 4 problems
  - nothing leads from START to a node; add g.edge(START, node)
  - node \"a\" leads nowhere; if the run ends there, add g.edge(a, END)
  - node \"b\" leads nowhere; if the run ends there, add g.edge(b, END)
  - node \"c\" leads nowhere; if the run ends there, add g.edge(c, END)"
    );
}

#[test]
fn names_are_unique_and_not_reserved() {
    let lines = problems(|g, nodes| {
        chain(g, nodes);
        for name in ["a", "__start__", "__end__", ""] {
            let node = g.node(name, quiet);
            g.edge(START, node);
            g.edge(node, END);
        }
    });
    assert_eq!(
        lines,
        [
            "two nodes are called \"a\"",
            "a node cannot be called \"__start__\": the name is reserved",
            "a node cannot be called \"__end__\": the name is reserved",
            "a node cannot be called \"\": the name is reserved",
        ]
    );
}

#[test]
fn a_node_nothing_leads_to_is_unreachable() {
    let lines = problems(|g, [a, b, c]| {
        g.edge(START, a);
        g.edge(a, END);
        g.edge(b, c);
        g.edge(c, END);
    });
    assert_eq!(
        lines,
        ["node \"b\" cannot be reached from START", "node \"c\" cannot be reached from START",]
    );
}

#[test]
fn a_circle_without_an_exit_has_no_way_to_end() {
    let lines = problems(|g, [a, b, c]| {
        g.edge(START, a);
        g.edge(a, b);
        g.edge(b, a);
        g.edge(START, c);
        g.edge(c, END);
    });
    assert_eq!(lines, ["node \"a\" has no way to END", "node \"b\" has no way to END"]);
}

#[test]
fn a_decision_is_routed_once() {
    let lines = problems(|g, nodes| {
        chain(g, nodes);
        let judge = g.node("judge", judge);
        g.edge(START, judge);
    });
    assert_eq!(
        lines,
        ["node \"judge\" returns a route, but its cases have no targets; \
          add g.route(judge, |route| ..)"]
    );
    let lines = problems(|g, nodes| {
        chain(g, nodes);
        let judge = g.node("judge", judge);
        g.edge(START, judge);
        g.route(judge, |_| END);
        g.route(judge, |_| END);
    });
    assert_eq!(lines, ["node \"judge\" is routed twice"]);
}

#[test]
fn a_join_completes_before_its_target_runs() {
    let lines = problems(|g, [a, b, c]| {
        g.edge(START, a);
        g.join([a, b], c);
        g.edge(c, b);
        g.edge(b, END);
    });
    assert_eq!(lines, ["the join into \"c\" can never complete: \"b\" cannot run before \"c\" has"]);
    let lines = problems(|g, [a, b, c]| {
        chain(g, [a, b, c]);
        g.join([a, c], c);
    });
    assert_eq!(lines, ["the join into \"c\" can never complete: \"c\" cannot run before \"c\" has"]);
}

#[test]
fn a_join_has_several_sources() {
    let lines = problems(|g, [a, b, c]| {
        chain(g, [a, b, c]);
        g.join([a, a], c);
    });
    assert_eq!(lines, ["the join into \"c\" has fewer than two sources; use g.edge"]);
}

/// A checkpoint names a half-arrived join by its nodes. Of two joins with the same nodes, only the first used to
/// get its arrivals back after a resume, and from then on they ran at different times.
#[test]
fn a_join_that_is_wired_twice_is_one() {
    let program = built(|g, [a, b, c]| {
        g.edge(START, a);
        g.edge(START, b);
        g.join([a, b], c);
        g.join([b, a], c);
        g.edge(c, END);
    });
    assert_eq!(program.expect("the graph is sound").topology.joins.len(), 1);
}

#[test]
fn items_come_from_a_route_and_not_from_an_edge() {
    let lines = problems(|g, [a, b, c]| {
        chain(g, [a, b, c]);
        let work = g.node("work", work);
        g.branch(a, |_| Verdict::Accept, move |_| each(work, [1]));
        g.edge(work, END);
        g.edge(b, each(work, [1, 2]));
    });
    assert_eq!(lines, ["a plain edge from \"b\" leads to `each(..)`; only a route can send items"]);
}

#[test]
fn a_handle_of_another_graph_is_reported_once() {
    let mut other = StateGraph::<Essay>::new("other");
    let foreign = other.node("foreign", quiet);
    let lines = problems(|g, [a, b, c]| {
        chain(g, [a, b, c]);
        g.edge(a, foreign);
        g.edge(foreign, END);
        g.join([a, foreign], c);
        g.branch(b, |_| Verdict::Accept, move |_| to(foreign));
    });
    assert!(lines.contains(&Problem::ForeignHandle.to_string()), "{lines:?}");
    let foreign = Problem::ForeignHandle.to_string();
    assert_eq!(lines.iter().filter(|line| **line == foreign).count(), 1);
}

#[test]
fn nodes_that_always_share_a_superstep_do_not_write_one_field_for_one() {
    let pair = |field: FieldId| {
        built(|g, nodes| {
            chain(g, nodes);
            let (x, y) = (g.node("x", Writes(field)), g.node("y", Writes(field)));
            g.edge(nodes[0], x);
            g.edge(nodes[0], y);
            g.edge(x, END);
            g.edge(y, END);
        })
    };
    let error = pair(Essay::DRAFT.id()).expect_err("both write the draft");
    assert_eq!(
        error.problems,
        [Problem::CertainConflict { first: "x".into(), second: "y".into(), field: "draft".to_string() }]
    );
    assert!(pair(Essay::FACTS.id()).is_ok(), "facts take several writers");
}

#[test]
fn a_map_that_panics_on_an_example_is_named() {
    fn refuses(verdict: Verdict) -> Targets {
        match verdict {
            Verdict::Accept => END,
            Verdict::Revise => panic!("never revise"),
        }
    }
    let lines = problems(|g, nodes| {
        chain(g, nodes);
        let judge = g.node("judge", judge);
        g.edge(START, judge);
        g.route(judge, refuses);
    });
    assert_eq!(lines, ["the route of \"judge\" panicked on the example of its case Revise: never revise"]);
}

#[test]
fn an_error_for_an_example_says_nothing_of_other_payloads() {
    let program = built(|g, [a, b, c]| {
        chain(g, [a, b, c]);
        let judge = g.node("judge", judge);
        g.edge(START, judge);
        g.route(judge, move |verdict| match verdict {
            Verdict::Accept => Ok(to(b)),
            Verdict::Revise => Err("no payload, no target"),
        })
        .may_reach(c);
    });
    let program = program.expect("an error is no problem of the graph");
    let drawn = program.topology.mermaid();
    assert!(drawn.contains("-->|Accept|"), "{drawn}");
    assert!(!drawn.contains("Revise"), "{drawn}");
    assert_eq!(drawn.matches("-.->").count(), 1, "{drawn}");
}
