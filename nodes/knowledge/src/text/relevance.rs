//! The relevance of a piece of a document to a question.

use super::{Query, Terms, units, without_markup};

/// The weights of a word by where it is found: in the piece itself, in the headings above it, elsewhere in its passage,
/// in the name of the file.
const IN_UNIT: f64 = 1.0;
const IN_HEADING: f64 = 0.9;
const IN_PASSAGE: f64 = 0.65;
const IN_PATH: f64 = 0.4;

/// The bonus for neighbours of the question that are neighbours in the piece or the headings.
const FOR_PAIRS: f64 = 0.2;
/// The bonus for a last heading that is about nothing but the question.
const FOR_HEADING: f64 = 0.05;
/// The bonus for a piece that begins with a word of the question, as definitions do.
const FOR_LEAD: f64 = 0.08;
/// The bonus for a piece that is short for the words of the question that it has.
const FOR_DENSITY: f64 = 0.1;
/// The penalty for a piece that is too short to say anything.
const FOR_FRAGMENT: f64 = 0.1;

/// The number of words from which on a piece is long, and how fast it then loses: by the power of its
/// length.
const LONG: f64 = 30.0;
const LONG_POWER: f64 = 0.2;

/// A document's passage, as far as relevance goes.
pub(crate) struct Source<'p> {
    /// The name of the file.
    pub(crate) path: &'p str,
    /// The headings above, outermost first, joined by ` > `.
    pub(crate) heading: &'p str,
    /// The text.
    pub(crate) text: &'p str,
}

/// The relevance of a piece of a passage to a question.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Relevance {
    /// The piece: a sentence, item, row or code block.
    pub(crate) unit: String,
    /// The share of the question's weight that is found, from 0 to 1.
    pub(crate) coverage: f64,
    /// The value to order by: the coverage, and how well the words are placed.
    pub(crate) score: f64,
}

/// Reads all pieces of a passage.
pub(crate) fn relevance(query: &Query, source: &Source<'_>) -> Vec<Relevance> {
    let path = Terms::of(source.path);
    let heading = Terms::of(source.heading);
    let last_heading = Terms::of(source.heading.rsplit(" > ").next().unwrap_or_default());
    let body = Terms::of(&without_markup(source.text));
    let for_heading = FOR_HEADING * share_of(&last_heading, query);
    let read = |text: String| {
        let unit = Terms::of(&without_markup(&text));
        let coverage = query.credited(|term| {
            let places = [(&unit, IN_UNIT), (&heading, IN_HEADING), (&body, IN_PASSAGE), (&path, IN_PATH)];
            places.iter().map(|(terms, credit)| credit * term.found_in(terms)).fold(0.0, f64::max)
        });
        let mut score =
            coverage * conciseness(&unit) + for_heading + FOR_PAIRS * pairs(query, &unit, &heading);
        score += FOR_LEAD * lead(query, &unit) + FOR_DENSITY * share_of(&unit, query).sqrt();
        if unit.len() < 3 {
            score -= FOR_FRAGMENT;
        }
        Relevance { unit: text, coverage, score }
    };
    units(source.text).into_iter().map(read).collect()
}

/// Returns the share of the question's pairs of neighbours that are neighbours here.
fn pairs(query: &Query, unit: &Terms, heading: &Terms) -> f64 {
    let (mut all, mut near) = (0.0, 0.0);
    for (first, second) in query.pairs() {
        let weight = first.weight.min(second.weight);
        all += weight;
        if unit.has_pair(first, second) || heading.has_pair(first, second) {
            near += weight;
        }
    }
    if all > 0.0 { near / all } else { 0.0 }
}

/// Returns the share of a text's words that are words of the question.
fn share_of(text: &Terms, query: &Query) -> f64 {
    let asked = |stem: &&String| query.terms().iter().any(|term| term.is_meant_by(stem));
    if text.len() == 0 {
        0.0
    } else {
        text.in_order().iter().filter(asked).count() as f64 / text.len() as f64
    }
}

/// Returns how much of what is found in a piece counts: in a long one, much is found by chance.
fn conciseness(unit: &Terms) -> f64 {
    let length = unit.len().max(1) as f64;
    (LONG / length).min(1.0).powf(LONG_POWER)
}

/// Tells (with 1 or 0) whether one of a text's first two words is of the question.
fn lead(query: &Query, unit: &Terms) -> f64 {
    let first = unit.in_order().iter().take(2);
    let asked = first
        .into_iter()
        .any(|stem| query.terms().iter().any(|term| term.is_meant_by(stem) && !term.is_filler()));
    f64::from(u8::from(asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(question: &str, heading: &str, text: &str) -> String {
        let source = Source { path: "a.md", heading, text };
        let found = relevance(&Query::new(question), &source);
        found.into_iter().max_by(|a, b| a.score.total_cmp(&b.score)).unwrap().unit
    }

    #[test]
    fn the_sentence_with_the_words_wins() {
        let text = "Forks are cheap. A thread that is forked shares its past. Threads are many.";
        assert_eq!(
            best("Does a forked thread share its past?", "", text),
            "A thread that is forked shares its past."
        );
    }

    #[test]
    fn a_definition_beats_a_mention() {
        let text = "Before the next superstep one checkpoint is saved. A superstep is one round of tasks.";
        assert_eq!(best("What is a superstep?", "", text), "A superstep is one round of tasks.");
    }

    #[test]
    fn words_in_the_heading_count_nearly_as_much() {
        let source =
            Source { path: "a.md", heading: "Guide > Installation", text: "Run cargo add superstep." };
        let found = relevance(&Query::new("How do I install it?"), &source);
        assert_eq!(found[0].coverage, IN_HEADING);
    }
}
