//! An answer made of quotes.

use std::fmt;

use super::matching::{Match, SearchResult, find};
use crate::docs::{Passage, PassageKind, SearchHits};
use crate::text::{is_code, units};

/// The text that the model returns when the documents that were searched do not answer the question, and nothing in
/// them is near.
pub const NOT_ANSWERED: &str = "The documents do not answer this question.";

/// The text before the list of the pages nearest to a question, when no sentence of the documents has enough of the
/// question's words to be quoted.
pub const NO_SENTENCE_MATCHES: &str = "No sentence matches; the nearest pages are:";

/// The text before the pages that are listed beside an answer.
pub(super) const SEE_ALSO: &str = "\n\nSee also:";

/// The text that the model returns when there is nothing to quote: no question, or no tool that finds documents.
pub const NOTHING_SEARCHED: &str =
    "No documents were searched, and this model only quotes documents: it cannot answer by itself.";

/// The text that the model returns when the limit of iterations was reached before the search that it requested was
/// run.
pub const NOT_SEARCHED_IN_TIME: &str =
    "No documents were searched: the limit of iterations was reached before the search.";

/// Tells whether a response of [`Extractive`](super::Extractive) answers nothing: it says that the documents do not, or
/// that they were not searched.
#[must_use]
pub fn is_refusal(response: &str) -> bool {
    [NOT_ANSWERED, NOT_SEARCHED_IN_TIME, NOTHING_SEARCHED].contains(&response)
        || response.starts_with(NO_SENTENCE_MATCHES)
}

/// The number of quotes in an answer, or of pages that are near, at most.
const MOST: usize = 3;

/// The answer to a question after a search.
pub(super) struct Answer<'h>(SearchResult<'h>);

/// Quotes what answers a question, or names what is near.
pub(super) fn answer<'h>(question: &str, searches: &'h [SearchHits]) -> Answer<'h> {
    Answer(find(question, searches, MOST))
}

impl fmt::Display for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            SearchResult::Quotes { quotes, also } => {
                write_quotes(f, quotes)?;
                write_list(f, "Sources:", quotes.iter().map(|quote| quote.passage))?;
                if also.is_empty() {
                    return Ok(());
                }
                write_list(f, SEE_ALSO, also.iter().copied())
            }
            SearchResult::Near(passages) => write_list(f, NO_SENTENCE_MATCHES, passages.iter().copied()),
            SearchResult::Nothing => f.write_str(NOT_ANSWERED),
        }
    }
}

fn write_quotes(f: &mut fmt::Formatter<'_>, quotes: &[Match<'_>]) -> fmt::Result {
    f.write_str("The documents say:\n")?;
    for quote in quotes {
        f.write_str("\n")?;
        for line in quote.text.lines() {
            writeln!(f, "> {line}")?;
        }
    }
    f.write_str("\n")
}

fn write_list<'h>(
    f: &mut fmt::Formatter<'_>,
    introduction: &str,
    passages: impl Iterator<Item = &'h Passage>,
) -> fmt::Result {
    f.write_str(introduction)?;
    let mut sources: Vec<String> = Vec::new();
    for source in passages.map(source) {
        if !sources.contains(&source) {
            write!(f, "\n- {source}")?;
            sources.push(source);
        }
    }
    Ok(())
}

fn source(passage: &Passage) -> String {
    let lines = if passage.line_start == passage.line_end {
        passage.line_start.to_string()
    } else {
        format!("{}-{}", passage.line_start, passage.line_end)
    };
    let heading = if passage.heading.is_empty() { String::new() } else { format!(" ({})", passage.heading) };
    format!("{}:{lines}{heading}", passage.path)
}

/// Returns the quoted form of a piece of a passage: a sentence with the code block that it introduces, and a code block
/// with the sentence before it.
pub(super) fn quote(passage: &Passage, unit: String) -> String {
    if passage.kind != PassageKind::Code {
        return unit;
    }
    let units = units(&passage.text);
    let Some(place) = units.iter().position(|other| *other == unit) else { return unit };
    let (said, code) = if is_code(&unit) {
        (place.checked_sub(1).map(|before| &units[before]), Some(&unit))
    } else {
        (Some(&unit), units[place..].iter().find(|unit| is_code(unit)))
    };
    match (said, code) {
        (Some(said), Some(code)) => format!("{said}\n{code}"),
        _ => unit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_and_its_code_are_quoted_together() {
        let code = "```rust\nthread.fork(\"b\")\n```";
        let text = format!("A fork is cheap. Call `fork`:\n\n{code}");
        let mut passage = Passage {
            path: "a.md".into(),
            heading: String::new(),
            kind: PassageKind::Code,
            line_start: 1,
            line_end: 5,
            text: text.clone(),
            score: 0.0,
        };
        let quoted = |passage: &Passage, unit: &str| quote(passage, unit.to_owned());
        assert_eq!(quoted(&passage, "A fork is cheap."), format!("A fork is cheap.\n{code}"));
        assert_eq!(quoted(&passage, code), format!("Call `fork`:\n{code}"));
        passage.text = code.to_owned();
        assert_eq!(quoted(&passage, code), code);
        passage.kind = PassageKind::List;
        assert_eq!(quoted(&passage, "A fork is cheap."), "A fork is cheap.");
    }
}
