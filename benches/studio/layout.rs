//! The layout of a large graph.

use std::hint::black_box;
use std::time::Instant;

use serde_json::Map;
use superstep_inspect::{Sketch, SketchNode, layout as lay_out};

use crate::ms_since;
use crate::report::Figure;

const NODES: usize = 1_000;
const EDGES: usize = 3_000;
const ROUNDS: usize = 9;

/// A graph in which every node is reached, and in which one edge in ten leads back.
fn sketch() -> Sketch {
    let nodes = (0..NODES).map(|number| SketchNode {
        width: 60 + (number * 37 % 80) as i32,
        height: 32,
        inner: None,
    });
    let mut seed = 1_u64;
    let mut below = |limit: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % limit
    };
    let mut edges: Vec<_> = (1..NODES).map(|node| (below(node), node)).collect();
    while edges.len() < EDGES {
        let (a, b) = (below(NODES), below(NODES));
        edges.push(if edges.len() % 10 == 0 { (a.max(b), a.min(b)) } else { (a.min(b), a.max(b)) });
    }
    Sketch { nodes: nodes.collect(), edges }
}

/// P1: the layout of 1,000 nodes and 3,000 edges.
pub(crate) fn layout() -> Figure {
    let sketch = sketch();
    let (mut values, mut baselines) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let drawing = black_box(lay_out(&sketch));
        values.push(ms_since(begun));
        let begun = Instant::now();
        black_box(serde_json::to_vec(&drawing).expect("a drawing has a JSON form"));
        baselines.push(ms_since(begun));
    }
    Figure { unit: "ms", values, baselines, extra: Map::new(), target: "the JSON of the drawing; ≤ 30 ms" }
}
