//! The results of a search: one ranking of two.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Chunk;
use super::store::Candidate;

/// A chunk that a search found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundChunk {
    /// The document: for one of a folder its path below that, with `/` between the parts.
    pub source: String,
    /// The chunk that was found.
    #[serde(flatten)]
    pub chunk: Chunk,
    /// The similarity of its meaning to that of the question, from 0 to 1; absent if it was not among the most similar,
    /// or if only words were searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
    /// The score for the question; larger is better. It can be compared within one search only.
    pub score: f64,
}

/// The smoothing of ranks: the larger it is, the less the first places of a ranking differ. The value of the paper.
const SMOOTHING: f64 = 60.0;

/// Puts rankings together: each item scores by its place in each ranking, the sum of `1 / (60 + place)`, whatever
/// scores the rankings themselves give. Reciprocal rank fusion (Cormack, Clarke, Büttcher 2009, "Reciprocal Rank Fusion
/// outperforms Condorcet and individual Rank Learning Methods"). The best comes first, of equals the first in the
/// documents.
pub(super) fn fuse<'r>(rankings: impl IntoIterator<Item = &'r [Candidate]>) -> Vec<Candidate> {
    let mut scores: BTreeMap<i64, f64> = BTreeMap::new();
    for ranking in rankings {
        for (place, candidate) in (1..).zip(ranking) {
            *scores.entry(candidate.chunk).or_default() += 1.0 / (SMOOTHING + f64::from(place));
        }
    }
    let mut fused: Vec<_> = scores.into_iter().map(|(chunk, score)| Candidate { chunk, score }).collect();
    fused.sort_by(|a, b| b.score.total_cmp(&a.score));
    fused
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranking(chunks: &[i64]) -> Vec<Candidate> {
        chunks.iter().map(|chunk| Candidate { chunk: *chunk, score: 0.0 }).collect()
    }

    #[test]
    fn what_two_rankings_agree_on_comes_first() {
        let (words, meaning) = (ranking(&[1, 2, 3]), ranking(&[3, 4]));
        let fused = fuse([&words[..], &meaning]);
        let chunks: Vec<_> = fused.iter().map(|candidate| candidate.chunk).collect();
        assert_eq!(chunks, [3, 1, 2, 4]);
        assert_eq!(fused[0].score, 1.0 / 63.0 + 1.0 / 61.0);
    }
}
