//! Suggestions for misspelled names.

use std::borrow::Cow;

/// Returns the end of an error about a name that does not exist: similar names, if there are any.
pub(super) fn did_you_mean<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> String {
    let near: Vec<Cow<'_, str>> = nearest(name, names).into_iter().map(visible).collect();
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) }
}

/// Returns a name for a text, in quotes if it would not be readable otherwise.
pub(super) fn visible(name: &str) -> Cow<'_, str> {
    match name.is_empty() || name.trim() != name || name.contains(char::is_control) {
        true => format!("{name:?}").into(),
        false => name.into(),
    }
}

/// Returns at most three names that are similar to `name`.
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

/// Returns the number of characters to add, remove or change to turn one name into the other.
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
    fn similar_names_are_suggested_and_others_are_not() {
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
