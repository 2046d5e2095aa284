//! The checkpoints of a deleted thread that must be kept.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::Seq;

/// Returns the checkpoints of deleted threads that must be kept, for stores that delete threads.
///
/// `doomed` contains the checkpoints of those threads, each with its parent, and `needed` contains those on which
/// other checkpoints build. A kept checkpoint keeps its past, and the checkpoints that `also` returns, from which
/// its kept subgraphs continue.
///
/// # Errors
/// Returns the errors of `also`.
pub fn still_needed<E>(
    doomed: &BTreeMap<Seq, Option<Seq>>,
    needed: impl IntoIterator<Item = Seq>,
    mut also: impl FnMut(Seq) -> Result<Vec<Seq>, E>,
) -> Result<BTreeSet<Seq>, E> {
    let mut staying = BTreeSet::new();
    let mut open: Vec<Seq> = needed.into_iter().collect();
    while let Some(seq) = open.pop() {
        let Some(parent) = doomed.get(&seq) else { continue };
        if staying.insert(seq) {
            open.extend(parent);
            open.extend(also(seq)?);
        }
    }
    Ok(staying)
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use core::convert::Infallible;

    use super::*;

    #[test]
    fn the_past_of_what_is_needed_stays_with_what_it_names() {
        // 1 ◄─ 2 ◄─ 3, 2 ◄─ 4, and 5 ◄─ 6 of a subgraph, from which 2 continues.
        let parents = [(1, None), (2, Some(1)), (3, Some(2)), (4, Some(2)), (5, None), (6, Some(5))];
        let doomed = parents.map(|(seq, parent)| (Seq(seq), parent.map(Seq))).into();
        let also = |seq| Ok::<_, Infallible>(if seq == Seq(2) { vec![Seq(5)] } else { Vec::new() });
        let staying = |needed: &[u64]| {
            let staying = still_needed(&doomed, needed.iter().copied().map(Seq), also).unwrap();
            staying.into_iter().map(|seq| seq.0).collect::<Vec<_>>()
        };
        assert_eq!(staying(&[]), [] as [u64; 0]);
        assert_eq!(staying(&[1]), [1]);
        assert_eq!(staying(&[4, 9]), [1, 2, 4, 5], "9 is none of them");
    }
}
