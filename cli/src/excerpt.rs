//! Parts of long texts.

/// A text from so many letters before a place on, which is given in bytes.
pub(super) fn around(text: &str, at: usize, before: usize) -> String {
    let (head, tail) = text.split_at(at);
    let skipped = head.chars().count().saturating_sub(before);
    match skipped {
        0 => text.to_owned(),
        skipped => format!("…{}{tail}", head.chars().skip(skipped).collect::<String>()),
    }
}

/// The beginning of a text, of so many letters at most, in one line.
pub(super) fn beginning(text: &str, letters: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.chars().count() > letters {
        true => words.chars().take(letters.saturating_sub(1)).chain(['…']).collect(),
        false => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_shown_around_a_place_in_it() {
        let text = "ä".repeat(40) + "needle and more";
        assert_eq!(around(&text, 80, 4), "…ääääneedle and more");
        assert_eq!(around("needle", 0, 4), "needle");
        assert_eq!(around("a needle", 2, 4), "a needle");
        assert_eq!(beginning("one\n two  three", 9), "one two …");
        assert_eq!(beginning("one\ntwo", 9), "one two");
    }
}
