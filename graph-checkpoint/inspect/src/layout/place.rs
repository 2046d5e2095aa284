//! Computes the coordinates of the items.

use super::DrawnNode;
use super::layers::Layered;

/// The space between neighbouring items of a layer.
const BESIDE: i32 = 28;

/// The space between layers, in which edges run.
pub(super) const BETWEEN: i32 = 48;

/// The width of an edge that passes through a layer.
const PASSING: i32 = 4;

/// The number of times that items are moved towards their neighbours, down and up.
const SWEEPS: usize = 4;

/// The coordinates of layers and of all items.
#[derive(Debug)]
pub(super) struct Rows {
    /// The top of each layer.
    pub(super) top: Vec<i32>,
    /// The bottom of each layer: that of its tallest node.
    pub(super) bottom: Vec<i32>,
    /// The horizontal centre of each item.
    pub(super) centre: Vec<i32>,
}

/// Places the nodes, and returns the coordinates of all items. Layers are below each other, and items of a layer do not
/// overlap.
pub(super) fn place(layered: &Layered, nodes: &mut [DrawnNode]) -> Rows {
    let width: Vec<i32> =
        (0..layered.items()).map(|item| nodes.get(item).map_or(PASSING, |node| node.width)).collect();
    let mut left = vec![0; layered.items()];
    for layer in &layered.layers {
        let mut next = 0;
        for &item in layer {
            left[item] = next;
            next += width[item] + BESIDE;
        }
    }
    for _ in 0..SWEEPS {
        for layer in &layered.layers {
            pull(layer, &layered.above, &width, &mut left);
        }
        for layer in layered.layers.iter().rev() {
            pull(layer, &layered.below, &width, &mut left);
        }
    }
    let leftmost = left.iter().copied().min().unwrap_or(0);
    left.iter_mut().for_each(|x| *x -= leftmost);

    let (mut top, mut bottom, mut next) = (Vec::new(), Vec::new(), 0);
    for layer in &layered.layers {
        let tallest = layer.iter().filter_map(|item| nodes.get(*item)).map(|node| node.height).max();
        top.push(next);
        bottom.push(next + tallest.unwrap_or(0));
        next += tallest.unwrap_or(0) + BETWEEN;
    }
    for (item, node) in nodes.iter_mut().enumerate() {
        (node.x, node.y) = (left[item], top[layered.layer_of(item)]);
    }
    let centre = (0..layered.items()).map(|item| left[item] + width[item] / 2).collect();
    Rows { top, bottom, centre }
}

/// Moves the items of a layer towards the mean of their neighbours, in their order and without overlap.
fn pull(layer: &[usize], neighbours: &[Vec<usize>], width: &[i32], left: &mut [i32]) {
    let wanted = |item: usize| match &*neighbours[item] {
        [] => left[item],
        all => {
            let sum: i64 = all.iter().map(|near| i64::from(left[*near] + width[*near] / 2)).sum();
            let count = i64::try_from(all.len()).unwrap_or(i64::MAX);
            i32::try_from(sum / count).unwrap_or(i32::MAX / 4) - width[item] / 2
        }
    };
    // The nearest places not left of the wanted ones, and the nearest not right of them: both keep the distances, and
    // so does the middle between the two.
    let mut right_of: Vec<i32> = layer.iter().map(|item| wanted(*item)).collect();
    let mut left_of = right_of.clone();
    for index in 1..layer.len() {
        right_of[index] = right_of[index].max(right_of[index - 1] + width[layer[index - 1]] + BESIDE);
    }
    for index in (0..layer.len().saturating_sub(1)).rev() {
        left_of[index] = left_of[index].min(left_of[index + 1] - width[layer[index]] - BESIDE);
    }
    for (index, item) in layer.iter().enumerate() {
        left[*item] = (right_of[index] + left_of[index]).div_euclid(2);
    }
}
