//! Tests of Markdown as lines.

use proptest::prelude::*;

use super::*;

const NARROW: Look = Look { width: Some(30), color: false };

fn shown(text: &str, look: Look) -> Vec<String> {
    let mut markdown = Markdown::new();
    let mut lines = markdown.push(text, look);
    lines.extend(markdown.end(look));
    lines.iter().map(|line| line.text(look.color)).collect()
}

#[test]
fn blocks_are_shown_for_people() {
    let text = "# Title\nA **bold** and `code` text that is longer than one line.\n\n\
        - one\n- two\n  - inner\n\n3. third\n4. fourth\n\n> quoted\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n\
        [docs](https://x.org) <https://y.org>\n\n---\n";
    let expected = [
        "# Title",
        "",
        "A **bold** and `code` text",
        "that is longer than one line.",
        "",
        "• one",
        "• two",
        "  • inner",
        "",
        "3. third",
        "4. fourth",
        "",
        "│ quoted",
        "",
        "| a | b |",
        "|---|---|",
        "| 1 | 2 |",
        "",
        "docs (https://x.org)",
        "https://y.org",
        "",
        "──────────────────────────────",
    ];
    assert_eq!(shown(text, NARROW), expected);
}

#[test]
fn colours_replace_the_marks() {
    let line = &shown("**b** `c`\n", Look::terminal(40))[0];
    assert_eq!(line, "\u{1b}[1mb\u{1b}[0m \u{1b}[36mc\u{1b}[0m");
}

#[test]
fn a_block_is_shown_when_it_is_complete_and_code_line_by_line() {
    let mut markdown = Markdown::new();
    let mut push = |piece: &str| -> Vec<String> {
        markdown.push(piece, NARROW).iter().map(|line| line.text(false)).collect()
    };
    assert_eq!(push("A par"), [""; 0]);
    assert_eq!(push("agraph\nof two"), [""; 0]);
    assert_eq!(push(" lines.\n\n"), ["A paragraph of two lines."]);
    assert_eq!(push("```rust\nlet x = 1;\nlet"), ["", "```rust", "let x = 1;"]);
    assert_eq!(push(" y;\n\n"), ["let y;", ""]);
    assert_eq!(push("# no heading\n```\n# Heading\n"), ["# no heading", "```", "", "# Heading"]);
    assert_eq!(push("- one\n- two\n\n"), [""; 0]);
    let rest: Vec<_> = markdown.end(NARROW).iter().map(|line| line.text(false)).collect();
    assert_eq!(rest, ["", "• one", "• two"]);
    assert!(markdown.pending.is_empty());
}

#[test]
fn an_open_block_of_code_ends_with_the_text() {
    assert_eq!(shown("```\nlast", NARROW), ["```", "last"]);
    assert_eq!(shown("- x\n  ```\n  y\n\n  z\n  ```\n", NARROW), ["• x", "  ```", "  y", "", "  z", "  ```"]);
}

#[test]
fn control_characters_of_a_model_do_not_reach_the_terminal() {
    let text = shown("a\u{1b}[2J `b\u{7}`\n\n```\n\u{202e}c\n```\n", NARROW).join("\n");
    assert_eq!(text, "a\\u{1b}[2J `b\\u{7}`\n\n```\n\\u{202e}c\n```");
}

proptest! {
    /// Blocks are the same however the text is cut into pieces: only empty lines may differ, as a list that is
    /// interrupted may be shown in two parts.
    #[test]
    fn pieces_make_the_text(text in "(#|-|`{1,3}|~~~|>|\\||a|b c|\n| |\\*\\*|1\\.|\u{1b}){0,40}", cut in 0..40_usize) {
        let mut markdown = Markdown::new();
        let at = text.char_indices().nth(cut).map_or(text.len(), |(at, _)| at);
        let mut lines = markdown.push(&text[..at], NARROW);
        lines.extend(markdown.push(&text[at..], NARROW));
        lines.extend(markdown.end(NARROW));
        let shown: String = lines.iter().map(|line| line.text(false)).collect();
        let letters = |text: &str| text.matches(['a', 'b', 'c']).count();
        prop_assert!(letters(&shown) >= letters(&text));
        let has_escape = shown.contains('\u{1b}');
        prop_assert!(!has_escape && markdown.pending.is_empty());
    }
}
