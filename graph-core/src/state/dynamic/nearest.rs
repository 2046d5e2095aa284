//! Suggestions for misspelled names.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Returns `; did you mean "name"?` with the nearest of `names`, or an empty string if none is near.
pub(crate) fn suggestion<'n>(wrong: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    let nearest = names.into_iter().map(|name| (distance(wrong, name), name)).min();
    match nearest {
        Some((far, name)) if far <= 1 + wrong.chars().count() / 3 => format!("; did you mean {name:?}?"),
        _ => String::new(),
    }
}

/// Returns the number of letters to add, remove, change, or swap with the next one.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i);
        for j in 1..=b.len() {
            let changed = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = changed.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                let swapped: &Vec<usize> = &before;
                best = best.min(swapped[j - 2] + 1);
            }
            row.push(best);
        }
        before = core::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_is_not() {
        let names = ["append", "any", "merge"];
        assert_eq!(suggestion("apend", names), "; did you mean \"append\"?");
        assert_eq!(suggestion("megre", names), "; did you mean \"merge\"?");
        assert_eq!(suggestion("concatenate", names), "");
        assert_eq!(suggestion("x", []), "");
    }
}
