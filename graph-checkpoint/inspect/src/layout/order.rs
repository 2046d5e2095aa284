//! Orders the items of each layer so that few edges cross.

use super::layers::Layered;

/// The number of times that all layers are ordered, down and up.
const SWEEPS: usize = 4;

/// The resolution of the mean of positions.
const FINE: usize = 1 << 10;

/// Orders each layer by the mean position of its neighbours above, then below, and keeps the best order.
pub(super) fn reduce_crossings(layered: &mut Layered) {
    let mut at = vec![0; layered.items()];
    layered.layers.iter().for_each(|layer| number(layer, &mut at));
    let mut fewest = crossings(layered, &at);
    let mut best = layered.layers.clone();
    for _ in 0..SWEEPS {
        if fewest == 0 {
            break;
        }
        for layer in &mut layered.layers {
            sort(layer, &layered.above, &mut at);
        }
        for layer in layered.layers.iter_mut().rev() {
            sort(layer, &layered.below, &mut at);
        }
        let crossed = crossings(layered, &at);
        if crossed < fewest {
            fewest = crossed;
            best.clone_from(&layered.layers);
        }
    }
    layered.layers = best;
}

fn number(layer: &[usize], at: &mut [usize]) {
    layer.iter().enumerate().for_each(|(position, item)| at[*item] = position);
}

/// Sorts a layer by the mean position of the neighbours. Items without any keep their positions as their means.
fn sort(layer: &mut [usize], neighbours: &[Vec<usize>], at: &mut [usize]) {
    let mean = |item: usize| match &*neighbours[item] {
        [] => at[item] * FINE,
        all => all.iter().map(|near| at[*near]).sum::<usize>() * FINE / all.len(),
    };
    layer.sort_by_cached_key(|item| mean(*item));
    number(layer, at);
}

/// Counts the crossings between all neighbouring layers: the pairs of edges whose ends are in different order.
fn crossings(layered: &Layered, at: &[usize]) -> usize {
    let mut count = 0;
    let mut seen: Vec<usize> = Vec::new();
    for (upper, lower) in layered.layers.iter().zip(layered.layers.iter().skip(1)) {
        // A binary indexed tree of the lower ends so far.
        seen.clear();
        seen.resize(lower.len() + 1, 0);
        let mut total = 0;
        let mut ends: Vec<usize> = Vec::new();
        for item in upper {
            ends.clear();
            ends.extend(layered.below[*item].iter().map(|below| at[*below] + 1));
            for &end in &ends {
                let (mut not_right, mut index) = (0, end);
                while index > 0 {
                    not_right += seen[index];
                    index &= index - 1;
                }
                count += total - not_right;
            }
            for &end in &ends {
                let mut index = end;
                while index < seen.len() {
                    seen[index] += 1;
                    index += index & index.wrapping_neg();
                }
                total += 1;
            }
        }
    }
    count
}
