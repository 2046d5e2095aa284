//! What somebody may have meant.

use std::borrow::Cow;

/// The end of a text about a name that is not there: what is near to it, if anything is.
pub(super) fn did_you_mean<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> String {
    let near: Vec<Cow<'_, str>> = nearest(name, names).into_iter().map(visible).collect();
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) }
}

/// A name in a text: in quotes where it would not be seen as it is.
pub(super) fn visible(name: &str) -> Cow<'_, str> {
    match name.is_empty() || name.trim() != name || name.contains(char::is_control) {
        true => format!("{name:?}").into(),
        false => name.into(),
    }
}

/// The names that are nearest to `name`, at most three, if any is near at all.
fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let limit = (name.chars().count() / 3).max(1) + 1;
    let mut near: Vec<(usize, &str)> = names
        .map(|other| {
            let part = !name.is_empty() && (other.contains(name) || name.contains(other));
            (if part { 1 } else { distance(name, other) }, other)
        })
        .filter(|(distance, _)| *distance <= limit)
        .collect();
    near.sort_unstable();
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// How many letters have to be added, removed or changed to get from one name to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (other, held) in b.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *held);
            diagonal = row[other + 1];
            row[other + 1] = changed.min(diagonal + 1).min(row[other] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_is_told_and_what_is_far_is_not() {
        let names = ["poor", "rich", "richer", "tour"];
        assert_eq!(nearest("rihc", names.into_iter()), ["rich"]);
        assert_eq!(nearest("ric", names.into_iter()), ["rich", "richer"]);
        assert!(nearest("essay", names.into_iter()).is_empty());
        assert_eq!(did_you_mean("ric", names.into_iter()), "; did you mean rich, richer?");
        assert_eq!(did_you_mean("essay", names.into_iter()), "");
        assert_eq!(did_you_mean("a", ["", "a "].into_iter()), r#"; did you mean "", "a "?"#);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
