//! Embedding texts in batches.

use super::{EmbedError, Embedder, Embedding};

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
