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
}
