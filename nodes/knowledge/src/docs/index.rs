//! The index of a folder of documents.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use super::outline::take_contents;
use super::ranking::Ranking;
use super::walk::{Language, Walk};
use super::{IndexError, IndexOptions, IndexReport, Passage, SearchHits, WordCount, markdown, prose, source};
use crate::text::{Frequency, Query, Source, Term, relevance};

/// The passages of a folder of documents, ready to be searched.
///
/// The index is in memory and does not change; files that change later are seen by the next index. A search is a matter
/// of milliseconds, so it may be made from async code.
pub struct DocIndex {
    /// In order of path and line.
    passages: Vec<Passage>,
    ranking: Ranking,
    report: IndexReport,
}

/// The number of passages of the best sections that are read closely.
const CANDIDATES: usize = 100;

/// The weight of the best sentence of a passage, against the score of its section.
const FOR_SENTENCE: f64 = 0.2;

impl DocIndex {
    /// Indexes the files below a folder.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be read. A file that cannot be indexed is no error: it is listed in the
    /// [`report`](Self::report).
    pub fn build(root: impl AsRef<Path>, options: &IndexOptions) -> Result<Self, IndexError> {
        let walk = Walk::read(root.as_ref(), options)?;
        let files = walk.files.len();
        let mut passages = Vec::new();
        for file in walk.files {
            passages.extend(match file.language {
                Language::Markdown => markdown::split(&file.path, &file.text),
                Language::Prose => prose::split(&file.path, &file.text),
                Language::Source(comment) => source::split(&file.path, &file.text, comment),
            });
        }
        let contents = take_contents(&mut passages);
        let ranking = Ranking::of(&passages, &contents);
        let report = IndexReport { files, passages: passages.len(), skipped: walk.skipped };
        Ok(Self { passages, ranking, report })
    }

    /// Returns what was indexed and what was not.
    pub fn report(&self) -> &IndexReport {
        &self.report
    }

    /// Returns the passages that fit a query best, best first; of equals the first in the documents. None fits a query
    /// without a word of the documents.
    ///
    /// The query is plain text: nothing in it has a special meaning.
    pub fn search(&self, query: &str, limit: usize) -> Vec<Passage> {
        self.lookup(query, limit).passages
    }

    /// Searches, and counts how common the words of the query are.
    pub fn lookup(&self, query: &str, limit: usize) -> SearchHits {
        let terms = Query::new(query);
        let words: Vec<_> = terms.terms().iter().map(|term| self.count(term)).collect();
        let searched = self.ranking.len() as u64;
        let terms = terms.weighed(searched, |term| frequency(&words, term));
        let mut passages = self.candidates(&terms);
        // Stable, so equals stay in the order of the documents.
        passages.sort_by(|a, b| b.score.total_cmp(&a.score));
        let passages = of_several_pages(passages, limit);
        SearchHits { query: query.to_owned(), passages, words, searched }
    }

    /// Reads the passages of the best sections.
    fn candidates(&self, query: &Query) -> Vec<Passage> {
        let mut found = Vec::new();
        for (section, score) in self.ranking.best(query) {
            if found.len() >= CANDIDATES {
                break;
            }
            found.extend(self.passages[section.passages.clone()].iter().map(|passage| {
                let score = score + FOR_SENTENCE * best_unit(query, passage);
                Passage { score, ..passage.clone() }
            }));
        }
        found
    }

    fn count(&self, term: &Term) -> WordCount {
        let Frequency { itself, meant } = self.ranking.frequency(term);
        WordCount { word: term.word.clone(), itself, meant }
    }
}

/// Takes the first passages, of no page more than a third of all, so that one page does not leave out all others.
/// Places that are left go to the next passages of any page.
fn of_several_pages(passages: Vec<Passage>, limit: usize) -> Vec<Passage> {
    let mut taken_of: HashMap<String, usize> = HashMap::new();
    let (mut first, rest): (Vec<_>, Vec<_>) = passages.into_iter().partition(|passage| {
        let taken = taken_of.entry(passage.path.clone()).or_default();
        *taken += 1;
        *taken <= limit.div_ceil(3)
    });
    first.truncate(limit);
    let left = limit - first.len();
    first.extend(rest.into_iter().take(left));
    first.sort_by(|a, b| b.score.total_cmp(&a.score));
    first
}

/// Returns how many sections have a word, as they were counted.
pub(crate) fn frequency(words: &[WordCount], term: &Term) -> Option<Frequency> {
    let count = words.iter().find(|count| count.word == term.word)?;
    Some(Frequency { itself: count.itself, meant: count.meant })
}

/// Returns the score of the piece of a passage that fits best.
fn best_unit(query: &Query, passage: &Passage) -> f64 {
    let source = Source { path: &passage.path, heading: &passage.heading, text: &passage.text };
    relevance(query, &source).into_iter().map(|unit| unit.score).fold(0.0, f64::max)
}

impl fmt::Debug for DocIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DocIndex").field("report", &self.report).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
