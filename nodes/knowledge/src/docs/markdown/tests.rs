use proptest::prelude::*;

use super::*;

fn split_text(text: &str) -> Vec<(PassageKind, String, (u32, u32), String)> {
    split("a.md", text)
        .into_iter()
        .map(|passage| (passage.kind, passage.heading, (passage.line_start, passage.line_end), passage.text))
        .collect()
}

#[test]
fn blocks_have_their_headings_and_lines() {
    let text = "Before.\n\n# One `x`\n\nText of one\non two lines.\n\n### Deep\n\n- a\n- b\n\n## Two\n\n| h |\n|---|\n\
                | c |\n\n```rust\n// code\n```\n\nSetext\n======\n\n> quote\n";
    let found = split_text(text);
    let expected = [
        (PassageKind::Prose, "", (1, 1), "Before."),
        (PassageKind::Prose, "One x", (5, 6), "Text of one\non two lines."),
        (PassageKind::List, "One x > Deep", (10, 11), "- a\n- b"),
        (PassageKind::Table, "One x > Two", (15, 17), "| h |\n|---|\n| c |"),
        (PassageKind::Code, "One x > Two", (19, 21), "```rust\n// code\n```"),
        (PassageKind::Prose, "Setext", (26, 26), "> quote"),
    ];
    assert_eq!(found.len(), expected.len());
    for (found, (kind, heading, lines, text)) in found.into_iter().zip(expected) {
        assert_eq!(found, (kind, heading.to_owned(), lines, text.to_owned()));
    }
}

#[test]
fn code_stays_with_the_paragraph_before_it() {
    let found = split_text("Take this. Then:\n\n```rust\na\n```\n\n```rust\nb\n```\n\n# H\n\n```\nc\n```\n");
    let texts: Vec<_> = found.iter().map(|(kind, _, _, text)| (*kind, text.as_str())).collect();
    let code = PassageKind::Code;
    assert_eq!(
        texts,
        [(code, "Take this. Then:\n\n```rust\na\n```"), (code, "```rust\nb\n```"), (code, "```\nc\n```")]
    );
}

#[test]
fn what_a_colon_announces_stays_with_it() {
    let found = split_text("Do both:\n\n- a\n- b\n\nNot this.\n\n- c\n");
    assert_eq!(found[0].3, "Do both:\n\n- a\n- b");
    assert_eq!(found[0].0, PassageKind::List);
    assert_eq!(found.len(), 3);
}

#[test]
fn a_long_list_is_cut_between_items() {
    let items: String =
        (0..40).map(|item| format!("- item {item} {}\n", vec!["word"; 20].join(" "))).collect();
    let found = split_text(&items);
    assert!(found.len() > 2);
    assert!(found.iter().all(|passage| passage.3.len() <= LONG && passage.3.starts_with("- item")));
    let whole: Vec<_> = found.iter().map(|passage| passage.3.as_str()).collect();
    assert_eq!(whole.join("\n"), items.trim_end(), "no item is lost");
}

#[test]
fn front_matter_and_html_are_no_passages() {
    assert_eq!(split_text("---\ntitle: x\n---\n\n<!-- note -->\n\ntext\n").len(), 1);
}

proptest! {
    #[test]
    fn no_text_breaks_it(text in "([ -~äλ\\-#>`|*\n]{0,30}\n){0,8}") {
        let lines = u32::try_from(text.lines().count()).unwrap();
        let mut before = 0;
        for (_, _, (start, end), passage) in split_text(&text) {
            prop_assert!(start > 0 && start <= end && end <= lines);
            prop_assert!(start >= before, "passages are in order");
            before = start;
            prop_assert!(text.contains(&passage));
        }
    }
}
