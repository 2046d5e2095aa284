//! Assigns nodes to layers, and cuts edges that span several layers into pieces between neighbouring ones.

/// The maximum number of layers that an edge is drawn through. A longer one is drawn beside the nodes: a piece in each
/// layer would make a large graph wide, and its layout slow.
const LONGEST: usize = 8;

/// The form of an edge in the drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Course {
    /// From an item of a layer to items of the next ones, from top to bottom.
    Chain(Vec<usize>),
    /// Beside the nodes, from the upper node to the lower one.
    Beside { upper: usize, lower: usize },
    /// From a node to itself.
    Own(usize),
}

/// A graph in layers. Its items are the nodes, followed by the places where edges pass through layers.
#[derive(Clone, Debug)]
pub(super) struct Layered {
    /// The items of each layer, from left to right.
    pub(super) layers: Vec<Vec<usize>>,
    /// The courses of the edges.
    pub(super) courses: Vec<Course>,
    /// For each edge, `true` if it leads back.
    pub(super) back: Vec<bool>,
    /// The items above each item that it is connected with.
    pub(super) above: Vec<Vec<usize>>,
    /// The items below each item that it is connected with.
    pub(super) below: Vec<Vec<usize>>,
    layer: Vec<usize>,
}

impl Layered {
    pub(super) fn of(edges: &[(usize, usize)], nodes: usize) -> Self {
        let back = back_edges(edges, nodes);
        let down: Vec<(usize, usize)> = edges
            .iter()
            .zip(&back)
            .map(|(&(from, to), back)| if *back { (to, from) } else { (from, to) })
            .collect();
        let mut layer = longest_paths(&down, nodes);
        let mut courses = Vec::with_capacity(edges.len());
        for &(upper, lower) in &down {
            courses.push(match layer[lower] - layer[upper] {
                0 => Course::Own(upper),
                span if span > LONGEST => Course::Beside { upper, lower },
                _ => {
                    let mut chain = vec![upper];
                    for passed in layer[upper] + 1..layer[lower] {
                        chain.push(layer.len());
                        layer.push(passed);
                    }
                    chain.push(lower);
                    Course::Chain(chain)
                }
            });
        }
        let mut layers = vec![Vec::new(); layer.iter().max().map_or(0, |last| last + 1)];
        layer.iter().enumerate().for_each(|(item, layer)| layers[*layer].push(item));
        let (mut above, mut below) = (vec![Vec::new(); layer.len()], vec![Vec::new(); layer.len()]);
        for course in &courses {
            let Course::Chain(chain) = course else { continue };
            for piece in chain.windows(2) {
                below[piece[0]].push(piece[1]);
                above[piece[1]].push(piece[0]);
            }
        }
        Self { layers, courses, back, above, below, layer }
    }

    /// Returns the layer of an item.
    pub(super) fn layer_of(&self, item: usize) -> usize {
        self.layer[item]
    }

    /// Returns the number of items.
    pub(super) fn items(&self) -> usize {
        self.layer.len()
    }
}

/// Returns for each edge `true` if it closes a circle, found by a depth-first search from the first node.
fn back_edges(edges: &[(usize, usize)], nodes: usize) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Visit {
        Not,
        Open,
        Done,
    }
    let mut out = vec![Vec::new(); nodes];
    edges.iter().enumerate().for_each(|(edge, (from, _))| out[*from].push(edge));
    let (mut back, mut visits) = (vec![false; edges.len()], vec![Visit::Not; nodes]);
    for root in 0..nodes {
        if visits[root] != Visit::Not {
            continue;
        }
        visits[root] = Visit::Open;
        let mut open = vec![(root, 0)];
        while let Some((node, next)) = open.last_mut() {
            let Some(&edge) = out[*node].get(*next) else {
                visits[*node] = Visit::Done;
                open.pop();
                continue;
            };
            *next += 1;
            let to = edges[edge].1;
            match visits[to] {
                Visit::Open => back[edge] = true,
                Visit::Done => {}
                Visit::Not => {
                    visits[to] = Visit::Open;
                    open.push((to, 0));
                }
            }
        }
    }
    back
}

/// Returns the layers of the nodes of a graph without circles, apart from edges of a node to itself: the length of the
/// longest path to each.
fn longest_paths(edges: &[(usize, usize)], nodes: usize) -> Vec<usize> {
    let (mut out, mut waiting, mut layer) = (vec![Vec::new(); nodes], vec![0_usize; nodes], vec![0; nodes]);
    for &(from, to) in edges.iter().filter(|(from, to)| from != to) {
        out[from].push(to);
        waiting[to] += 1;
    }
    let mut ready: Vec<usize> = (0..nodes).filter(|node| waiting[*node] == 0).collect();
    while let Some(node) = ready.pop() {
        for &to in &out[node] {
            layer[to] = layer[to].max(layer[node] + 1);
            waiting[to] -= 1;
            if waiting[to] == 0 {
                ready.push(to);
            }
        }
    }
    layer
}
