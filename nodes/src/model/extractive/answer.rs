//! An answer made of quotes.

use std::fmt;

use super::matching::{Match, best_matches};
use crate::docs::SearchHits;

/// What the model says when the documents that were searched do not answer the question.
pub const NOT_ANSWERED: &str = "The documents do not answer this question.";

/// What the model says when there is nothing it could quote: no question, or no tool that finds documents.
pub const NOTHING_SEARCHED: &str =
    "No documents were searched, and this model only quotes documents: it cannot answer by itself.";

/// What the model says when the limit of iterations was reached before the search it asked for was made.
pub const NOT_SEARCHED_IN_TIME: &str =
    "No documents were searched: the limit of iterations was reached before the search.";

/// The number of quotes in an answer, at most.
const QUOTES: usize = 3;

/// Quotes, the best first. There is at least one.
pub(super) struct Answer<'h> {
    quotes: Vec<Match<'h>>,
}

/// Quotes what answers a question, if anything does.
pub(super) fn answer<'h>(question: &str, searches: &'h [SearchHits]) -> Option<Answer<'h>> {
    let quotes = best_matches(question, searches, QUOTES);
    (!quotes.is_empty()).then_some(Answer { quotes })
}

impl fmt::Display for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("The documents say:\n")?;
        for quote in &self.quotes {
            f.write_str("\n")?;
            for line in quote.text.lines() {
                writeln!(f, "> {line}")?;
            }
        }
        f.write_str("\nSources:")?;
        let mut sources: Vec<String> = Vec::new();
        for quote in &self.quotes {
            let source = source(quote);
            if !sources.contains(&source) {
                write!(f, "\n- {source}")?;
                sources.push(source);
            }
        }
        Ok(())
    }
}

fn source(quote: &Match<'_>) -> String {
    let passage = quote.passage;
    let lines = if passage.line_start == passage.line_end {
        passage.line_start.to_string()
    } else {
        format!("{}-{}", passage.line_start, passage.line_end)
    };
    let heading = if passage.heading.is_empty() { String::new() } else { format!(" ({})", passage.heading) };
    format!("{}:{lines}{heading}", passage.path)
}
