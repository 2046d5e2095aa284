//! What is noted of a conversation without a model.

use std::collections::HashSet;

use crate::message::Message;
use crate::model::TokenCounter;

/// What a conversation says of decisions, requirements and errors: the lines that say so, found by their words. It costs
/// nothing and forgets nothing that it finds, so it stands beside every summary, and alone where no model gives one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyInformation {
    lines: Vec<String>,
}

/// The words that mark a line, in lower case.
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

/// How many characters of a line are noted.
const MOST_OF_LINE: usize = 240;

impl KeyInformation {
    /// Finds the lines of these messages, oldest first. Of results of tools only errors are looked at.
    pub fn of(messages: &[Message]) -> Self {
        let mut known = HashSet::new();
        let mut lines = Vec::new();
        for message in messages {
            let text = message.text();
            let said = match message {
                Message::Tool(result) if result.status == crate::message::ToolStatus::Ok => continue,
                _ => text.lines(),
            };
            for line in said.map(str::trim).filter(|line| is_marked(line)) {
                let line: String = line.chars().take(MOST_OF_LINE).collect();
                if known.insert(line.clone()) {
                    lines.push(line);
                }
            }
        }
        Self { lines }
    }

    /// The lines.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Notes what was noted before in front of this.
    pub(super) fn after(self, earlier: &[String]) -> Self {
        let new = self.lines.into_iter().filter(|line| !earlier.contains(line));
        Self { lines: earlier.iter().cloned().chain(new).collect() }
    }

    /// The last lines that have at most so many tokens together: what is said last is more likely to hold.
    pub(super) fn within(mut self, budget: u64, counter: &dyn TokenCounter) -> Vec<String> {
        let mut left = budget;
        let fits = |line: &&String| {
            let tokens = counter.text(line) + counter.text("- \n");
            let fits = tokens <= left;
            left = left.saturating_sub(tokens);
            fits
        };
        let kept = self.lines.iter().rev().take_while(fits).count();
        self.lines.split_off(self.lines.len() - kept)
    }
}

fn is_marked(line: &str) -> bool {
    let lower = line.to_lowercase();
    MARKS.iter().any(|mark| lower.contains(mark))
}
