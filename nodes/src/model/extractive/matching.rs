//! Which sentences of the passages found answer a question.

use std::collections::HashMap;

use crate::docs::{Passage, SearchHits};
use crate::text::{Query, Relevance, Source, Term, relevance};

/// The share of the question's weight that the best match has to have.
const ENOUGH: f64 = 0.6;

/// The share of the best match's score that a further one has to have.
const AS_GOOD: f64 = 0.85;

/// How much the score of the passage counts, against a relevance of about 1.
const FOR_PASSAGE: f64 = 0.3;

/// How much the second best passage of the same file counts, against a relevance of about 1.
const FOR_FILE: f64 = 0.1;

/// A piece of a passage that may answer a question.
pub(super) struct Match<'h> {
    pub(super) passage: &'h Passage,
    pub(super) text: String,
    pub(super) coverage: f64,
    pub(super) score: f64,
}

/// Finds the pieces that answer a question, the best first; none if none is good enough.
pub(super) fn best_matches<'h>(question: &str, searches: &'h [SearchHits], limit: usize) -> Vec<Match<'h>> {
    let searched = searches.iter().map(|search| search.searched).max().unwrap_or(0);
    let query = Query::new(question).weighed(searched, |term| counted(term, searches));
    if !query.is_telling() {
        return Vec::new();
    }
    let mut matches: Vec<Match<'_>> = searches
        .iter()
        .flat_map(|search| &search.passages)
        .flat_map(|passage| read(&query, passage))
        .collect();
    let support: HashMap<&str, f64> = support(searches);
    for found in &mut matches {
        found.score += FOR_FILE * support.get(found.passage.path.as_str()).copied().unwrap_or(0.0);
    }
    // Stable, so of equals the one that the search put first stays first.
    matches.sort_by(|a, b| b.score.total_cmp(&a.score));
    let Some(best) = matches.first().filter(|best| best.coverage >= ENOUGH) else {
        return Vec::new();
    };
    let least = best.score * AS_GOOD;
    let mut chosen: Vec<Match<'_>> = Vec::new();
    for found in matches {
        if found.score < least || chosen.len() == limit {
            break;
        }
        if chosen.iter().all(|other| other.text != found.text) {
            chosen.push(found);
        }
    }
    chosen
}

/// Returns how many passages have a word, as the searches counted.
fn counted(term: &Term, searches: &[SearchHits]) -> Option<u64> {
    let words = searches.iter().flat_map(|search| &search.words);
    words.filter(|count| count.word == term.word).map(|count| count.passages).max()
}

/// Returns for each file the score of its second best passage: whether it is about the question as a whole.
fn support(searches: &[SearchHits]) -> HashMap<&str, f64> {
    let mut best_two: HashMap<&str, [f64; 2]> = HashMap::new();
    for passage in searches.iter().flat_map(|search| &search.passages) {
        let [first, second] = best_two.entry(&passage.path).or_default();
        if passage.score > *first {
            (*second, *first) = (*first, passage.score);
        } else {
            *second = second.max(passage.score);
        }
    }
    best_two.into_iter().map(|(path, [_, second])| (path, second)).collect()
}

fn read<'h>(query: &Query, passage: &'h Passage) -> impl Iterator<Item = Match<'h>> + use<'h> {
    let source = Source { path: &passage.path, heading: &passage.heading, text: &passage.text };
    relevance(query, &source).into_iter().map(|Relevance { unit, coverage, score }| Match {
        passage,
        text: unit,
        coverage,
        // The search looked at whole passages; that decides between sentences that are alike.
        score: score + FOR_PASSAGE * passage.score,
    })
}
