//! Patterns of names: `*` stands for any letters, `?` for one.

/// Whether it has a letter that stands for others.
pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// Whether a name is one of those that the pattern says.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    // The places in the name that the pattern so far may have come to.
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
