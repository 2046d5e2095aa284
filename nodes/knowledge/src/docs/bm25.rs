//! Texts of several fields, ranked by the words of a query.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::text::{Frequency, Query, Term};

/// The rate at which the next occurrence of a word adds little.
const SATURATION: f64 = 1.0;

/// The weight of the length of a field against its words, from 0 to 1.
const LENGTH: f64 = 0.6;

/// Texts of `N` fields, each with its weight. A text is scored by BM25 field by field: a word counts more the rarer it
/// is in all texts, and the more often it is in a field for the field's length.
pub(super) struct Fields<const N: usize> {
    weights: [f64; N],
    /// The number of words in each field of each text.
    lengths: Vec<[usize; N]>,
    /// By stem: the texts that have it, in order, with how often it is in each field.
    postings: HashMap<Arc<str>, Vec<(usize, [usize; N])>>,
}

impl<const N: usize> Fields<N> {
    pub(super) fn new(weights: [f64; N]) -> Self {
        Self { weights, lengths: Vec::new(), postings: HashMap::new() }
    }

    /// Adds the next text.
    pub(super) fn add(&mut self, fields: [&[Arc<str>]; N]) {
        let text = self.lengths.len();
        self.lengths.push(fields.map(<[_]>::len));
        for (field, stems) in fields.into_iter().enumerate() {
            for stem in stems {
                let texts = self.postings.entry(Arc::clone(stem)).or_default();
                if texts.last().is_none_or(|(last, _)| *last != text) {
                    texts.push((text, [0; N]));
                }
                if let Some((_, counts)) = texts.last_mut() {
                    counts[field] += 1;
                }
            }
        }
    }

    /// Returns the number of texts.
    pub(super) fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Counts the texts that have a word.
    pub(super) fn frequency(&self, term: &Term) -> Frequency {
        let texts = |stem: &str| self.postings.get(stem).into_iter().flatten().map(|(text, _)| *text);
        let meant: HashSet<_> = term.meant().flat_map(|(stem, _)| texts(stem)).collect();
        Frequency { itself: texts(&term.stem).count() as u64, meant: meant.len() as u64 }
    }

    /// Returns the score of each text: the sum of the weights at most, and 0 if it has no word of the query.
    pub(super) fn scores(&self, query: &Query) -> Vec<f64> {
        let averages = self.averages();
        let total: f64 = query.terms().iter().map(|term| term.weight).sum();
        let mut scores = vec![0.0; self.lengths.len()];
        for term in query.terms() {
            let mut found: HashMap<usize, [f64; N]> = HashMap::new();
            for (stem, credit) in term.meant() {
                for (text, counts) in self.postings.get(stem).into_iter().flatten() {
                    let sums = found.entry(*text).or_insert([0.0; N]);
                    for (sum, count) in sums.iter_mut().zip(counts) {
                        *sum += credit * *count as f64;
                    }
                }
            }
            for (text, counts) in found {
                let of_fields = (0..N).map(|field| {
                    let length = self.lengths[text][field] as f64 / averages[field];
                    self.weights[field] * saturated(counts[field], length)
                });
                scores[text] += term.weight * of_fields.sum::<f64>() / total;
            }
        }
        scores
    }

    fn averages(&self) -> [f64; N] {
        let texts = self.lengths.len().max(1) as f64;
        std::array::from_fn(|field| {
            let words: usize = self.lengths.iter().map(|lengths| lengths[field]).sum();
            (words as f64 / texts).max(1.0)
        })
    }
}

/// Returns what so many occurrences in a field count, from 0 to 1; the length is relative to the average.
fn saturated(count: f64, length: f64) -> f64 {
    count / (count + SATURATION * (1.0 - LENGTH + LENGTH * length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Stemmer;

    fn scores(texts: &[[&str; 2]], question: &str) -> Vec<f64> {
        let mut fields = Fields::new([2.0, 1.0]);
        for text in texts {
            let stems = text.map(|text| Stemmer::default().stems(text));
            fields.add([&stems[0], &stems[1]]);
        }
        fields.scores(&Query::new(question))
    }

    #[test]
    fn a_weightier_field_counts_more() {
        let scores = scores(&[["fork", "bees"], ["bees", "fork"], ["bees", "dance"]], "fork");
        assert!(scores[0] > scores[1] && scores[1] > 0.0);
        assert_eq!(scores[2], 0.0);
    }

    #[test]
    fn a_word_counts_more_in_a_short_field_and_twice_less_than_double() {
        let long = ["", "fork one two three four five six seven eight nine ten"];
        let scores = scores(&[["", "fork"], long, ["", "fork fork"]], "fork");
        assert!(scores[0] > scores[1] && scores[2] > scores[0] && scores[2] < 2.0 * scores[0]);
    }
}
