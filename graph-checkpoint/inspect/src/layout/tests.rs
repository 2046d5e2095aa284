use proptest::prelude::*;
use proptest::test_runner::Config;

use super::*;

/// The number of random graphs; `LAYOUT_GRAPHS` sets another one.
fn graphs() -> u32 {
    std::env::var("LAYOUT_GRAPHS").map_or(200, |count| count.parse().expect("LAYOUT_GRAPHS is a number"))
}

fn node(width: i32, height: i32) -> SketchNode {
    SketchNode { width, height, inner: None }
}

fn plain(count: usize, edges: &[(usize, usize)]) -> Sketch {
    Sketch { nodes: vec![node(80, 32); count], edges: edges.to_vec() }
}

fn sketch(depth: u32) -> BoxedStrategy<Sketch> {
    let inner: BoxedStrategy<Option<Sketch>> = match depth {
        0 => Just(None).boxed(),
        _ => prop_oneof![6 => Just(None), 1 => sketch(depth - 1).prop_map(Some)].boxed(),
    };
    let drawn = (20..200_i32, 20..60_i32, inner);
    let drawn = drawn.prop_map(|(width, height, inner)| SketchNode { width, height, inner });
    (prop::collection::vec(drawn, 1..24))
        .prop_flat_map(|nodes| {
            let count = nodes.len();
            let edges = prop::collection::vec((0..count, 0..count), 0..count * 3);
            (Just(nodes), edges).prop_map(|(nodes, edges)| Sketch { nodes, edges })
        })
        .boxed()
}

/// Returns `true` if a line from one point to another has a point inside a box.
fn crosses((ax, ay): (i32, i32), (bx, by): (i32, i32), node: &DrawnNode) -> bool {
    // Clips the line to the box, by Liang and Barsky, in fractions of one denominator per side.
    let (mut first, mut last) = ((0_i64, 1_i64), (1_i64, 1_i64));
    let less = |a: (i64, i64), b: (i64, i64)| a.0 * b.1 < b.0 * a.1;
    let sides = [(ax, bx, node.x, node.x + node.width), (ay, by, node.y, node.y + node.height)];
    for (a, b, low, high) in sides {
        let (a, b, low, high) = (i64::from(a), i64::from(b), i64::from(low), i64::from(high));
        match b - a {
            0 if a <= low || a >= high => return false,
            0 => {}
            step => {
                let at = |side: i64| ((side - a) * step.signum(), step.abs());
                let (enter, leave) = if step > 0 { (at(low), at(high)) } else { (at(high), at(low)) };
                first = if less(first, enter) { enter } else { first };
                last = if less(leave, last) { leave } else { last };
            }
        }
    }
    less(first, last)
}

fn is_on_border((x, y): (i32, i32), node: &DrawnNode) -> bool {
    let (right, bottom) = (node.x + node.width, node.y + node.height);
    let within = (node.x..=right).contains(&x) && (node.y..=bottom).contains(&y);
    within && (x == node.x || x == right || y == node.y || y == bottom)
}

fn check(drawing: &Drawing) {
    for (at, a) in drawing.nodes.iter().enumerate() {
        assert!(a.x >= 0 && a.y >= 0 && a.x + a.width <= drawing.width && a.y + a.height <= drawing.height);
        for b in &drawing.nodes[..at] {
            let apart = a.x + a.width <= b.x
                || b.x + b.width <= a.x
                || a.y + a.height <= b.y
                || b.y + b.height <= a.y;
            assert!(apart, "{a:?} overlaps {b:?}");
        }
        if let Some(inner) = &a.inner {
            assert!(inner.width + 2 * INNER_MARGIN <= a.width);
            assert!(inner.height + INNER_TOP + INNER_MARGIN <= a.height);
            check(inner);
        }
    }
    for edge in &drawing.edges {
        let (from, to) = (&drawing.nodes[edge.from], &drawing.nodes[edge.to]);
        assert!(is_on_border(edge.points[0], from), "{edge:?} does not begin at {from:?}");
        assert!(is_on_border(*edge.points.last().unwrap(), to), "{edge:?} does not end at {to:?}");
        assert_eq!(edge.back, from.layer >= to.layer, "{edge:?}");
        for piece in edge.points.windows(2) {
            let crossed = drawing.nodes.iter().find(|node| crosses(piece[0], piece[1], node));
            assert!(crossed.is_none(), "{edge:?} crosses {crossed:?}");
            assert!(piece[1].0 >= 0 && piece[1].0 <= drawing.width && piece[1].1 <= drawing.height);
        }
    }
}

#[test]
fn random_graphs_have_no_overlap_and_edges_meet_their_nodes() {
    proptest!(Config::with_cases(graphs()), |(sketch in sketch(2))| {
        let drawing = layout(&sketch);
        check(&drawing);
        prop_assert_eq!(drawing.edges.len(), sketch.edges.len());
        prop_assert_eq!(drawing, layout(&sketch));
    });
}

/// Returns the nodes of each layer, from left to right, without one of them.
fn rows(drawing: &Drawing, without: usize) -> Vec<Vec<usize>> {
    let mut nodes: Vec<usize> = (0..drawing.nodes.len()).filter(|node| *node != without).collect();
    nodes.sort_by_key(|node| (drawing.nodes[*node].layer, drawing.nodes[*node].x));
    let layer = |a: &usize, b: &usize| drawing.nodes[*a].layer == drawing.nodes[*b].layer;
    nodes.chunk_by(layer).map(<[usize]>::to_vec).collect()
}

#[test]
fn a_new_last_node_keeps_the_layer_of_every_other_node() {
    proptest!(Config::with_cases(graphs()), |(sketch in sketch(0), above in any::<prop::sample::Index>())| {
        let (added, above) = (sketch.nodes.len(), above.index(sketch.nodes.len()));
        let mut more = sketch.clone();
        more.nodes.push(node(80, 32));
        more.edges.push((above, added));
        let layers = |drawing: Drawing| drawing.nodes[..added].iter().map(|node| node.layer).collect::<Vec<_>>();
        prop_assert_eq!(layers(layout(&sketch)), layers(layout(&more)));
    });
}

/// Without crossings there is nothing to reorder, so the others also stay in their order.
#[test]
fn a_new_last_leaf_of_a_tree_keeps_the_order_in_each_layer() {
    // The nodes of a tree by levels: the parents of later nodes are not before those of earlier ones.
    let parents = prop::collection::vec(0..3_usize, 1..30).prop_map(|steps| {
        let mut parent = 0;
        let later = steps.iter().enumerate().map(|(node, step)| {
            parent = (parent + step).min(node);
            parent
        });
        later.collect::<Vec<_>>()
    });
    proptest!(Config::with_cases(graphs()), |(parents in parents)| {
        let edges: Vec<_> = parents.iter().enumerate().map(|(node, parent)| (*parent, node + 1)).collect();
        let added = edges.len();
        let (before, after) = (layout(&plain(added, &edges[..added - 1])), layout(&plain(added + 1, &edges)));
        prop_assert_eq!(rows(&before, added), rows(&after, added));
    });
}

#[test]
fn a_circle_has_one_back_edge_that_ends_at_its_nodes() {
    let drawing = layout(&plain(3, &[(0, 1), (1, 2), (2, 0)]));
    check(&drawing);
    assert_eq!(drawing.edges.iter().map(|edge| edge.back).collect::<Vec<_>>(), [false, false, true]);
    assert_eq!(drawing.nodes.iter().map(|node| node.layer).collect::<Vec<_>>(), [0, 1, 2]);
}

/// The exact drawing of two branches that join: all coordinates are part of what the page and `graph --svg` show.
#[test]
fn two_branches_are_side_by_side_below_their_node() {
    let drawing = layout(&plain(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]));
    let places: Vec<_> = drawing.nodes.iter().map(|node| (node.x, node.y)).collect();
    assert_eq!(places, [(54, 0), (0, 80), (108, 80), (54, 160)]);
    assert_eq!(drawing.edges[0].points, [(81, 32), (40, 80)]);
    assert_eq!((drawing.width, drawing.height), (188, 192));
}

#[test]
fn two_edges_that_cross_in_the_given_order_are_untangled() {
    // 0 and 1 lead to 4 and 3; 2 to 5: only the order of the second layer can avoid a crossing.
    let drawing = layout(&plain(6, &[(0, 4), (1, 3), (2, 5)]));
    check(&drawing);
    assert!(drawing.nodes[4].x < drawing.nodes[3].x && drawing.nodes[3].x < drawing.nodes[5].x);
}

#[test]
fn an_edge_over_many_layers_is_drawn_beside_the_nodes() {
    let mut edges: Vec<_> = (0..20).map(|node| (node, node + 1)).collect();
    edges.extend([(0, 20), (20, 0), (1, 19)]);
    let drawing = layout(&plain(21, &edges));
    check(&drawing);
    let right = drawing.nodes.iter().map(|node| node.x + node.width).max().unwrap();
    let beside = |edge: &DrawnEdge| edge.points.iter().any(|(x, _)| *x > right);
    assert_eq!(drawing.edges.iter().filter(|edge| beside(edge)).count(), 3);
}

#[test]
fn an_empty_graph_has_an_empty_drawing() {
    assert_eq!(layout(&Sketch::default()), Drawing { width: 0, height: 0, nodes: vec![], edges: vec![] });
}
