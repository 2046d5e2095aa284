//! Draws the lines of the edges, through the space between layers and the places that are free in them.

use super::layers::{Course, Layered};
use super::place::{BETWEEN, Rows};
use super::{DrawnEdge, DrawnNode};

/// The distance of a loop from its node.
const LOOP: i32 = 12;

/// The distance between lines beside the nodes.
const TRACK: i32 = 10;

/// The points of nodes at which edges begin and end: spread over the bottom and the top of the box.
struct Ports {
    bottom: Vec<i32>,
    top: Vec<i32>,
}

/// Returns the lines of all edges.
pub(super) fn route(
    layered: &Layered,
    rows: &Rows,
    nodes: &[DrawnNode],
    edges: &[(usize, usize)],
) -> Vec<DrawnEdge> {
    let ports = ports(layered, rows, nodes);
    let tracks = tracks(layered);
    let right = nodes.iter().map(|node| node.x + node.width).chain(rows.centre.iter().copied()).max();
    let beside = right.unwrap_or(0) + LOOP + TRACK;
    let mut drawn = Vec::with_capacity(edges.len());
    for (edge, course) in layered.courses.iter().enumerate() {
        let (from, to) = edges[edge];
        let mut points = match course {
            Course::Own(node) => own_loop(&nodes[*node]),
            Course::Chain(chain) => {
                through(chain, layered, rows, nodes, (ports.bottom[edge], ports.top[edge]))
            }
            Course::Beside { upper, lower } => {
                let (begin, end) = (layered.layer_of(*upper), layered.layer_of(*lower));
                let x = beside + tracks[edge] * TRACK;
                let mut points = leaving(&nodes[*upper], ports.bottom[edge], rows.bottom[begin]);
                points.push((x, rows.bottom[begin] + BETWEEN / 2));
                points.push((x, rows.top[end] - BETWEEN / 2));
                points.push((ports.top[edge], rows.top[end]));
                points
            }
        };
        let back = layered.back[edge];
        if back && from != to {
            points.reverse();
        }
        drawn.push(DrawnEdge { from, to, back, points });
    }
    drawn
}

fn own_loop(node: &DrawnNode) -> Vec<(i32, i32)> {
    let (right, upper, lower) = (node.x + node.width, node.y + node.height / 3, node.y + node.height * 2 / 3);
    vec![(right, lower), (right + LOOP, lower), (right + LOOP, upper), (right, upper)]
}

/// Returns the first points of a line: at the bottom of a node, and below all nodes of its layer.
fn leaving(node: &DrawnNode, x: i32, bottom: i32) -> Vec<(i32, i32)> {
    let mut points = vec![(x, node.y + node.height)];
    if node.y + node.height < bottom {
        points.push((x, bottom));
    }
    points
}

/// Returns the line through the free places of layers.
fn through(
    chain: &[usize],
    layered: &Layered,
    rows: &Rows,
    nodes: &[DrawnNode],
    (bottom, top): (i32, i32),
) -> Vec<(i32, i32)> {
    let [upper, passed @ .., lower] = chain else { return Vec::new() };
    let mut points = leaving(&nodes[*upper], bottom, rows.bottom[layered.layer_of(*upper)]);
    for item in passed {
        let (x, layer) = (rows.centre[*item], layered.layer_of(*item));
        points.push((x, rows.top[layer]));
        if rows.bottom[layer] > rows.top[layer] {
            points.push((x, rows.bottom[layer]));
        }
    }
    points.push((top, rows.top[layered.layer_of(*lower)]));
    points
}

/// Spreads the ends of edges over the sides of their nodes, in the order of the items that they lead to.
fn ports(layered: &Layered, rows: &Rows, nodes: &[DrawnNode]) -> Ports {
    // Per node: the edges at its bottom and at its top, with the place that they lead to.
    let mut sides = vec![(Vec::new(), Vec::new()); nodes.len()];
    for (edge, course) in layered.courses.iter().enumerate() {
        match course {
            Course::Own(_) => {}
            Course::Beside { upper, lower } => {
                sides[*upper].0.push((i32::MAX, edge));
                sides[*lower].1.push((i32::MAX, edge));
            }
            Course::Chain(chain) => {
                let last = chain.len() - 1;
                sides[chain[0]].0.push((rows.centre[chain[1]], edge));
                sides[chain[last]].1.push((rows.centre[chain[last - 1]], edge));
            }
        }
    }
    let mut ports = Ports { bottom: vec![0; layered.courses.len()], top: vec![0; layered.courses.len()] };
    for (node, (bottom, top)) in nodes.iter().zip(&mut sides) {
        for (side, into) in [(bottom, &mut ports.bottom), (top, &mut ports.top)] {
            side.sort_unstable();
            let parts = i32::try_from(side.len()).unwrap_or(i32::MAX - 1).saturating_add(1);
            for (part, (_, edge)) in (1_i32..).zip(&*side) {
                into[*edge] = node.x + node.width / 2 - (node.width / 2) * (parts - 2 * part) / parts;
            }
        }
    }
    ports
}

/// Returns the number of the track of each edge beside the nodes: edges in the same layers have different ones.
fn tracks(layered: &Layered) -> Vec<i32> {
    let mut spans: Vec<(usize, usize, usize)> = Vec::new();
    for (edge, course) in layered.courses.iter().enumerate() {
        if let Course::Beside { upper, lower } = course {
            spans.push((layered.layer_of(*upper), layered.layer_of(*lower), edge));
        }
    }
    spans.sort_unstable();
    let (mut tracks, mut ends) = (vec![0; layered.courses.len()], Vec::new());
    for (begin, end, edge) in spans {
        let free = ends.iter().position(|taken| *taken < begin).unwrap_or(ends.len());
        match ends.get_mut(free) {
            Some(taken) => *taken = end,
            None => ends.push(end),
        }
        tracks[edge] = i32::try_from(free).unwrap_or(0);
    }
    tracks
}
