//! Draws a graph in layers: nodes as boxes without overlap, edges as lines that touch no other node.
//!
//! ```text
//! layers: which row      order: left to right in a row      place: coordinates      route: lines of the edges
//! ```
//!
//! `strip` lays out time instead of a graph. All numbers are integers, so the same graph has the same drawing everywhere.

mod layers;
mod order;
mod place;
mod route;
mod strip;
#[cfg(test)]
mod tests;

use serde::Serialize;

use self::layers::Layered;

pub use self::strip::{Activity, Stretch, StripSpan, strip};

/// The space around the drawing of a subgraph inside its node.
pub const INNER_MARGIN: i32 = 16;

/// The space for the name of a node above the drawing of its subgraph.
pub const INNER_TOP: i32 = 40;

/// A graph to draw. Edges are pairs of positions in `nodes`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sketch {
    /// The nodes, beginning with the one that runs first.
    pub nodes: Vec<SketchNode>,
    /// The edges, from a node to a node.
    pub edges: Vec<(usize, usize)>,
}

/// A node to draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SketchNode {
    /// The width of its box; a subgraph may need more.
    pub width: i32,
    /// The height of its box; a subgraph may need more.
    pub height: i32,
    /// The graph that the node runs, drawn inside its box.
    pub inner: Option<Sketch>,
}

/// A drawn graph. The origin is at the top left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Drawing {
    /// The width of the drawing.
    pub width: i32,
    /// The height of the drawing.
    pub height: i32,
    /// The nodes, in the order of the sketch.
    pub nodes: Vec<DrawnNode>,
    /// The edges, in the order of the sketch.
    pub edges: Vec<DrawnEdge>,
}

/// The box of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DrawnNode {
    /// The layer of the node, from 0 at the top.
    pub layer: usize,
    /// The left side of the box.
    pub x: i32,
    /// The top of the box.
    pub y: i32,
    /// The width of the box.
    pub width: i32,
    /// The height of the box.
    pub height: i32,
    /// The drawing of its subgraph, moved by [`INNER_MARGIN`] and [`INNER_TOP`] from the corner of the box.
    pub inner: Option<Drawing>,
}

/// The line of an edge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DrawnEdge {
    /// The position of the node at which it begins.
    pub from: usize,
    /// The position of the node at which it ends.
    pub to: usize,
    /// `true` if it leads back to an earlier layer, or to its own node.
    pub back: bool,
    /// The points of the line: the first is on the border of `from`, the last on the border of `to`.
    pub points: Vec<(i32, i32)>,
}

/// Draws a graph from top to bottom. Edges whose positions do not exist are left out.
///
/// A new last node to which one edge leads keeps the layers of all other nodes, and if no edges cross, their order in
/// each layer.
#[must_use]
pub fn layout(sketch: &Sketch) -> Drawing {
    let mut nodes: Vec<DrawnNode> = sketch.nodes.iter().map(sized).collect();
    let count = nodes.len();
    let edges: Vec<(usize, usize)> =
        sketch.edges.iter().copied().filter(|(from, to)| *from < count && *to < count).collect();
    let mut layered = Layered::of(&edges, count);
    order::reduce_crossings(&mut layered);
    let rows = place::place(&layered, &mut nodes);
    for (node, drawn) in nodes.iter_mut().enumerate() {
        drawn.layer = layered.layer_of(node);
    }
    let edges = route::route(&layered, &rows, &nodes, &edges);
    let points = edges.iter().flat_map(|edge| &edge.points).copied();
    let corners = nodes.iter().map(|node| (node.x + node.width, node.y + node.height));
    let (width, height) =
        points.chain(corners).fold((0, 0), |(width, height), (x, y)| (width.max(x), height.max(y)));
    Drawing { width, height, nodes, edges }
}

/// Returns the box of a node, large enough for its subgraph, at the origin.
fn sized(node: &SketchNode) -> DrawnNode {
    let inner = node.inner.as_ref().map(layout);
    let (mut width, mut height) = (node.width.max(1), node.height.max(1));
    if let Some(inner) = &inner {
        width = width.max(inner.width + 2 * INNER_MARGIN);
        height = height.max(inner.height + INNER_TOP + INNER_MARGIN);
    }
    DrawnNode { layer: 0, x: 0, y: 0, width, height, inner }
}
