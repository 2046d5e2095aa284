//! Characters that are invisible, or that change how the text around them is displayed.
//!
//! A text from another source can use them to hide words from its reader, to reorder its line, or to move the
//! cursor of a terminal. They are escaped on the command line, and in the descriptions of tools from other programs.

use alloc::borrow::Cow;
use alloc::string::String;

/// The first and the last character of each range, in order, without the control characters that [`char::is_control`] knows.
const RANGES: [(char, char); 18] = [
    // Soft hyphen and grapheme joiner; further down, blank letters of several scripts.
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    // Arabic letter mark: bidirectional.
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    // Zero-width space and joiners, bidirectional marks.
    ('\u{200b}', '\u{200f}'),
    // Line and paragraph separators.
    ('\u{2028}', '\u{2029}'),
    // Bidirectional embeddings and overrides.
    ('\u{202a}', '\u{202e}'),
    // Word joiner, invisible operators, bidirectional isolates.
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    // Variation selectors, except those that select the form of an emoji.
    ('\u{fe00}', '\u{fe0d}'),
    // Zero-width no-break space, the byte order mark.
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    // Reserved and interlinear annotations.
    ('\u{fff0}', '\u{fffb}'),
    // Format characters of shorthand and music.
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    // Tags, and more variation selectors.
    ('\u{e0000}', '\u{e0fff}'),
];

/// Returns `true` if a character is invisible, or changes how the text around it is displayed: control characters
/// (ASCII and C1), bidirectional controls, zero-width characters, line separators, tags, and the others that
/// Unicode ignores by default.
///
/// Spaces count as visible, and so do the two selectors between an emoji and its text form (`U+FE0E`, `U+FE0F`).
#[must_use]
pub fn is_nonprinting(letter: char) -> bool {
    let is_listed = || RANGES.iter().any(|(first, last)| (*first..=*last).contains(&letter));
    letter.is_control() || (!letter.is_ascii() && is_listed())
}

/// Escapes the [nonprinting](is_nonprinting) characters of a text, as `\u{202e}`; line breaks and tabs stay.
///
/// ```
/// use superstep_core::nonprinting::escape_nonprinting;
///
/// assert_eq!(escape_nonprinting("Reads a file.\u{202e}\u{e0041}"), r"Reads a file.\u{202e}\u{e0041}");
/// assert_eq!(escape_nonprinting("two\r\n\tlines"), "two\r\n\tlines");
/// ```
#[must_use]
pub fn escape_nonprinting(text: &str) -> Cow<'_, str> {
    if !text.contains(is_nonprinting) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_break = letter == '\r' && letters.peek() == Some(&'\n');
        match letter {
            '\n' | '\t' => escaped.push(letter),
            _ if is_break || !is_nonprinting(letter) => escaped.push(letter),
            // A single carriage return would let the next text overwrite the line.
            _ => escaped.extend(letter.escape_default()),
        }
    }
    escaped.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_in_order_and_apart() {
        assert!(RANGES.iter().all(|(first, last)| first <= last));
        assert!(RANGES.windows(2).all(|pair| pair[0].1 < pair[1].0));
    }

    #[test]
    fn what_people_write_is_printing() {
        for text in [
            "plain text",
            "Grüße",
            "日本語",
            "שלום",
            "مرحبا",
            "नमस्ते",
            "🙂",
            "❤\u{fe0f}",
            "a\u{a0}b",
            "e\u{301}",
        ] {
            assert!(!text.contains(is_nonprinting), "{text}");
            assert!(matches!(escape_nonprinting(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn what_hides_or_reorders_is_escaped() {
        let hostile = [
            '\0',
            '\u{1b}',
            '\u{7f}',
            '\u{85}',
            '\u{9b}',
            '\u{ad}',
            '\u{61c}',
            '\u{200b}',
            '\u{200d}',
            '\u{200e}',
            '\u{2028}',
            '\u{202a}',
            '\u{202e}',
            '\u{2060}',
            '\u{2066}',
            '\u{2069}',
            '\u{3164}',
            '\u{fe00}',
            '\u{feff}',
            '\u{e0001}',
            '\u{e0020}',
            '\u{e007f}',
            '\u{e0100}',
        ];
        for letter in hostile {
            let text = alloc::format!("a{letter}b");
            let escaped = escape_nonprinting(&text);
            assert!(escaped.is_ascii() && escaped.contains('\\'), "{escaped}");
        }
        assert_eq!(escape_nonprinting("over\rwritten\r\n"), "over\\rwritten\r\n");
    }
}
