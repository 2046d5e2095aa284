//! Results that are too long.

use crate::message::{Content, Part};
use crate::text::left_out;

/// Takes text out of the middle of content so that at most `most` characters of it are left, and puts a mark there
/// that says how many are missing. Parts that are no text stay.
pub(super) fn cut_in_the_middle(content: &mut Content, most: usize) {
    let count = |part: &Part| part.as_text().map_or(0, |text| text.chars().count());
    let all: usize = content.parts().iter().map(count).sum();
    if all <= most {
        return;
    }
    // The beginning says what it is, and the end how it went: both are kept.
    let (begin, end) = (most.div_ceil(2), all - most / 2);
    let mark = format!("\n{}\n", left_out(end - begin));
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
        cut_in_the_middle(&mut content, most);
        content
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
        cut_in_the_middle(&mut content, 2);
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
