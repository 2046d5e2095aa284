//! Texts that are too long.

use std::borrow::Cow;

/// Says that so many characters are missing here.
pub(crate) fn left_out(characters: usize) -> String {
    format!("[… {characters} characters left out …]")
}

/// Returns the beginning and the end of a text that has more than `most` characters, and between them a mark that says how many are
/// missing: the beginning says what a text is, and the end how it went.
pub(crate) fn abridged(text: &str, most: usize) -> Cow<'_, str> {
    let characters = text.chars().count();
    if characters <= most {
        return Cow::Borrowed(text);
    }
    let at = |nth: usize| text.char_indices().nth(nth).map_or(text.len(), |(at, _)| at);
    let (begin, end) = (&text[..at(most.div_ceil(2))], &text[at(characters - most / 2)..]);
    Cow::Owned(format!("{begin}\n{}\n{end}", left_out(characters - most)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_text_the_beginning_and_the_end_are_left() {
        assert_eq!(abridged("äöüß", 4), "äöüß");
        assert_eq!(abridged("äöüßs", 3), "äö\n[… 2 characters left out …]\ns");
        assert_eq!(abridged("abc", 0), "\n[… 3 characters left out …]\n");
    }
}
