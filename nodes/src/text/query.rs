//! The words of a question, and the words of a text to compare them with.

use std::collections::HashSet;

use super::{is_filler_word, is_stop_word, parts, stem, words};

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
    /// How much finding it in a text proves.
    pub(crate) weight: f64,
}

impl Term {
    /// Tells whether the word is common in questions about anything.
    pub(crate) fn is_filler(&self) -> bool {
        is_filler_word(&self.word)
    }
}

impl Query {
    /// Reads a question, each word with the weight one.
    pub(crate) fn new(question: &str) -> Self {
        let mut query = Self {
            terms: Vec::new(),
            pairs: Vec::new(),
        };
        let mut previous = None;
        for word in words(question) {
            if is_stop_word(&word) {
                previous = None;
                continue;
            }
            let stem = stem(&word);
            let position = match query.terms.iter().position(|term| term.stem == stem) {
                Some(position) => position,
                None => {
                    query.terms.push(Term {
                        word,
                        stem,
                        weight: 1.0,
                    });
                    query.terms.len() - 1
                }
            };
            if let Some(previous) = previous.filter(|previous| *previous != position) {
                query.pairs.push((previous, position));
            }
            previous = Some(position);
        }
        query
    }

    /// Gives each word its weight.
    pub(crate) fn weighed(mut self, weigh: impl Fn(&Term) -> f64) -> Self {
        for term in &mut self.terms {
            term.weight = weigh(term);
        }
        self
    }

    /// Returns the words.
    pub(crate) fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Returns the pairs of words that stand next to each other.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&Term, &Term)> {
        self.pairs
            .iter()
            .map(|(first, second)| (&self.terms[*first], &self.terms[*second]))
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
        self.credited(|term| f64::from(u8::from(text.contains(&term.stem))))
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
        let in_order: Vec<_> = words(text)
            .filter(|word| !is_stop_word(word))
            .map(|word| stem(&word))
            .collect();
        let all = in_order
            .iter()
            .cloned()
            .chain(parts(text).map(|part| stem(&part)))
            .collect();
        Self { in_order, all }
    }

    /// Tells whether the text has a word of this stem.
    pub(crate) fn contains(&self, stem: &str) -> bool {
        self.all.contains(stem)
    }

    /// Tells whether two words stand next to each other, stop words not counted, in either order.
    pub(crate) fn has_pair(&self, first: &str, second: &str) -> bool {
        self.in_order
            .windows(2)
            .any(|pair| (pair[0] == first && pair[1] == second) || (pair[0] == second && pair[1] == first))
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
        let pairs: Vec<_> = query
            .pairs()
            .map(|(a, b)| (a.stem.as_str(), b.stem.as_str()))
            .collect();
        assert_eq!(pairs, [("pend", "write"), ("write", "work")]);
        assert!(query.terms()[2].is_filler());
    }

    #[test]
    fn coverage_is_the_share_of_the_weight() {
        let query = Query::new("fork a thread").weighed(|term| if term.stem == "fork" { 3.0 } else { 1.0 });
        assert_eq!(query.coverage(&Terms::of("Forking is cheap.")), 0.75);
        assert_eq!(query.coverage(&Terms::of("threads, forked")), 1.0);
        assert_eq!(query.coverage(&Terms::of("nothing")), 0.0);
        assert_eq!(Query::new("what is it?").coverage(&Terms::of("it is")), 0.0);
    }

    #[test]
    fn parts_of_identifiers_are_found() {
        let text = Terms::of("open a SqliteSaver");
        assert!(text.contains("sqlitesav") && text.contains("sqlite") && text.contains("saver"));
        assert!(text.has_pair("sqlitesav", "open"));
    }
}
