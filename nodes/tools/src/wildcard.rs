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
