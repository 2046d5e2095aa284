//! Cutting source code into passages.

use super::{Passage, PassageKind};

/// The number of lines above which code is cut at the next blank line, and twice that anywhere.
const LONG: usize = 20;

/// Cuts source code into its comments, each with the line of code it is about as heading, and the code
/// between them.
pub(super) fn split(path: &str, text: &str, comment: &str) -> Vec<Passage> {
    let lines: Vec<&str> = text.lines().collect();
    let mut passages = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let start = at;
        if is_comment(lines[at], comment) {
            at += lines[at..].iter().take_while(|line| is_comment(line, comment)).count();
            let about = lines[at..].iter().map(|line| line.trim()).find(|line| is_telling(line));
            let prose: Vec<_> = lines[start..at].iter().map(|line| without_marker(line, comment)).collect();
            push(&mut passages, path, PassageKind::Comment, about.unwrap_or_default(), start, &prose);
        } else {
            at += code_lines(&lines[at..], comment);
            push(&mut passages, path, PassageKind::Code, "", start, &lines[start..at]);
        }
    }
    passages
}

fn is_comment(line: &str, comment: &str) -> bool {
    line.trim_start().starts_with(comment)
}

/// Tells whether a line says what a comment before it is about: attributes do not.
fn is_telling(line: &str) -> bool {
    !line.is_empty() && !line.starts_with("#[") && !line.starts_with('@')
}

fn without_marker<'l>(line: &'l str, comment: &str) -> &'l str {
    let text = line.trim_start().trim_start_matches(comment).trim_start_matches(['/', '!', '#']);
    text.strip_prefix(' ').unwrap_or(text)
}

/// Counts the lines of code up to the next comment, or a place to cut.
fn code_lines(lines: &[&str], comment: &str) -> usize {
    let mut count = 0;
    for line in lines {
        let cut = count >= 2 * LONG || count >= LONG && line.trim().is_empty();
        if cut || is_comment(line, comment) {
            break;
        }
        count += 1;
    }
    count.max(1)
}

fn push(
    passages: &mut Vec<Passage>,
    path: &str,
    kind: PassageKind,
    heading: &str,
    start: usize,
    lines: &[&str],
) {
    let blank = lines.iter().take_while(|line| line.trim().is_empty()).count();
    let text = lines[blank..].join("\n").trim_end().to_owned();
    if !text.chars().any(char::is_alphanumeric) {
        return;
    }
    let line_start = u32::try_from(start + blank + 1).unwrap_or(u32::MAX);
    let height = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
    passages.push(Passage {
        path: path.to_owned(),
        heading: heading.trim_end_matches([' ', '{']).to_owned(),
        kind,
        line_start,
        line_end: line_start.saturating_add(height - 1),
        text,
        score: 0.0,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_about_the_code_below_it() {
        let text = "//! Module.\n\nuse a::b;\n\n/// Runs it.\n///\n/// Twice.\n#[must_use]\npub fn run() {\n    go()\n}\n";
        let found: Vec<_> = split("a.rs", text, "//")
            .into_iter()
            .map(|passage| {
                (passage.kind, passage.heading, passage.line_start, passage.line_end, passage.text)
            })
            .collect();
        let comment = |heading: &str, start, end, text: &str| {
            (PassageKind::Comment, heading.to_owned(), start, end, text.to_owned())
        };
        let code = |start, end, text: &str| (PassageKind::Code, String::new(), start, end, text.to_owned());
        assert_eq!(
            found,
            [
                comment("use a::b;", 1, 1, "Module."),
                code(3, 3, "use a::b;"),
                comment("pub fn run()", 5, 7, "Runs it.\n\nTwice."),
                code(8, 11, "#[must_use]\npub fn run() {\n    go()\n}"),
            ]
        );
    }

    #[test]
    fn long_code_is_cut() {
        let text = "let a = b;\n".repeat(100);
        let found = split("a.rs", &text, "//");
        assert_eq!(found.len(), 3);
        assert_eq!((found[2].line_start, found[2].line_end), (81, 100));
    }
}
