//! Summaries of quotes.

use superstep_nodes::model::{ModelError, ModelRequest};
use superstep_nodes::prompt::SummaryPrompt;

use super::judge::read;

/// Quotes the first sentence of each message, as many of the last ones as there may be words.
pub(super) fn summarise(request: &ModelRequest) -> Result<String, ModelError> {
    let SummaryPrompt { max_words, earlier_summary, messages, .. } = read(request)?;
    let earlier = earlier_summary.iter().flat_map(|summary| summary.lines().map(str::to_owned));
    let quoted = messages.iter().filter(|said| !said.text.trim().is_empty());
    let quoted = quoted.map(|said| format!("{}: {}", said.from, first_sentence(said.text.trim())));
    let lines: Vec<String> = earlier.chain(quoted).collect();
    let mut left = usize::try_from(max_words).unwrap_or(usize::MAX);
    let fits = |line: &&String| {
        let words = line.split_whitespace().count();
        let fits = words <= left;
        left = left.saturating_sub(words);
        fits
    };
    let kept = lines.iter().rev().take_while(fits).count();
    Ok(lines[lines.len() - kept..].join("\n"))
}

/// The text up to the end of its first line or sentence.
fn first_sentence(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.find(". ").map_or(line, |end| &line[..=end])
}
