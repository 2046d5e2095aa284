//! Notes on a conversation that are taken without a model.

use std::collections::HashSet;

use crate::message::{Message, ToolStatus};
use crate::model::TokenCounter;
use crate::text::statements;

/// The decisions, requirements and errors of a conversation: the sentences that state them, found by their words. No
/// model is needed, so the notes stand beside every summary, and alone where no model gives one. A compaction has room
/// for some of them only: of those that fit, the latest are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyInformation {
    lines: Vec<String>,
}

/// The words that mark a sentence, in lower case.
const MARKS: [&str; 21] = [
    "decision",
    "decided",
    "we will",
    "agreed",
    "must",
    "never",
    "always",
    "require",
    "prefer",
    "constraint",
    "deadline",
    "important",
    "remember",
    "todo",
    "next step",
    "error",
    "failed",
    "because",
    "conclusion",
    "is due",
    "goal",
];

/// The maximum number of characters of a note, without the marks where text was left out.
const MOST_OF_NOTE: usize = 240;

impl KeyInformation {
    /// Finds the sentences, list items and headings of these messages, oldest first. A sentence may span several lines.
    /// Of one that is too long the marked parts are taken, and `…` stands where text was left out. Of results of tools
    /// only errors are searched.
    pub fn of(messages: &[Message]) -> Self {
        let mut known = HashSet::new();
        let mut lines = Vec::new();
        for message in messages {
            if matches!(message, Message::Tool(result) if result.status == ToolStatus::Ok) {
                continue;
            }
            for line in statements(&message.text()).iter().flat_map(|statement| notes(statement)) {
                if known.insert(line.clone()) {
                    lines.push(line);
                }
            }
        }
        Self { lines }
    }

    /// Returns the notes, each as one line.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Puts the earlier notes in front of these.
    pub(super) fn after(self, earlier: &[String]) -> Self {
        let new = self.lines.into_iter().filter(|line| !earlier.contains(line));
        Self { lines: earlier.iter().cloned().chain(new).collect() }
    }

    /// Returns the notes that fit into so many tokens together, oldest first. Later statements are more likely to hold,
    /// so they are taken first; a line that does not fit makes room for those before it.
    pub(super) fn within(self, budget: u64, counter: &dyn TokenCounter) -> Vec<String> {
        let mut left = budget;
        let fits = |line: &String| {
            let tokens = counter.text(line) + counter.text("- \n");
            let fits = tokens <= left;
            if fits {
                left -= tokens;
            }
            fits
        };
        let mut kept: Vec<String> = self.lines.into_iter().rev().filter(fits).collect();
        kept.reverse();
        kept
    }
}

/// Returns the notes on a statement: all of it, or the marked parts of a long one.
fn notes(statement: &str) -> Vec<String> {
    let parts = parts(statement);
    let last = parts.len() - 1;
    let marked =
        parts.iter().map(|part| part.replace('\n', " ")).enumerate().filter(|(_, part)| is_marked(part));
    let noted = marked.map(|(at, part)| {
        let before = if at > 0 { "… " } else { "" };
        let behind = if at < last { " …" } else { "" };
        format!("{before}{part}{behind}")
    });
    noted.collect()
}

/// Cuts a statement into parts that are short enough to be noted, where a line ends or at least a word.
fn parts(statement: &str) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), statement.trim());
    while let Some((most, _)) = rest.char_indices().nth(MOST_OF_NOTE) {
        let begin = &rest[..most];
        let cut = begin.rfind('\n').or_else(|| begin.rfind(char::is_whitespace)).unwrap_or(most);
        let (part, behind) = rest.split_at(cut);
        parts.push(part.trim_end());
        rest = behind.trim_start();
    }
    parts.push(rest);
    parts
}

fn is_marked(line: &str) -> bool {
    let lower = line.to_lowercase();
    MARKS.iter().any(|mark| lower.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ToolCall;
    use crate::model::RoughTokens;

    fn noted(text: &str) -> Vec<String> {
        KeyInformation::of(&[Message::human("m", text)]).lines
    }

    #[test]
    fn a_sentence_that_continues_over_a_line_break_is_noted_whole() {
        // Only its first line was noted, and the exception was lost.
        let text = "Never deploy to production on a Friday unless\nAnna has agreed. Bye.\n\n## We decided on Rust\nok\n\n\
                    - it must be fast,\n  but not at night\n- nice";
        let expected = [
            "Never deploy to production on a Friday unless Anna has agreed.",
            "We decided on Rust",
            "it must be fast, but not at night",
        ];
        assert_eq!(noted(text), expected);
    }

    #[test]
    fn a_cut_sentence_is_not_taken_for_a_whole_one() {
        let words = |count: usize| vec!["word"; count].join(" ");
        assert_eq!(noted(&format!("It must {}", words(46))), [format!("It must {}", words(46))]);
        assert_eq!(noted(&format!("It must {} stop", words(60))), [format!("It must {} …", words(46))]);
        assert_eq!(
            noted(&format!("{} never {}", words(50), words(2))),
            [format!("… {} never word word", words(2))]
        );
        let lines = format!("{}\nit failed with E42\n{}", words(46), words(46));
        assert_eq!(noted(&lines), ["… it failed with E42 …"]);
        assert_eq!(
            noted(&"must".repeat(100)),
            [format!("{} …", "must".repeat(60)), format!("… {}", "must".repeat(40))]
        );
    }

    #[test]
    fn of_what_tools_returned_and_of_code_only_what_speaks_of_errors_is_noted() {
        let call = ToolCall::new("c", "run", serde_json::Value::Null);
        let log = "```\nstarted\nerror: E42\ndone\n```";
        let messages = [Message::tool("1", &call, "It must be."), Message::tool_error("2", &call, log)];
        assert_eq!(KeyInformation::of(&messages).lines(), ["error: E42"]);
    }

    #[test]
    fn a_note_that_does_not_fit_leaves_room_for_those_before_it() {
        let long = format!("It must {}", "a ".repeat(60).trim());
        let found = noted(&format!("We agreed on Rust.\n\n{long}\n\nIt is due today.\n\nWe decided."));
        assert_eq!(found.len(), 4);
        let information = KeyInformation { lines: found };
        assert_eq!(
            information.clone().within(20, &RoughTokens),
            ["We agreed on Rust.", "It is due today.", "We decided."]
        );
        assert_eq!(information.clone().within(9, &RoughTokens), ["It is due today.", "We decided."]);
        assert_eq!(information.clone().within(100, &RoughTokens), information.lines());
        assert!(information.within(0, &RoughTokens).is_empty());
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_it_and_every_note_stands_in_the_text(text in "((must|x|東|ä|\\.|- |# |```| |\n){0,9}[a-z ]{0,90}){0,9}") {
            for note in noted(&text) {
                let said = note.trim_start_matches("… ").trim_end_matches(" …");
                assert!(said.chars().count() <= MOST_OF_NOTE && !said.contains('\n'), "{note}");
                let squeeze = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).collect::<String>();
                let without_markers = |text: &str| squeeze(text).replace(['-', '#'], "");
                assert!(without_markers(&text).contains(&without_markers(said)), "{note}");
            }
        }
    }
}
