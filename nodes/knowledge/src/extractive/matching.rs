//! The choice of sentences that answer a question, among those of the passages found.

use super::answer::quote;
use crate::docs::{Passage, SearchHits, frequency};
use crate::text::{Query, Relevance, Source, relevance};

/// The share of the question's weight that the best sentence has to have, with its headings, to be quoted.
const ENOUGH: f64 = 0.45;

/// The share of the question's weight that a passage has to have, to be named as near.
const NEAR: f64 = 0.2;

/// The share of the best match's scores that a further one has to have.
const AS_GOOD: f64 = 0.85;

/// The weight of a sentence's score, against that of its passage, in which the search has weighed sections and pages.
const FOR_SENTENCE: f64 = 0.2;

/// The result of the searches for a question.
pub(super) enum SearchResult<'h> {
    /// Pieces of passages that may answer it, the best first; there is at least one.
    Quotes {
        quotes: Vec<Match<'h>>,
        /// The best passages of other pages that have much of the question, too.
        also: Vec<&'h Passage>,
    },
    /// No piece has enough of its words: the best passages of the pages that have most, the best first; there is at
    /// least one.
    Near(Vec<&'h Passage>),
    Nothing,
}

/// A piece of a passage that may answer a question.
pub(super) struct Match<'h> {
    pub(super) passage: &'h Passage,
    pub(super) text: String,
    coverage: f64,
    /// The score of the piece itself.
    sentence: f64,
    /// The same with its passage.
    score: f64,
}

impl Match<'_> {
    /// Leaves out the code block behind its sentence where another quote has that.
    fn without_code_of(mut self, others: &[Match<'_>]) -> Self {
        // A piece that begins with a fence is only code.
        let code = self.text.find("\n```").filter(|_| !self.text.starts_with("```"));
        if let Some(code) = code
            && others.iter().any(|other| other.text.ends_with(&self.text[code..]))
        {
            self.text.truncate(code);
        }
        self
    }
}

/// Finds what answers a question, or is near: at most `limit` pieces or passages.
pub(super) fn find<'h>(question: &str, searches: &'h [SearchHits], limit: usize) -> SearchResult<'h> {
    let matches = matches(question, searches);
    match matches.first() {
        Some(best) if best.coverage >= ENOUGH => {
            let near = near(&matches, limit);
            let quotes = quotes(matches, limit);
            let is_quoted = |page: &&Passage| quotes.iter().any(|quote| quote.passage.path == page.path);
            let also = near.into_iter().filter(|page| !is_quoted(page)).collect();
            SearchResult::Quotes { quotes, also }
        }
        Some(best) if best.coverage >= NEAR => SearchResult::Near(near(&matches, limit)),
        _ => SearchResult::Nothing,
    }
}

/// Reads all pieces of the passages, and puts the best first.
fn matches<'h>(question: &str, searches: &'h [SearchHits]) -> Vec<Match<'h>> {
    let searched = searches.iter().map(|search| search.searched).max().unwrap_or(0);
    let count = |term: &_| searches.iter().find_map(|search| frequency(&search.words, term));
    let query = Query::new(question).weighed(searched, count);
    if !query.is_telling() {
        return Vec::new();
    }
    let passages = searches.iter().flat_map(|search| &search.passages);
    let mut matches: Vec<Match<'_>> = passages.flat_map(|passage| read(&query, passage)).collect();
    // Stable, so of equals the one that the search put first stays first.
    matches.sort_by(|a, b| b.score.total_cmp(&a.score));
    matches
}

fn read<'h>(query: &Query, passage: &'h Passage) -> impl Iterator<Item = Match<'h>> + use<'h> {
    let source = Source { path: &passage.path, heading: &passage.heading, text: &passage.text };
    relevance(query, &source).into_iter().map(|Relevance { unit, coverage, score }| Match {
        passage,
        text: quote(passage, unit),
        coverage,
        sentence: score,
        score: passage.score + FOR_SENTENCE * score,
    })
}

/// Chooses the matches that are nearly as good as the best one.
fn quotes(matches: Vec<Match<'_>>, limit: usize) -> Vec<Match<'_>> {
    let (score, sentence) = matches.first().map_or((0.0, 0.0), |best| (best.score, best.sentence));
    let mut chosen: Vec<Match<'_>> = Vec::new();
    for found in matches {
        if found.score < score * AS_GOOD || chosen.len() == limit {
            break;
        }
        let found = found.without_code_of(&chosen);
        if found.sentence >= sentence * AS_GOOD && chosen.iter().all(|other| other.text != found.text) {
            chosen.push(found);
        }
    }
    chosen
}

/// Chooses the best passage of each of the best pages.
fn near<'h>(matches: &[Match<'h>], limit: usize) -> Vec<&'h Passage> {
    let mut chosen: Vec<&Passage> = Vec::new();
    for found in matches {
        if chosen.iter().all(|other| other.path != found.passage.path) {
            chosen.push(found.passage);
        }
    }
    chosen.truncate(limit);
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::docs::PassageKind;

    /// Two sentences of a passage were each quoted with its code, so an answer had the same block twice.
    #[test]
    fn a_code_block_is_quoted_once() {
        let code = "```rust\nthread.fork(\"b\")\n```";
        let passage = Passage {
            path: "a.md".into(),
            heading: String::new(),
            kind: PassageKind::Code,
            line_start: 1,
            line_end: 5,
            text: format!("Call `fork`. A fork is cheap:\n\n{code}"),
            score: 0.0,
        };
        let found =
            |text: String| Match { passage: &passage, text, coverage: 1.0, sentence: 1.0, score: 1.0 };
        let texts = |matches| quotes(matches, 3).into_iter().map(|found| found.text).collect::<Vec<_>>();
        let [first, second] = ["Call `fork`.", "A fork is cheap:"].map(|said| format!("{said}\n{code}"));
        let both = vec![found(first.clone()), found(second)];
        assert_eq!(texts(both), [first.clone(), "A fork is cheap:".to_owned()]);
        let other = "Call `edit`.\n```rust\nthread.edit(())\n```".to_owned();
        assert_eq!(texts(vec![found(first.clone()), found(other.clone())]), [first, other]);
        assert_eq!(texts(vec![found(code.to_owned())]), [code]);
    }
}
