//! The words of a question, and the words of a text to compare them with.

use std::collections::HashSet;

use super::{is_filler_word, is_stop_word, parts, stem, synonyms, words};

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
    /// Words that may stand for it, in lower case.
    pub(crate) synonyms: Vec<String>,
    /// Their stems.
    synonym_stems: Vec<String>,
    /// How much finding it in a text proves.
    pub(crate) weight: f64,
}

impl Term {
    /// Tells whether the word is common in questions about anything.
    pub(crate) fn is_filler(&self) -> bool {
        is_filler_word(&self.word)
    }

    fn new(word: String, stem: String) -> Self {
        let synonyms = synonyms(&word);
        let synonym_stems = synonyms.iter().map(|synonym| super::stem(synonym)).collect();
        Self { word, stem, synonyms, synonym_stems, weight: 1.0 }
    }

    /// Returns how well a text has the word, from 0 (not at all) to 1 (the word itself).
    pub(crate) fn found_in(&self, text: &Terms) -> f64 {
        if text.contains(&self.stem) {
            1.0
        } else if self.synonym_stems.iter().any(|stem| text.contains(stem)) {
            SYNONYM
        } else {
            0.0
        }
    }

    /// Writes the word or its synonyms in the language of FTS5, each quoted, so that none is taken for an operator; words
    /// have no quotes in them.
    pub(crate) fn full_text(&self) -> String {
        let all = std::iter::once(&self.word).chain(&self.synonyms);
        all.map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" OR ")
    }

    /// Tells whether a stem is the word's or a synonym's.
    pub(crate) fn is_meant_by(&self, stem: &str) -> bool {
        self.stem == stem || self.synonym_stems.iter().any(|synonym| synonym == stem)
    }
}

/// How much finding a synonym counts, against the word itself.
const SYNONYM: f64 = 0.8;

/// The number of different words, and of pairs of them, that are read of a question.
const LONGEST: usize = 48;

/// How much a word counts that is common in questions about anything.
const FILLER: f64 = 0.3;

/// How strongly rare words count more than common ones.
const RARITY_POWER: f64 = 0.9;

/// How much a word counts that is nowhere in the documents, against one that is nearly so.
const UNKNOWN: f64 = 1.25;

/// How much is known from a word that `with` of `all` passages have: the inverse document frequency of
/// BM25, which is never negative.
fn rarity(all: f64, with: f64) -> f64 {
    let rarity = (1.0 + (all - with + 0.5).max(0.0) / (with + 0.5)).ln().powf(RARITY_POWER);
    if with == 0.0 { UNKNOWN * rarity } else { rarity }
}

impl Query {
    /// Reads a question, each word with the weight one. Of a long text, only the first words count: what
    /// has that many is no question, and a full-text query has a limit too.
    pub(crate) fn new(question: &str) -> Self {
        let mut query = Self { terms: Vec::new(), pairs: Vec::new() };
        let mut previous = None;
        for word in words(question) {
            if is_stop_word(&word) {
                previous = None;
                continue;
            }
            let stem = stem(&word);
            let position = match query.terms.iter().position(|term| term.stem == stem) {
                Some(position) => position,
                None if query.terms.len() == LONGEST => break,
                None => {
                    query.terms.push(Term::new(word, stem));
                    query.terms.len() - 1
                }
            };
            if let Some(previous) = previous.filter(|previous| *previous != position) {
                query.add_pair((previous, position));
            }
            previous = Some(position);
        }
        query
    }

    fn add_pair(&mut self, pair: (usize, usize)) {
        if self.pairs.len() < LONGEST && !self.pairs.contains(&pair) {
            self.pairs.push(pair);
        }
    }

    /// Weighs each word by how rare it is: `with` tells how many of `all` passages have it. A word of
    /// which that is not known counts as if all were equally rare, and fillers always count little.
    pub(crate) fn weighed(mut self, all: u64, with: impl Fn(&Term) -> Option<u64>) -> Self {
        for term in &mut self.terms {
            let rarity = with(term).map_or(1.0, |with| rarity(all as f64, with as f64));
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
        let all = in_order.iter().cloned().chain(parts(text).map(|part| stem(&part))).collect();
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
        let query =
            Query::new("fork a thread").weighed(9, |term| Some(if term.stem == "fork" { 1 } else { 8 }));
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
}
