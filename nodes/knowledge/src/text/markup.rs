//! The parts of Markdown that are no words of the text.

/// Returns a text without the targets of its links and the names of languages at its code blocks.
pub(crate) fn without_markup(text: &str) -> String {
    let mut left = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
            left.push('\n');
        } else {
            push_without_targets(&mut left, line);
        }
    }
    left
}

fn push_without_targets(left: &mut String, line: &str) {
    let mut rest = line;
    while let Some((before, after)) = rest.split_once(']') {
        left.push_str(before);
        left.push(']');
        let close = match after.chars().next() {
            Some('(') => Some(')'),
            Some('[') => Some(']'),
            _ => None,
        };
        rest = close.and_then(|close| after.split_once(close)).map_or(after, |(_, rest)| rest);
    }
    left.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_of_links_are_left_out() {
        let text = "See [a][b.md] and [c](d.md), [x] y] and ](.\n";
        assert_eq!(without_markup(text), "See [a] and [c], [x] y] and ](.\n");
    }

    /// The word "rust" was in every page, as the language of its code.
    #[test]
    fn languages_of_code_are_left_out() {
        assert_eq!(
            without_markup("Do:\n\n  ```rust\nlet a = b[0];\n```\nEnd"),
            "Do:\n\n\nlet a = b[0];\n\nEnd"
        );
    }
}
