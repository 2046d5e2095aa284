//! Pictures of graphs.

use serde::{Deserialize, Serialize};
use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Nothing {}

#[derive(Route, Serialize, Deserialize)]
enum Way {
    X,
    Y,
}

#[test]
fn l05_a_picture_has_every_node_and_every_case() {
    let mut g = StateGraph::<Nothing>::new("g");
    let [a, b, c] = ["a", "b", "c"].map(|name| g.node(name, async || ()));
    g.policy(c).defer();
    g.edge(START, a);
    g.edge(a, b);
    g.branch(
        b,
        |_| Way::X,
        move |way| match way {
            Way::X => to(c),
            Way::Y => END,
        },
    );
    g.edge(c, END);
    let lines = [
        "flowchart TD",
        "    n0((START))",
        "    n1((END))",
        "    n2[\"a\"]",
        "    n3[\"b\"]",
        "    n4[\"c\"]",
        "    n0 --> n2",
        "    n2 --> n3",
        "    n3 -->|X| n4",
        "    n3 -->|Y| n1",
        "    n4 --> n1",
    ];
    assert_eq!(g.compile().unwrap().mermaid().lines().collect::<Vec<_>>(), lines);
}
