//! Patterns of rules.

/// Returns `true` if a text matches a pattern in which `*` stands for any text.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Up to eight bytes at the beginning or the end of a text. Most rules are not about a call, which these tell without a
/// look at the texts.
#[derive(Clone, Copy)]
pub(super) struct Eight {
    bytes: u64,
    mask: u64,
}

impl Eight {
    pub(super) fn first(text: &str) -> Self {
        Self::of(text.bytes())
    }

    pub(super) fn last(text: &str) -> Self {
        Self::of(text.bytes().rev())
    }

    fn of(bytes: impl Iterator<Item = u8>) -> Self {
        let none = Self { bytes: 0, mask: 0 };
        bytes.take(8).enumerate().fold(none, |Self { bytes: all, mask }, (at, byte)| Self {
            bytes: all | u64::from(byte) << (8 * at),
            mask: mask | 0xff << (8 * at),
        })
    }

    /// Returns `true` if all bytes are the same that both have.
    pub(super) const fn agrees(self, other: Self) -> bool {
        (self.bytes ^ other.bytes) & self.mask & other.mask == 0
    }
}

/// Stands for any text in a text of which parts are not known.
#[cfg(all(feature = "shell", unix))]
pub(super) const ANY: char = '\0';

/// Returns `true` if a text of which parts are not known may match a pattern.
#[cfg(all(feature = "shell", unix))]
pub(super) fn may_fit(pattern: &str, text: &str) -> bool {
    let start = |of: &str, any: char| of.find(any).unwrap_or(of.len());
    let same = start(pattern, '*').min(start(text, ANY));
    if pattern.as_bytes()[..same] != text.as_bytes()[..same] {
        return false;
    }
    let pattern: Vec<char> = pattern.chars().collect();
    // Of each prefix of the pattern: whether the text so far may match it.
    let mut may = vec![false; pattern.len() + 1];
    may[0] = true;
    skip_stars(&pattern, &mut may);
    for next in text.chars() {
        let mut after = vec![false; pattern.len() + 1];
        for (at, _) in may.iter().enumerate().filter(|(_, may)| **may) {
            match pattern.get(at) {
                _ if next == ANY => after[at..].fill(true),
                Some('*') => after[at] = true,
                Some(expected) if *expected == next => after[at + 1] = true,
                Some(_) | None => {}
            }
        }
        skip_stars(&pattern, &mut after);
        may = after;
    }
    may[pattern.len()]
}

/// A star also matches no text.
#[cfg(all(feature = "shell", unix))]
fn skip_stars(pattern: &[char], may: &mut [bool]) {
    for (at, part) in pattern.iter().enumerate() {
        if *part == '*' && may[at] {
            may[at + 1] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_anything() {
        for (pattern, text) in
            [("a", "a"), ("*", ""), ("git *", "git push"), ("a*b*c", "a-bb-c"), ("*x*", "axb")]
        {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a", "ab"), ("git *", "git"), ("a*b*c", "acb"), ("ab*ba", "aba"), ("", "a")]
        {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn texts_agree_as_far_as_both_go() {
        let first = |one, other| Eight::first(one).agrees(Eight::first(other));
        assert!(first("src/", "src/a.rs") && first("", "a") && first("src/a.rs and", "src/a.rs or"));
        assert!(!first("src/", "srcs") && !first("b", "a"));
        let last = |one, other| Eight::last(one).agrees(Eight::last(other));
        assert!(last(".rs", "src/a.rs") && !last(".rs", "src/a.md"));
    }

    #[cfg(all(feature = "shell", unix))]
    #[test]
    fn a_text_with_an_unknown_part_may_match_what_it_can_become() {
        for (pattern, text) in [
            ("rm*", "\0 x"),
            ("git push --force", "git push\0"),
            ("*x", "a\0"),
            ("ab", "\0b"),
            ("a", "\0\0a\0"),
        ] {
            assert!(may_fit(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("rm*", "echo \0"), ("git push", "git pull\0"), ("ab", "\0c"), ("", "a\0")] {
            assert!(!may_fit(pattern, text), "{pattern} {text}");
        }
    }
}
