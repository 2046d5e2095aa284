//! Embedding texts in batches, and an embedder without a model.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::{EmbedError, Embedder, Embedding};
use crate::text::{is_stop_word, parts, stem, words};

/// An embedder without a model: it works offline, is always the same, and knows nothing of meaning. Texts are similar
/// if they have words, or pieces of words, in common.
///
/// Each stem, and each three neighbouring letters of a word, is hashed to a dimension and a sign, and counts there by
/// the square root of how often it comes: feature hashing (Weinberger et al. 2009, "Feature Hashing for Large Scale
/// Multitask Learning").
///
/// ```
/// use superstep_knowledge::rag::{Embedder, HashEmbedder};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let texts = ["How are forests photographed?", "Photographing a forest", "Cooking rice"];
/// let embedded = HashEmbedder::default().embed(&texts.map(String::from)).await?;
/// assert!(embedded[0].similarity(&embedded[1]) > 0.5);
/// assert!(embedded[0].similarity(&embedded[2]) < 0.2);
/// # Ok::<(), superstep_knowledge::rag::EmbedError>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashEmbedder {
    name: String,
    dimensions: u32,
}

/// The weight of a trigram, against a word.
const LETTERS: f32 = 0.25;

impl Default for HashEmbedder {
    /// 512 dimensions.
    fn default() -> Self {
        Self::new(512)
    }
}

impl HashEmbedder {
    /// Embeds in so many dimensions, at least one: the more there are, the fewer words share one.
    pub fn new(dimensions: u32) -> Self {
        let dimensions = dimensions.max(1);
        // The name changes with what is hashed, so that old and new embeddings are not compared.
        Self { name: format!("hash-1-{dimensions}"), dimensions }
    }

    fn embed_text(&self, text: &str) -> Embedding {
        let mut counts: BTreeMap<String, f32> = BTreeMap::new();
        for word in words(text).chain(parts(text)).filter(|word| !is_stop_word(word)) {
            let letters: Vec<char> = format!("^{word}$").chars().collect();
            for three in letters.windows(3) {
                *counts.entry(three.iter().collect()).or_default() += LETTERS;
            }
            // A mark that no letters have tells the whole word apart.
            *counts.entry(format!("={}", stem(&word))).or_default() += 1.0;
        }
        let mut numbers = vec![0.0; self.dimensions as usize];
        for (feature, count) in counts {
            let (dimension, sign) = self.place(&feature);
            numbers[dimension] += sign * count.sqrt();
        }
        Embedding::new(numbers).expect("counts of words are finite")
    }

    fn place(&self, feature: &str) -> (usize, f32) {
        let hash = blake3::hash(feature.as_bytes());
        let [a, b, c, d, sign, ..] = *hash.as_bytes();
        let dimension = u32::from_le_bytes([a, b, c, d]) % self.dimensions;
        (dimension as usize, if sign & 1 == 0 { 1.0 } else { -1.0 })
    }
}

#[async_trait]
impl Embedder for HashEmbedder {
    fn name(&self) -> &str {
        &self.name
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        Ok(texts.iter().map(|text| self.embed_text(text)).collect())
    }
}

/// Embeds one text.
pub(super) async fn embed_one(embedder: &dyn Embedder, text: &str) -> Result<Embedding, EmbedError> {
    let [embedding] = <[_; 1]>::try_from(embed(embedder, &[text.to_owned()]).await?).expect("one for each");
    Ok(embedding)
}

/// Embeds texts, in batches that the embedder takes. There is one embedding for each text, and all have the same number
/// of dimensions.
pub(super) async fn embed(embedder: &dyn Embedder, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
    let mut embeddings: Vec<Embedding> = Vec::with_capacity(texts.len());
    for batch in texts.chunks(embedder.max_batch().max(1)) {
        let given = embedder.embed(batch).await?;
        if given.len() != batch.len() {
            return Err(EmbedError::Count { asked: batch.len(), given: given.len() });
        }
        for embedding in given {
            let expected = embeddings.first().unwrap_or(&embedding).dimensions();
            if embedding.dimensions() != expected {
                return Err(EmbedError::Dimensions { expected, given: embedding.dimensions() });
            }
            embeddings.push(embedding);
        }
    }
    Ok(embeddings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_is_embedded_the_same_way() {
        let [one, again] = [(); 2].map(|()| HashEmbedder::new(8).embed_text("A fork copies nothing."));
        assert_eq!(one, again);
        assert_eq!(HashEmbedder::new(512).name(), "hash-1-512");
    }

    #[test]
    fn forms_of_a_word_and_slips_of_the_pen_are_similar() {
        let embedder = HashEmbedder::default();
        let like = |a, b| embedder.embed_text(a).similarity(&embedder.embed_text(b));
        assert!(like("composition of a landscape", "composing landscapes") > 0.4);
        assert!(like("landscape", "landscpae") > like("landscape", "portrait"));
    }

    #[test]
    fn a_text_without_words_is_like_nothing() {
        let empty = HashEmbedder::default().embed_text(" – \n");
        assert_eq!(empty.similarity(&HashEmbedder::default().embed_text("fork")), 0.0);
    }
}
