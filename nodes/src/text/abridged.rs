//! Texts that are too long.

use std::borrow::Cow;

/// Returns the mark for so many characters that are left out.
pub(crate) fn left_out(characters: usize) -> String {
    format!("[… {characters} characters left out …]")
}

/// Returns the beginning and the end of a text that has more than `most` characters, and between them a mark with the
/// number of characters that are missing: the beginning tells the subject of a text, and the end its outcome.
pub(crate) fn abridged(text: &str, most: usize) -> Cow<'_, str> {
    let characters = text.chars().count();
    if characters <= most {
        return Cow::Borrowed(text);
    }
    let at = |nth: usize| text.char_indices().nth(nth).map_or(text.len(), |(at, _)| at);
    let (begin, end) = (&text[..at(most.div_ceil(2))], &text[at(characters - most / 2)..]);
    Cow::Owned(format!("{begin}\n{}\n{end}", left_out(characters - most)))
}

/// Returns a text without the code fence around it, if there is one.
pub fn without_fence(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    inner.map_or(text, |inner| inner.strip_prefix("json").unwrap_or(inner))
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
