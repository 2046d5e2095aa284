//! Embeddings: what texts mean, as numbers, and the models that find it out.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use super::ModelError;

/// Finds out what texts mean, as [`Embedding`]s. It can be used as `Arc<dyn Embedder>`.
#[async_trait]
pub trait Embedder: Send + Sync + 'static {
    /// Returns the name of the embedder: only embeddings of one name are compared.
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

/// The meaning of a text, as a direction in the space of an [`Embedder`]: texts that mean similar things point in
/// similar directions.
#[derive(Clone, PartialEq)]
pub struct Embedding(Vec<f32>);

impl Embedding {
    /// Makes an embedding of length one of the numbers that a model gave. `None` if one is no finite number, or if
    /// there are none. Zeros, as of a text without words, stay zeros, and are like nothing.
    pub fn new(mut numbers: Vec<f32>) -> Option<Self> {
        if numbers.is_empty() || !numbers.iter().all(|number| number.is_finite()) {
            return None;
        }
        // In double precision no sum of squares overflows.
        let squares: f64 = numbers.iter().map(|number| f64::from(*number).powi(2)).sum();
        if squares > 0.0 {
            let length = squares.sqrt();
            for number in &mut numbers {
                *number = (f64::from(*number) / length) as f32;
            }
        }
        Some(Self(numbers))
    }

    /// Returns the number of dimensions.
    pub fn dimensions(&self) -> usize {
        self.0.len()
    }

    /// The numbers.
    pub fn numbers(&self) -> &[f32] {
        &self.0
    }

    /// Returns the similarity of two embeddings of one embedder: the cosine of the angle between them, from -1 to 1.
    pub fn similarity(&self, other: &Self) -> f32 {
        self.0.iter().zip(&other.0).map(|(a, b)| a * b).sum()
    }
}

impl fmt::Debug for Embedding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Embedding({} dimensions)", self.dimensions())
    }
}

/// An error of embedding texts.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// The model behind the embedder failed; [`ModelError::is_retryable`] says whether another attempt may help.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The embedder gave another number of embeddings than there were texts: it is broken.
    #[error("the embedder returned {given} embeddings for {asked} texts")]
    Count {
        /// The number of texts.
        asked: usize,
        /// The number of embeddings returned.
        given: usize,
    },
    /// Embeddings of one embedder have different numbers of dimensions: it is broken, or has changed since documents
    /// were ingested.
    #[error("the embedder returned {given} dimensions instead of {expected}")]
    Dimensions {
        /// The number of dimensions of the others.
        expected: usize,
        /// The number of dimensions of this one.
        given: usize,
    },
    /// An embedding has no numbers, or some that are not finite.
    #[error("the embedder returned an embedding without numbers, or with some that are not finite")]
    NoEmbedding,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn embedding(numbers: impl IntoIterator<Item = f32>) -> Embedding {
        Embedding::new(numbers.into_iter().collect()).unwrap()
    }

    #[test]
    fn an_embedding_has_the_length_one() {
        assert_eq!(embedding([3.0, 4.0]).numbers(), [0.6, 0.8]);
        assert_eq!(embedding([f32::MAX, 0.0]).numbers(), [1.0, 0.0]);
    }

    #[test]
    fn what_is_no_number_is_no_embedding() {
        assert_eq!(Embedding::new(vec![1.0, f32::NAN]), None);
        assert_eq!(Embedding::new(vec![f32::INFINITY]), None);
        assert_eq!(Embedding::new(Vec::new()), None);
    }

    #[test]
    fn nothing_is_like_nothing() {
        assert_eq!(embedding([0.0, 0.0]).similarity(&embedding([1.0, 0.0])), 0.0);
    }
}
