//! Drawings of a graph as Mermaid and as Graphviz DOT, with every case.

use alloc::string::String;
use core::fmt::Write;

use petgraph::visit::EdgeRef;

use super::topology::{NodeId, Topology, Wire};

impl Topology {
    /// Returns the graph as a Mermaid flowchart. Cases label their arrows; arrows of `each` are dotted, and those
    /// of joins are thick.
    #[must_use]
    pub fn mermaid(&self) -> String {
        let mut text = String::from("flowchart TD\n");
        for (index, node) in self.nodes.iter().enumerate() {
            let label = node.name.as_str().replace('"', "#quot;");
            let line = match index {
                0 => writeln!(text, "    n0((START))"),
                1 => writeln!(text, "    n1((END))"),
                _ => writeln!(text, "    n{index}[\"{label}\"]"),
            };
            line.expect("writing to a string succeeds");
        }
        self.each_wire(|from, to, wire| {
            let arrow = match wire {
                Wire::Edge => String::from("-->"),
                Wire::Case(case) => alloc::format!("-->|{case}|"),
                Wire::Each(case) => alloc::format!("-.->|each {case}|"),
                Wire::OnError(case) => alloc::format!("-.->|on error: {case}|"),
                Wire::MayReach => String::from("-.->"),
                Wire::Join(_) => String::from("==>"),
            };
            writeln!(text, "    n{} {arrow} n{}", from.index(), to.index())
                .expect("writing to a string succeeds");
        });
        text
    }

    /// Returns the graph in Graphviz' DOT language, drawn like [`mermaid`](Self::mermaid).
    #[must_use]
    pub fn dot(&self) -> String {
        let mut text = String::new();
        let quoted = |name: &str| alloc::format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""));
        writeln!(text, "digraph {} {{", quoted(self.name.as_str())).expect("writing to a string succeeds");
        for (index, node) in self.nodes.iter().enumerate() {
            let (label, shape) = match index {
                0 => ("START", "circle"),
                1 => ("END", "doublecircle"),
                _ => (node.name.as_str(), "box"),
            };
            writeln!(text, "    n{index} [label={}, shape={shape}];", quoted(label))
                .expect("writing to a string succeeds");
        }
        self.each_wire(|from, to, wire| {
            let style = match wire {
                Wire::Edge => String::new(),
                Wire::Case(case) => alloc::format!(" [label={}]", quoted(case)),
                Wire::Each(case) => {
                    alloc::format!(" [label={}, style=dashed]", quoted(&alloc::format!("each {case}")))
                }
                Wire::OnError(case) => {
                    alloc::format!(" [label={}, style=dashed]", quoted(&alloc::format!("on error: {case}")))
                }
                Wire::MayReach => String::from(" [style=dashed]"),
                Wire::Join(_) => String::from(" [style=bold]"),
            };
            writeln!(text, "    n{} -> n{}{style};", from.index(), to.index())
                .expect("writing to a string succeeds");
        });
        text.push_str("}\n");
        text
    }

    fn each_wire(&self, mut draw: impl FnMut(NodeId, NodeId, &Wire)) {
        let wires = self.wires();
        for edge in wires.edge_references() {
            draw(wires[edge.source()], wires[edge.target()], edge.weight());
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use crate::graph::{END, START, StateGraph, Topology, each, to};
    use crate::node::Input;
    use crate::route::Route;
    use crate::state::State;

    #[derive(State, Clone, Debug, Default)]
    struct Nothing {}

    #[derive(Route, serde::Serialize, serde::Deserialize)]
    enum Plan {
        Research(Vec<u32>),
        Write,
        Both(Vec<u32>),
        Stop,
    }

    async fn quiet() {}

    async fn plan() -> Plan {
        Plan::Stop
    }

    async fn research(_item: Input<u32>) {}

    fn topology() -> Topology {
        let mut g = StateGraph::<Nothing>::new("an \"essay\"");
        let plan = g.node("plan", plan);
        let research = g.node("research", research);
        let write = g.node("write \"it\"", quiet);
        let review = g.node("review", quiet);
        g.edge(START, plan);
        g.route(plan, move |plan| match plan {
            Plan::Research(items) => each(research, items),
            Plan::Write => to(write),
            Plan::Both(items) => to(write).and(each(research, items)),
            Plan::Stop => END,
        })
        .may_reach(review);
        g.edge(research, write);
        g.join((research, write), review);
        g.edge(write, END);
        g.edge(review, END);
        (*g.build().expect("the graph is sound").topology).clone()
    }

    #[test]
    fn mermaid_lists_every_case() {
        assert_eq!(
            topology().mermaid(),
            r##"flowchart TD
    n0((START))
    n1((END))
    n2["plan"]
    n3["research"]
    n4["write #quot;it#quot;"]
    n5["review"]
    n0 --> n2
    n2 -.->|each Research| n3
    n2 -->|Write| n4
    n2 -->|Both| n4
    n2 -.->|each Both| n3
    n2 -->|Stop| n1
    n2 -.-> n5
    n3 --> n4
    n4 --> n1
    n5 --> n1
    n3 ==> n5
    n4 ==> n5
"##
        );
    }

    #[test]
    fn dot_lists_every_case() {
        assert_eq!(
            topology().dot(),
            r#"digraph "an \"essay\"" {
    n0 [label="START", shape=circle];
    n1 [label="END", shape=doublecircle];
    n2 [label="plan", shape=box];
    n3 [label="research", shape=box];
    n4 [label="write \"it\"", shape=box];
    n5 [label="review", shape=box];
    n0 -> n2;
    n2 -> n3 [label="each Research", style=dashed];
    n2 -> n4 [label="Write"];
    n2 -> n4 [label="Both"];
    n2 -> n3 [label="each Both", style=dashed];
    n2 -> n1 [label="Stop"];
    n2 -> n5 [style=dashed];
    n3 -> n4;
    n4 -> n1;
    n5 -> n1;
    n3 -> n5 [style=bold];
    n4 -> n5 [style=bold];
}
"#
        );
    }
}
