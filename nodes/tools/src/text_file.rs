//! Files as text.

use std::borrow::Cow;

use superstep_nodes::tool::ToolFailure;

/// The text of a file, with what has to be kept of its form.
#[derive(Debug)]
pub(super) struct TextFile {
    /// Without the mark of the byte order.
    pub(super) text: String,
    has_mark: bool,
    /// `true` if all line endings are `\r\n`.
    is_crlf: bool,
}

const MARK: char = '\u{feff}';

impl TextFile {
    /// Takes the bytes of a file, which are UTF-8 without a NUL.
    pub(super) fn parse(named: &str, bytes: Vec<u8>) -> Result<Self, ToolFailure> {
        let length = bytes.len();
        let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
        let Some(mut text) = text else {
            return Err(ToolFailure::new(format!("`{named}` is not text in UTF-8; it has {length} bytes")));
        };
        let has_mark = text.starts_with(MARK);
        if has_mark {
            text.remove(0);
        }
        let ends = text.matches('\n').count();
        let is_crlf = ends > 0 && text.matches("\r\n").count() == ends;
        Ok(Self { text, has_mark, is_crlf })
    }

    /// Returns a text of a model with the line ends of this file: models write `\n`, whatever ends the file's lines.
    pub(super) fn as_here<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_crlf && !text.contains('\r') { text.replace('\n', "\r\n").into() } else { text.into() }
    }

    /// The bytes of the file with another text.
    pub(super) fn with_text(&self, text: &str) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(text.len() + MARK.len_utf8());
        if self.has_mark {
            bytes.extend(MARK.to_string().into_bytes());
        }
        bytes.extend_from_slice(text.as_bytes());
        bytes
    }
}

/// A line as a model reads it: with its number, and without what is beyond so many characters.
pub(super) fn numbered(number: usize, line: &str, most_chars: usize) -> String {
    format!("{number:>6}\t{}\n", shortened(line, most_chars))
}

/// The first characters of a line, with a mark if there are more.
pub(super) fn shortened(line: &str, most_chars: usize) -> Cow<'_, str> {
    match line.char_indices().nth(most_chars) {
        None => line.into(),
        Some((end, _)) => {
            format!("{} [… {} characters more]", &line[..end], line[end..].chars().count()).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_refused() {
        for bytes in [&b"a\0b"[..], b"\xff\xfe"] {
            let refused = TextFile::parse("a.bin", bytes.to_vec()).unwrap_err();
            assert!(refused.to_string().starts_with("`a.bin` is not text in UTF-8"), "{refused}");
        }
    }

    #[test]
    fn the_form_of_a_file_is_kept() {
        let file = TextFile::parse("a", "\u{feff}a\r\nb\r\n".into()).unwrap();
        assert_eq!((file.text.as_str(), &*file.as_here("a\nb")), ("a\r\nb\r\n", "a\r\nb"));
        assert_eq!(file.with_text("c\r\n"), "\u{feff}c\r\n".as_bytes());
        let mixed = TextFile::parse("a", "a\r\nb\n".into()).unwrap();
        assert_eq!((&*mixed.as_here("a\nb"), mixed.with_text("c")), ("a\nb", b"c".to_vec()));
    }

    #[test]
    fn a_long_line_says_how_much_is_missing() {
        assert_eq!(numbered(7, "äöü", 3), "     7\täöü\n");
        assert_eq!(shortened("äöü", 1), "ä [… 2 characters more]");
    }
}
