//! Cutting Markdown and plain text into pieces that can be quoted by themselves.

/// Returns the pieces of a text that make sense by themselves, in order: sentences, list items, table
/// rows, and whole code blocks. Each is as it stands in the text, without list markers and with the lines
/// of a sentence joined; headings and the rules of tables are left out.
pub fn units(text: &str) -> Vec<String> {
    let quoted = |unit| match unit {
        Unit::Heading(_) => None,
        Unit::Said(text) => Some(text.replace('\n', " ")),
        Unit::Code(text) => Some(text),
    };
    read(text).into_iter().filter_map(quoted).collect()
}

/// Tells whether one of the [`units`] of a text is a code block.
pub fn is_code(unit: &str) -> bool {
    fence(unit).is_some()
}

/// Returns the statements of a text, in order: its sentences, with the line breaks that are in them, its list items,
/// headings and table rows, and of a code block each line.
pub fn statements(text: &str) -> Vec<String> {
    let stated = |unit| match unit {
        Unit::Heading(text) | Unit::Said(text) => vec![text],
        Unit::Code(text) => {
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && fence(line).is_none());
            lines.map(str::to_owned).collect()
        }
    };
    read(text).into_iter().flat_map(stated).collect()
}

fn read(text: &str) -> Vec<Unit> {
    let mut units = Units::default();
    for line in text.lines() {
        units.line(line);
    }
    units.end_block();
    units.done
}

enum Unit {
    /// A heading, without its signs.
    Heading(String),
    /// A sentence, a list item or a row of a table.
    Said(String),
    /// A code block, with its fences.
    Code(String),
}

#[derive(Default)]
struct Units {
    done: Vec<Unit>,
    block: Block,
}

/// The block that the lines read last belong to.
#[derive(Default)]
enum Block {
    #[default]
    None,
    Prose(String),
    Code {
        fence: String,
        text: String,
    },
}

impl Units {
    fn line(&mut self, line: &str) {
        let trimmed = line.trim();
        if let Block::Code { fence, text } = &mut self.block {
            text.push_str(line);
            text.push('\n');
            if trimmed.starts_with(fence.as_str()) {
                self.end_block();
            }
            return;
        }
        if let Some(fence) = fence(trimmed) {
            self.end_block();
            self.block = Block::Code { fence: fence.to_owned(), text: format!("{line}\n") };
        } else if trimmed.is_empty() {
            self.end_block();
        } else if is_heading(trimmed) {
            self.end_block();
            self.done.push(Unit::Heading(trimmed.trim_start_matches('#').trim().to_owned()));
        } else if trimmed.starts_with('|') {
            self.end_block();
            if !is_table_rule(trimmed) {
                self.done.push(Unit::Said(trimmed.to_owned()));
            }
        } else if let Some(item) = list_item(trimmed) {
            self.end_block();
            self.block = Block::Prose(item.to_owned());
        } else if let Block::Prose(text) = &mut self.block {
            text.push('\n');
            text.push_str(trimmed.trim_start_matches("> "));
        } else {
            self.block = Block::Prose(trimmed.trim_start_matches("> ").to_owned());
        }
    }

    fn end_block(&mut self) {
        match std::mem::take(&mut self.block) {
            Block::None => {}
            Block::Prose(text) => self.done.extend(sentences(&text).map(|text| Unit::Said(text.to_owned()))),
            Block::Code { text, .. } => self.done.push(Unit::Code(text.trim_end().to_owned())),
        }
    }
}

/// Returns the sign that begins or ends a code block, if the line begins with one.
fn fence(line: &str) -> Option<&'static str> {
    ["```", "~~~"].into_iter().find(|fence| line.starts_with(fence))
}

fn is_heading(line: &str) -> bool {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    (1..=6).contains(&level) && line[level..].starts_with(' ')
}

fn is_table_rule(line: &str) -> bool {
    line.contains('-') && line.chars().all(|letter| matches!(letter, '|' | '-' | ':' | ' '))
}

/// Returns what follows the marker of a list item.
fn list_item(line: &str) -> Option<&str> {
    let rest = match line.strip_prefix(['-', '*', '+']) {
        Some(rest) => rest,
        None => {
            let digits = line.bytes().take_while(u8::is_ascii_digit).count();
            if digits == 0 || digits > 3 {
                return None;
            }
            line[digits..].strip_prefix(['.', ')'])?
        }
    };
    let item = rest.strip_prefix(' ')?.trim_start();
    Some(["[ ] ", "[x] ", "[X] "].iter().find_map(|check| item.strip_prefix(check)).unwrap_or(item))
}

/// Cuts prose at the ends of its sentences.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = sentence_end(rest)?;
        let (sentence, after) = rest.split_at(end);
        rest = after;
        Some(sentence.trim())
    })
    .filter(|sentence| !sentence.is_empty())
}

/// Finds where the first sentence ends: behind a full stop, question mark or exclamation mark and the
/// brackets and quotes that close with it, before a space and something that can begin a sentence.
fn sentence_end(text: &str) -> Option<usize> {
    if text.is_empty() {
        return None;
    }
    let mut in_code = false;
    for (place, letter) in text.char_indices() {
        if letter == '`' {
            in_code = !in_code;
        }
        if in_code || !matches!(letter, '.' | '!' | '?') {
            continue;
        }
        let behind = &text[place + 1..];
        let closed = behind.trim_start_matches([')', ']', '"', '\'', '*', '_', '”', '’']);
        let begins = closed.trim_start();
        if begins.is_empty() {
            return Some(text.len());
        }
        let spaced = begins.len() < closed.len();
        let lower = begins.starts_with(|next: char| next.is_lowercase());
        if spaced && !lower && !(letter == '.' && is_abbreviation(&text[..place])) {
            return Some(text.len() - begins.len());
        }
    }
    Some(text.len())
}

/// Tells whether a full stop after this text ends an abbreviation rather than a sentence.
fn is_abbreviation(before: &str) -> bool {
    const ABBREVIATIONS: &[&str] =
        &["e.g", "i.e", "etc", "cf", "vs", "approx", "fig", "no", "dr", "mr", "ms", "st"];
    let word = before.rsplit(|letter: char| letter.is_whitespace() || letter == '(').next().unwrap_or(before);
    let initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase);
    initial || ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_cut_at_sentence_ends_only() {
        let text = "Version 1.2 of `a. B` is read, e.g. Rust. It works (really!). Does it? \"Yes.\" See style.md for\n\
                    more. i am lower";
        assert_eq!(
            units(text),
            [
                "Version 1.2 of `a. B` is read, e.g. Rust.",
                "It works (really!).",
                "Does it?",
                "\"Yes.\"",
                "See style.md for more. i am lower",
            ]
        );
    }

    #[test]
    fn items_rows_and_code_are_units() {
        let text = "# Title\n\nDo this:\n\n1. First. Then\n   more.\n- [x] done\n\n| a | b |\n|---|:-:|\n| 1 | 2 |\n\n\
                    ```rust\nlet x = 1. + y;\n\nlet z;\n```\nEnd";
        assert_eq!(
            units(text),
            [
                "Do this:",
                "First.",
                "Then more.",
                "done",
                "| a | b |",
                "| 1 | 2 |",
                "```rust\nlet x = 1. + y;\n\nlet z;\n```",
                "End",
            ]
        );
    }

    #[test]
    fn what_is_stated_has_its_line_breaks_and_headings_and_lines_of_code() {
        let text = "# Must be fast\nNever do it\nunless asked. Or\n- ask\n  first\n- wait\n```\na\n\n b\n```\n|c|\nd";
        assert_eq!(
            statements(text),
            ["Must be fast", "Never do it\nunless asked.", "Or", "ask\nfirst", "wait", "a", "b", "|c|", "d"]
        );
    }

    #[test]
    fn an_unclosed_code_block_is_kept() {
        assert_eq!(units("```\ncode"), ["```\ncode"]);
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_it_and_no_unit_is_empty(text in ".*(\n.*){0,5}") {
            assert!(units(&text).iter().all(|unit| !unit.trim().is_empty()));
        }
    }
}
