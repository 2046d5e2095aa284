//! Results that are too long.

use std::io::{self, Cursor, Read, Seek};
use std::sync::Arc;

use super::ToolResult;
use crate::blocking::blocking;
use crate::message::{Content, Part};
use crate::text::left_out;

/// A place for the whole texts of results that are too long for a conversation. Without one, they are cut.
pub trait LongResults: Send + Sync + 'static {
    /// Returns the maximum number of characters of a result in the conversation.
    fn max_chars(&self) -> usize;

    /// Stores a text, and returns the path by which a tool can read it. It may block.
    ///
    /// # Errors
    ///
    /// Fails if the text cannot be stored.
    fn store(&self, text: &mut dyn ReadSeek) -> io::Result<String>;
}

/// A text that can be read more than once.
pub trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

/// Shortens a result to at most so many characters of text. If there is a place for it, the whole text is stored there,
/// no mark makes the result longer, and data that is longer than the text may be is left out.
pub(super) async fn shorten(result: &mut ToolResult, most: usize, place: Option<&Arc<dyn LongResults>>) {
    let Some(place) = place else {
        return cut_in_the_middle(&mut result.content, most, |missing| format!("\n{}\n", left_out(missing)));
    };
    let most = most.min(place.max_chars());
    if result.data.as_ref().is_some_and(|data| data.to_string().len() > most) {
        result.data = None;
    }
    if characters(&result.content) <= most {
        return;
    }
    let (content, place) = (std::mem::take(&mut result.content), Arc::clone(place));
    let stored = blocking(move || {
        let path = place.store(&mut Cursor::new(content.to_text().as_bytes()));
        (content, path.unwrap_or_else(|error| format!("no file: {error}")))
    });
    let Some((content, path)) = stored.await else {
        result.content = Content::text("The result was lost, as the program is ending.");
        return;
    };
    result.content = content;
    let mark = |missing| format!("\n[… {missing} characters left out; the whole text is in {path} …]\n");
    let room = most.saturating_sub(mark(usize::MAX).chars().count());
    cut_in_the_middle(&mut result.content, room, mark);
}

fn characters(content: &Content) -> usize {
    content.parts().iter().filter_map(Part::as_text).map(|text| text.chars().count()).sum()
}

/// Takes text out of the middle of content so that at most `most` characters of it are left, and puts a mark there,
/// made of the number of characters that are missing. Parts that are no text stay.
fn cut_in_the_middle(content: &mut Content, most: usize, mark: impl Fn(usize) -> String) {
    let all = characters(content);
    if all <= most {
        return;
    }
    // The beginning says what it is, and the end how it went: both are kept.
    let (begin, end) = (most.div_ceil(2), all - most / 2);
    let mark = mark(end - begin);
    let (mut cut, mut at, mut marked) = (Content::empty(), 0, false);
    for part in content.parts() {
        let Some(text) = part.as_text() else {
            cut.push(part.clone());
            continue;
        };
        let length = text.chars().count();
        let (from, to) = (begin.clamp(at, at + length) - at, end.clamp(at, at + length) - at);
        at += length;
        if from == to {
            cut.push(part.clone());
            continue;
        }
        let mut kept: String = text.chars().take(from).collect();
        if !marked {
            marked = true;
            kept.push_str(&mark);
        }
        kept.extend(text.chars().skip(to));
        if !kept.is_empty() {
            cut.push(Part::text(kept));
        }
    }
    *content = cut;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::message::Image;

    fn cut(texts: &[&str], most: usize) -> Content {
        let mut content: Content = texts.iter().map(|text| Part::text(*text)).collect();
        cut_in_the_middle(&mut content, most, short);
        content
    }

    fn short(missing: usize) -> String {
        format!("\n{}\n", left_out(missing))
    }

    #[test]
    fn the_middle_is_left_out_and_counted() {
        assert_eq!(cut(&["abcdefghij"], 10).to_text(), "abcdefghij");
        assert_eq!(cut(&["abcdefghij"], 5).to_text(), "abc\n[… 5 characters left out …]\nij");
        assert_eq!(cut(&["äöüß"], 2).to_text(), "ä\n[… 2 characters left out …]\nß");
        assert_eq!(cut(&["abc"], 0).to_text(), "\n[… 3 characters left out …]\n");
    }

    #[test]
    fn parts_are_cut_as_one_text_and_images_stay() {
        let mut content =
            Content::from_iter([Part::text("abcd"), Part::Image(Image::url("u")), Part::text("efgh")]);
        cut_in_the_middle(&mut content, 2, short);
        assert_eq!(content.parts()[0], Part::text("a\n[… 6 characters left out …]\n"));
        assert!(matches!(content.parts()[1], Part::Image(_)));
        assert_eq!(content.parts()[2], Part::text("h"));
        assert_eq!(cut(&["ab", "cd", "ef"], 2).parts().len(), 2);
    }

    proptest! {
        #[test]
        fn what_is_left_is_the_beginning_and_the_end(
            texts in prop::collection::vec("[a-c]{0,9}", 1..4), most in 0_usize..12,
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let (all, left) = (texts.concat(), cut(&texts, most).to_text().into_owned());
            if all.len() <= most {
                prop_assert_eq!(left, all);
            } else {
                let mark = format!("\n[… {} characters left out …]\n", all.len() - most);
                let (begin, end) = left.split_once(&mark).unwrap();
                prop_assert!(all.starts_with(begin) && all.ends_with(end), "{left}");
                prop_assert_eq!(begin.len() + end.len(), most);
            }
        }
    }
}
