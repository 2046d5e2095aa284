//! Pictures of a graph: Mermaid and Graphviz DOT, every case listed.

use alloc::string::String;
use core::fmt::Write;

use petgraph::visit::EdgeRef;

use super::topology::{NodeId, Topology, Wire};

impl Topology {
    /// The graph as a Mermaid flowchart. Cases label their arrows; items of `each` are drawn dotted, joins
    /// thick.
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
                Wire::MayReach => String::from("-.->"),
                Wire::Join(_) => String::from("==>"),
            };
            writeln!(text, "    n{} {arrow} n{}", from.index(), to.index())
                .expect("writing to a string succeeds");
        });
        text
    }

    /// The graph in Graphviz' DOT language, drawn like [`mermaid`](Self::mermaid).
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
                Wire::Each(case) => alloc::format!(
                    " [label={}, style=dashed]",
                    quoted(&alloc::format!("each {case}"))
                ),
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
