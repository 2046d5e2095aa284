//! The trait of all embedders.

use std::sync::Arc;

use async_trait::async_trait;

use super::{EmbedError, Embedding};

/// Finds out what texts mean, as [`Embedding`]s. It can be used as `Arc<dyn Embedder>`.
#[async_trait]
pub trait Embedder: Send + Sync + 'static {
    /// Returns what tells its embeddings apart from those of others: only embeddings of one name are compared.
    fn name(&self) -> &str;

    /// Embeds texts: gives one embedding for each, in their order.
    ///
    /// # Errors
    /// When a model cannot be asked, or gives what makes no sense.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError>;

    /// Returns how many texts are given at once at most.
    fn max_batch(&self) -> usize {
        64
    }
}

#[async_trait]
impl<E: Embedder + ?Sized> Embedder for Arc<E> {
    fn name(&self) -> &str {
        (**self).name()
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        (**self).embed(texts).await
    }

    fn max_batch(&self) -> usize {
        (**self).max_batch()
    }
}

/// Embeds one text.
pub(super) async fn embed_one(embedder: &dyn Embedder, text: &str) -> Result<Embedding, EmbedError> {
    let [embedding] = <[_; 1]>::try_from(embed(embedder, &[text.to_owned()]).await?).expect("one for each");
    Ok(embedding)
}

/// Embeds texts, in batches that the embedder takes. There is one embedding for each text, and all have the same number of
/// dimensions.
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
