//! Patterns of names: `*` stands for any letters, `?` for one.

/// Returns `true` if the text contains a wildcard.
pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// Returns `true` if a name matches the pattern.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    // The positions in the name that the pattern so far can end at.
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    for wanted in pattern {
        let before = reached.clone();
        match wanted {
            '*' => {
                let first = before.iter().position(|reached| *reached).unwrap_or(before.len());
                reached[first..].fill(true);
            }
            wanted => {
                reached[0] = false;
                for (at, letter) in name.iter().enumerate() {
                    reached[at + 1] = before[at] && (wanted == '?' || wanted == *letter);
                }
            }
        }
    }
    reached[name.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_letters_and_a_question_mark_is_one() {
        for (pattern, name) in
            [("*", ""), ("a*", "a"), ("*b*d", "abcd"), ("?ü?", "aüc"), ("a", "a"), ("**", "x")]
        {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("", "a"), ("?", ""), ("a*c", "abcd"), ("a", "ab"), ("*b", "abc"), ("??", "a")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
