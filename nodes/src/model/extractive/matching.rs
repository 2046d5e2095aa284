//! Which sentences of the passages found answer a question.

use crate::docs::{Passage, SearchHits};
use crate::text::{Query, Term, Terms, units};

/// The share of the question's weight that the best match has to have.
const ENOUGH: f64 = 0.62;

/// The share of the best match's score that a further one has to have.
const AS_GOOD: f64 = 0.85;

/// How much finding a word counts: in the sentence, in the headings above it, elsewhere in its passage, in
/// the name of the file.
const IN_UNIT: f64 = 1.0;
const IN_HEADING: f64 = 0.9;
const IN_PASSAGE: f64 = 0.8;
const IN_PATH: f64 = 0.6;

/// How much a word counts that is common in questions about anything.
const FILLER: f64 = 0.3;

/// A piece of a passage that may answer a question.
pub(super) struct Match<'h> {
    pub(super) passage: &'h Passage,
    pub(super) text: String,
    pub(super) coverage: f64,
    pub(super) score: f64,
}

/// Finds the pieces that answer a question, the best first; none if none is good enough.
pub(super) fn best_matches<'h>(question: &str, searches: &'h [SearchHits], limit: usize) -> Vec<Match<'h>> {
    let query = Query::new(question).weighed(|term| weight(term, searches));
    if query.terms().iter().all(Term::is_filler) {
        return Vec::new();
    }
    let mut matches: Vec<Match<'_>> = searches
        .iter()
        .flat_map(|search| (0_u32..).zip(&search.passages))
        .flat_map(|(rank, passage)| read(&query, rank, passage))
        .collect();
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

/// Weighs a word of the question by how rare it is in the documents.
fn weight(term: &Term, searches: &[SearchHits]) -> f64 {
    let searched: u64 = searches.iter().map(|search| search.searched).max().unwrap_or(0);
    let with_word = searches
        .iter()
        .flat_map(|search| &search.words)
        .filter(|count| count.word == term.word)
        .map(|count| count.passages)
        .max();
    let rarity = match with_word {
        Some(passages) => {
            let (all, with) = (searched as f64, passages as f64);
            (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
        }
        None => 1.0,
    };
    if term.is_filler() { rarity * FILLER } else { rarity }
}

fn read<'h>(query: &Query, rank: u32, passage: &'h Passage) -> Vec<Match<'h>> {
    let heading = Terms::of(&passage.heading);
    let path = Terms::of(&passage.path);
    let body = Terms::of(&passage.text);
    let pieces = units(&passage.text).into_iter();
    pieces
        .map(|text| {
            let unit = Terms::of(&text);
            let coverage = query.credited(|term| {
                if unit.contains(&term.stem) {
                    IN_UNIT
                } else if heading.contains(&term.stem) {
                    IN_HEADING
                } else if body.contains(&term.stem) {
                    IN_PASSAGE
                } else if path.contains(&term.stem) {
                    IN_PATH
                } else {
                    0.0
                }
            });
            let score = coverage + closeness(query, &unit, &heading) + 0.05 / f64::from(rank + 1);
            let short = if unit.len() < 3 { 0.1 } else { 0.0 };
            Match {
                passage,
                text,
                coverage,
                score: score - short,
            }
        })
        .collect()
}

/// Rewards neighbours of the question that are neighbours here.
fn closeness(query: &Query, unit: &Terms, heading: &Terms) -> f64 {
    let (mut all, mut near) = (0.0, 0.0);
    for (first, second) in query.pairs() {
        all += 1.0;
        if unit.has_pair(&first.stem, &second.stem) || heading.has_pair(&first.stem, &second.stem) {
            near += 1.0;
        }
    }
    if all > 0.0 { 0.1 * near / all } else { 0.0 }
}
