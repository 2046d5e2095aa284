//! The headings of a text in Markdown.

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};

/// The headings of a text, and where each stands.
pub(super) struct Headings(Vec<Heading>);

struct Heading {
    /// The start, in bytes.
    at: usize,
    level: HeadingLevel,
    text: String,
}

impl Headings {
    /// Those of a text that has none.
    pub(super) fn none() -> Self {
        Self(Vec::new())
    }

    /// Those of a text in Markdown.
    pub(super) fn of(text: &str) -> Self {
        let mut headings: Vec<Heading> = Vec::new();
        let mut is_open = false;
        for (event, range) in Parser::new(text).into_offset_iter() {
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    headings.push(Heading { at: range.start, level, text: String::new() });
                    is_open = true;
                }
                Event::End(TagEnd::Heading(_)) => is_open = false,
                Event::Text(words) | Event::Code(words) if is_open => {
                    if let Some(heading) = headings.last_mut() {
                        heading.text.push_str(&words);
                    }
                }
                _ => {}
            }
        }
        Self(headings)
    }

    /// The headings that a place is below, outermost first, joined by ` > `. A heading is below itself.
    pub(super) fn above(&self, at: usize) -> String {
        let mut path: Vec<&Heading> = Vec::new();
        for heading in self.0.iter().take_while(|heading| heading.at <= at) {
            while path.pop_if(|above| above.level >= heading.level).is_some() {}
            path.push(heading);
        }
        path.iter().map(|heading| heading.text.as_str()).collect::<Vec<_>>().join(" > ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_below_the_headings_of_lower_levels_before_it() {
        let text = "# Guide\n\none\n\n## `a` and b\n\ntwo\n\n```\n# no heading\n```\n\n# Rest\n\nthree\n";
        let headings = Headings::of(text);
        let above = |words: &str| headings.above(text.find(words).unwrap());
        assert_eq!(above("one"), "Guide");
        assert_eq!(above("two"), "Guide > a and b");
        assert_eq!(above("# no heading"), "Guide > a and b");
        assert_eq!(above("three"), "Rest");
        assert_eq!(Headings::none().above(3), "");
    }
}
