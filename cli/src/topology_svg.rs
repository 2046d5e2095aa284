//! Draws a stored graph as an SVG picture.

use std::fmt::Write as _;

use superstep_inspect::{Drawing, INNER_MARGIN, INNER_TOP, Sketch, SketchNode, layout};

use super::lines::called;
use super::topology::{How, StoredGraph};

/// The maximum number of characters of a label; longer ones are cut.
const LONGEST_LABEL: usize = 28;

/// The space around the picture.
const MARGIN: i32 = 16;

const STYLE: &str = "text{font:13px system-ui,sans-serif;text-anchor:middle;fill:#1c2430}\
    .node{fill:#f4f6fa;stroke:#5b6b83}.many{stroke-dasharray:4 2}.when{font-size:11px;fill:#4a5568}\
    .edge{fill:none;stroke:#5b6b83}.maybe{stroke-dasharray:5 4}.join{stroke-width:2}";

impl StoredGraph {
    /// Lays the graph out, with its subgraphs inside their nodes.
    pub(super) fn drawing(&self) -> Drawing {
        layout(&self.sketch())
    }

    fn sketch(&self) -> Sketch {
        let node = |node: &super::topology::StoredNode| SketchNode {
            width: 40 + 8 * i32::try_from(cut(called(&node.name)).chars().count()).unwrap_or(0),
            height: 32,
            inner: node.subgraph.as_deref().map(Self::sketch),
        };
        let edges = self.arrows().map(|(from, to, _)| (from, to)).collect();
        Sketch { nodes: self.nodes.iter().map(node).collect(), edges }
    }

    /// Draws the graph as an SVG picture, which needs no other file.
    pub(super) fn svg(&self) -> String {
        let drawing = self.drawing();
        let (width, height) = (drawing.width + 2 * MARGIN, drawing.height + 2 * MARGIN);
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n\
             <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" \
             markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#5b6b83\"/></marker></defs>\n",
            escaped(&self.name)
        );
        self.svg_of(&drawing, (MARGIN, MARGIN), &mut text);
        text + "</svg>\n"
    }

    fn svg_of(&self, drawing: &Drawing, (left, top): (i32, i32), text: &mut String) {
        let mut push = |line: std::fmt::Arguments<'_>| {
            writeln!(text, "{line}").expect("a text takes what is written to it");
        };
        push(format_args!("<g transform=\"translate({left} {top})\">"));
        let ways: Vec<_> = self.arrows().collect();
        for (at, (node, drawn)) in self.nodes.iter().zip(&drawing.nodes).enumerate() {
            let is_many = ways.iter().any(|(_, to, how)| *to == at && matches!(how, How::Each(_)));
            let class = if is_many { "node many" } else { "node" };
            let (x, y, centre) = (drawn.x, drawn.y, drawn.x + drawn.width / 2);
            let radius = if node.name.is_start() || node.name.is_end() { drawn.height / 2 } else { 6 };
            push(format_args!(
                "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"{radius}\"/>",
                drawn.width, drawn.height
            ));
            let mark = if is_many { " ×N" } else { "" };
            let name = cut(called(&node.name));
            push(format_args!("<text x=\"{centre}\" y=\"{}\">{}{mark}</text>", y + 21, escaped(&name)));
        }
        for ((_, _, how), edge) in ways.iter().zip(&drawing.edges) {
            let class = match how {
                How::Always | How::Case(_) => "edge",
                How::Each(_) | How::OnError(_) | How::Perhaps => "edge maybe",
                How::Join => "edge join",
            };
            let points: Vec<String> = edge.points.iter().map(|(x, y)| format!("{x},{y}")).collect();
            let points = points.join(" ");
            push(format_args!(
                "<polyline class=\"{class}\" points=\"{points}\" marker-end=\"url(#arrow)\"/>"
            ));
            let label = how.label();
            if let ([(ax, ay), (bx, by), ..], false) = (&*edge.points, label.is_empty()) {
                let (x, y, label) = ((ax + bx) / 2, (ay + by) / 2 + 4, escaped(&cut(&label)));
                push(format_args!("<text class=\"when\" x=\"{x}\" y=\"{y}\">{label}</text>"));
            }
        }
        for (node, drawn) in self.nodes.iter().zip(&drawing.nodes) {
            if let (Some(graph), Some(inner)) = (&node.subgraph, &drawn.inner) {
                graph.svg_of(inner, (drawn.x + INNER_MARGIN, drawn.y + INNER_TOP), text);
            }
        }
        text.push_str("</g>\n");
    }
}

/// Cuts a label that is too long for a picture.
pub(super) fn cut(text: &str) -> String {
    match text.chars().count() > LONGEST_LABEL {
        true => text.chars().take(LONGEST_LABEL - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// Escapes a text for a picture, whose markup it cannot become.
pub(super) fn escaped(text: &str) -> String {
    let text = superstep_core::nonprinting::escape_nonprinting(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn graph(hostile: &str) -> StoredGraph {
        serde_json::from_value(json!({
            "name": "essay",
            "nodes": [
                {"name": "__start__", "edges": [hostile]},
                {"name": "__end__"},
                {"name": hostile, "decisions": [{"cases": [
                    {"case": "done", "to": []},
                    {"case": "again", "each": [hostile]},
                ]}], "subgraph": {"name": "inner", "nodes": [
                    {"name": "__start__", "edges": ["read"]}, {"name": "__end__"}, {"name": "read"},
                ]}},
            ],
        }))
        .unwrap()
    }

    #[test]
    fn names_cannot_become_markup() {
        let svg = graph("<script>\u{202e}&\"").svg();
        assert!(svg.contains("&lt;script&gt;\\u{202e}&amp;&quot;"), "{svg}");
        assert!(!svg.contains("<script") && !svg.contains('\u{202e}'));
    }

    #[test]
    fn a_picture_has_each_node_edge_and_subgraph_once() {
        let svg = graph("write").svg();
        assert_eq!(svg.matches("<rect").count(), 6);
        assert_eq!(svg.matches("<polyline").count(), 4);
        assert_eq!(svg.matches("write ×N").count(), 1);
        assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count());
    }
}
