//! Excerpts of long texts.

/// Returns the rest of a text, beginning `before` characters before a byte offset.
pub(super) fn around(text: &str, at: usize, before: usize) -> String {
    let (head, tail) = text.split_at(at);
    let skipped = head.chars().count().saturating_sub(before);
    match skipped {
        0 => text.to_owned(),
        skipped => format!("…{}{tail}", head.chars().skip(skipped).collect::<String>()),
    }
}

/// Returns the beginning of a text in one line, at most this many characters.
pub(super) fn beginning(text: &str, letters: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.chars().count() > letters {
        true => words.chars().take(letters.saturating_sub(1)).chain(['…']).collect(),
        false => words,
    }
}

/// The number of characters of a thread's name that are shown where space is short: more than the first part of a UUID.
const NAME_LETTERS: usize = 12;

/// Shortens the name of a thread. In a subgraph's name, only the name of the thread it belongs to is shortened.
pub(super) fn short_name(name: &str) -> String {
    match name.split_once('/') {
        Some((thread, below)) => format!("{}/{below}", beginning(thread, NAME_LETTERS)),
        None => beginning(name, NAME_LETTERS),
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

    /// At 80 columns, the name of a thread that is a UUID left no space for the step after it.
    #[test]
    fn a_long_name_is_shortened_and_what_is_below_it_is_not() {
        assert_eq!(short_name("0b9c2d4e-1f2a-4b3c-8d5e-6f7a8b9c0d1e"), "0b9c2d4e-1f…");
        assert_eq!(short_name("0b9c2d4e-1f2a-4b3c-8d5e/research#2"), "0b9c2d4e-1f…/research#2");
        assert_eq!(short_name("rust"), "rust");
    }
}
