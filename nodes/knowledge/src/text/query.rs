//! The words of a question, and the words of a text to compare them with.

use std::collections::{BTreeMap, HashSet};

use super::{
    identifiers, is_filler_word, is_stop_word, parts, related_stems, stem, synonyms, word_for, words,
};

/// The words of a question that say something, each once, in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Query {
    terms: Vec<Term>,
    /// Positions in `terms` of words that stand next to each other in the question.
    pairs: Vec<(usize, usize)>,
}

/// A word of a question.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    /// The word, in lower case.
    pub(crate) word: String,
    /// Its stem.
    pub(crate) stem: String,
    /// The stems of all words that may be meant, with how much each counts, from 0 to 1.
    meant: BTreeMap<String, f64>,
    /// The weight of a match in a text.
    pub(crate) weight: f64,
}

/// The number of texts that have a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frequency {
    /// Those that have the word itself.
    pub(crate) itself: u64,
    /// Those that have it or a related word.
    pub(crate) meant: u64,
}

impl Term {
    fn new(word: String, stem: String) -> Self {
        let mut meant: BTreeMap<_, _> =
            related_stems(&word).into_iter().map(|stem| (stem, RELATED)).collect();
        meant.insert(stem.clone(), 1.0);
        Self { word, stem, meant, weight: 1.0 }
    }

    /// Has another word mean the same as this one.
    fn add_meaning(&mut self, word: &str) {
        for related in related_stems(word) {
            self.meant.entry(related).or_insert(RELATED);
        }
        self.meant.insert(stem(word), 1.0);
    }

    /// Tells whether the word is common in questions about anything.
    pub(crate) fn is_filler(&self) -> bool {
        is_filler_word(&self.word)
    }

    /// Returns the stems that may be meant, with how much each counts, from 0 to 1.
    pub(crate) fn meant(&self) -> impl Iterator<Item = (&str, f64)> {
        self.meant.iter().map(|(stem, credit)| (stem.as_str(), *credit))
    }

    /// Returns how well a text has the word, from 0 (not at all) to 1 (the word itself).
    pub(crate) fn found_in(&self, text: &Terms) -> f64 {
        self.meant().filter(|(stem, _)| text.contains(stem)).map(|(_, credit)| credit).fold(0.0, f64::max)
    }

    /// Writes the word or its synonyms in the language of FTS5, each quoted, so that none is taken for an operator;
    /// words have no quotes in them.
    fn full_text(&self) -> String {
        let all = std::iter::once(self.word.clone()).chain(synonyms(&self.word));
        all.map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" OR ")
    }

    /// Tells whether a stem is the word's or a related word's.
    pub(crate) fn is_meant_by(&self, stem: &str) -> bool {
        self.meant.contains_key(stem)
    }
}

/// The weight of a related word, against the word itself.
const RELATED: f64 = 0.6;

/// The number of different words, and of pairs of them, that are read of a question.
const LONGEST: usize = 48;

/// The weight of a word that is common in questions about anything.
const FILLER: f64 = 0.3;

/// The power of a word's rarity that its weight has.
const RARITY_POWER: f64 = 0.8;

/// The weight of a word that occurs nowhere in the documents, against one that almost does so.
const UNKNOWN: f64 = 1.25;

/// Returns how much is known from a word that `with` of `all` passages have: the inverse document frequency of BM25,
/// which is never negative.
fn rarity(all: f64, with: f64) -> f64 {
    let rarity = (1.0 + (all - with + 0.5).max(0.0) / (with + 0.5)).ln().powf(RARITY_POWER);
    if with == 0.0 { UNKNOWN * rarity } else { rarity }
}

/// Returns how much is known from a word. That its related words are common makes it less telling, but not as common as
/// they are: of both rarities it has the geometric mean.
fn rarity_of_meanings(all: u64, with: Frequency) -> f64 {
    let (all, meant) = (all as f64, rarity(all as f64, with.meant as f64));
    if with.itself == 0 { meant } else { (rarity(all, with.itself as f64) * meant).sqrt() }
}

/// Returns the words that two neighbours are when written together, as `backup` and "back up", and those that say what
/// a phrase says.
fn written_together(words: &[String], place: usize) -> Vec<String> {
    let before = place.checked_sub(1).map(|before| (before, place));
    let after = (place + 1 < words.len()).then_some((place, place + 1));
    let both = before.into_iter().chain(after).map(|(first, second)| (&words[first], &words[second]));
    both.flat_map(|(first, second)| {
        let phrase = word_for(first, second).map(str::to_owned);
        [Some(format!("{first}{second}")), phrase].into_iter().flatten()
    })
    .collect()
}

impl Query {
    /// Reads a question, each word with the weight one. Of a long text, only the first words count: what
    /// has that many is no question, and a full-text query has a limit too.
    pub(crate) fn new(question: &str) -> Self {
        let mut query = Self { terms: Vec::new(), pairs: Vec::new() };
        let words: Vec<_> = words(question).collect();
        let mut previous: Option<(usize, usize)> = None;
        for (place, word) in words.iter().enumerate().filter(|(_, word)| !is_stop_word(word)) {
            let Some(position) = query.add(word) else { break };
            for meaning in written_together(&words, place) {
                query.terms[position].add_meaning(&meaning);
            }
            // One stop word between them leaves words neighbours: "version of Rust".
            let neighbour = previous.filter(|(before, _)| place - before <= 2);
            if let Some((_, neighbour)) = neighbour.filter(|(_, neighbour)| *neighbour != position) {
                query.add_pair((neighbour, position));
            }
            previous = Some((place, position));
        }
        for name in identifiers(question) {
            query.add(&name);
        }
        query
    }

    /// Adds a word, if there is room, and returns where it is.
    fn add(&mut self, word: &str) -> Option<usize> {
        let stem = stem(word);
        if let Some(position) = self.terms.iter().position(|term| term.stem == stem) {
            return Some(position);
        }
        if self.terms.len() == LONGEST {
            return None;
        }
        self.terms.push(Term::new(word.to_owned(), stem));
        Some(self.terms.len() - 1)
    }

    fn add_pair(&mut self, pair: (usize, usize)) {
        if self.pairs.len() < LONGEST && !self.pairs.contains(&pair) {
            self.pairs.push(pair);
        }
    }

    /// Weighs each word by how rare it is: `with` tells how many of `all` texts have it. A word of
    /// which that is not known counts as if all were equally rare, and fillers always count little.
    pub(crate) fn weighed(mut self, all: u64, with: impl Fn(&Term) -> Option<Frequency>) -> Self {
        for term in &mut self.terms {
            let rarity = with(term).map_or(1.0, |with| rarity_of_meanings(all, with));
            term.weight = if term.is_filler() { FILLER * rarity } else { rarity };
        }
        self
    }

    /// Tells whether there is a word in the question that is not common in questions about anything.
    pub(crate) fn is_telling(&self) -> bool {
        !self.terms.iter().all(Term::is_filler)
    }

    /// Returns the words.
    pub(crate) fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Returns the pairs of words that stand next to each other.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&Term, &Term)> {
        self.pairs.iter().map(|(first, second)| (&self.terms[*first], &self.terms[*second]))
    }

    /// Writes the question in the language of FTS5: any of the words, better if neighbours are neighbours. `None` if it
    /// has no words.
    pub(crate) fn full_text(&self) -> Option<String> {
        let words = self.terms.iter().map(Term::full_text);
        let pairs = self.pairs().map(|(first, second)| format!("\"{} {}\"", first.word, second.word));
        let all: Vec<_> = words.chain(pairs).collect();
        (!all.is_empty()).then(|| all.join(" OR "))
    }

    /// Returns how much of the question's weight is credited, from 0 to 1. The credit of a word is from 0
    /// (not found) to 1 (found where it counts).
    pub(crate) fn credited(&self, credit: impl Fn(&Term) -> f64) -> f64 {
        let total: f64 = self.terms.iter().map(|term| term.weight).sum();
        let found: f64 = self.terms.iter().map(|term| term.weight * credit(term)).sum();
        if total > 0.0 { found / total } else { 0.0 }
    }

    /// Returns how much of the question's weight a text covers, from 0 to 1.
    pub(crate) fn coverage(&self, text: &Terms) -> f64 {
        self.credited(|term| term.found_in(text))
    }
}

/// The stems of a text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terms {
    in_order: Vec<String>,
    all: HashSet<String>,
}

impl Terms {
    /// Reads a text. Words written together with capitals count as a whole and by their parts.
    pub(crate) fn of(text: &str) -> Self {
        let in_order: Vec<_> =
            words(text).filter(|word| !is_stop_word(word)).map(|word| stem(&word)).collect();
        let inner = parts(text).chain(identifiers(text)).map(|part| stem(&part));
        let all = in_order.iter().cloned().chain(inner).collect();
        Self { in_order, all }
    }

    /// Tells whether the text has a word of this stem.
    pub(crate) fn contains(&self, stem: &str) -> bool {
        self.all.contains(stem)
    }

    /// Tells whether two words stand next to each other, stop words not counted, in either order.
    pub(crate) fn has_pair(&self, first: &Term, second: &Term) -> bool {
        self.in_order.windows(2).any(|pair| {
            (first.is_meant_by(&pair[0]) && second.is_meant_by(&pair[1]))
                || (second.is_meant_by(&pair[0]) && first.is_meant_by(&pair[1]))
        })
    }

    /// Returns the stems of the words in order, without stop words.
    pub(crate) fn in_order(&self) -> &[String] {
        &self.in_order
    }

    /// Returns the number of words, stop words not counted.
    pub(crate) fn len(&self) -> usize {
        self.in_order.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stems(query: &Query) -> Vec<&str> {
        query.terms().iter().map(|term| term.stem.as_str()).collect()
    }

    #[test]
    fn a_question_is_its_telling_words() {
        let query = Query::new("How does the pending write of a write work?");
        assert_eq!(stems(&query), ["pend", "write", "work"]);
        let pairs: Vec<_> = query.pairs().map(|(a, b)| (a.stem.as_str(), b.stem.as_str())).collect();
        assert_eq!(pairs, [("pend", "write"), ("write", "work")]);
        assert!(query.terms()[2].is_filler());
    }

    #[test]
    fn coverage_is_the_share_of_the_weight() {
        let query = Query::new("fork a thread").weighed(9, |term| {
            let meant = if term.stem == "fork" { 1 } else { 8 };
            Some(Frequency { itself: meant, meant })
        });
        assert!(query.coverage(&Terms::of("Forking is cheap.")) > 0.8);
        assert!(query.coverage(&Terms::of("Threads are cheap.")) < 0.2);
        assert_eq!(query.coverage(&Terms::of("threads, forked")), 1.0);
        assert_eq!(query.coverage(&Terms::of("nothing")), 0.0);
        assert_eq!(Query::new("what is it?").coverage(&Terms::of("it is")), 0.0);
    }

    #[test]
    fn parts_of_identifiers_are_found() {
        let text = Terms::of("open a SqliteSaver");
        assert!(text.contains("sqlitesav") && text.contains("sqlite") && text.contains("saver"));
        let query = Query::new("open SqliteSaver");
        assert!(text.has_pair(&query.terms()[0], &query.terms()[1]));
    }

    #[test]
    fn words_that_are_written_together_or_apart_are_the_same() {
        let backup = Terms::of("A backup is a file.");
        assert_eq!(Query::new("back up").terms()[0].found_in(&backup), 1.0);
        assert_eq!(Query::new("try again").terms()[0].found_in(&Terms::of("It is retried.")), 1.0);
    }

    #[test]
    fn a_related_word_counts_less_than_the_word() {
        let workflow = &Query::new("workflow").terms()[0].clone();
        assert_eq!(workflow.found_in(&Terms::of("a workflow")), 1.0);
        assert_eq!(workflow.found_in(&Terms::of("a graph")), RELATED);
        let known = Query::new("workflow").weighed(100, |_| Some(Frequency { itself: 1, meant: 50 }));
        let common = Query::new("workflow").weighed(100, |_| Some(Frequency { itself: 50, meant: 50 }));
        assert!(known.terms()[0].weight > common.terms()[0].weight);
    }

    #[test]
    fn names_of_code_are_words_too() {
        let query = Query::new("What is update_state?");
        assert!(
            query.coverage(&Terms::of("Use `update_state`."))
                > query.coverage(&Terms::of("Update the state."))
        );
    }
}
