//! What a text means, as numbers.

use std::fmt;

/// What a text means, as a direction in the space of an [`Embedder`](super::Embedder): texts that mean similar things
/// point in similar directions.
#[derive(Clone, PartialEq)]
pub struct Embedding(Vec<f32>);

impl Embedding {
    /// Makes an embedding of length one of the numbers that a model gave. `None` if one is no finite number, or if there
    /// are none. Zeros, as of a text without words, stay zeros, and are like nothing.
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

    /// How many numbers there are.
    pub fn dimensions(&self) -> usize {
        self.0.len()
    }

    /// The numbers.
    pub fn numbers(&self) -> &[f32] {
        &self.0
    }

    /// How similar two embeddings of one embedder are: the cosine of the angle between them, from -1 to 1.
    pub fn similarity(&self, other: &Self) -> f32 {
        self.0.iter().zip(&other.0).map(|(a, b)| a * b).sum()
    }

    /// As stored: each number in four bytes, the lowest first.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    /// The similarity with a stored embedding; `None` if that has another number of dimensions.
    pub(super) fn similarity_of_bytes(&self, bytes: &[u8]) -> Option<f32> {
        let (numbers, rest) = bytes.as_chunks::<4>();
        if numbers.len() != self.0.len() || !rest.is_empty() {
            return None;
        }
        // Sums of their own let the compiler add several at once.
        let mut sums = [0.0_f32; LANES];
        let (ours, our_rest) = self.0.as_chunks::<LANES>();
        let (theirs, their_rest) = numbers.as_chunks::<LANES>();
        for (ours, theirs) in ours.iter().zip(theirs) {
            for lane in 0..LANES {
                sums[lane] += ours[lane] * f32::from_le_bytes(theirs[lane]);
            }
        }
        let rest = our_rest.iter().zip(their_rest).map(|(a, b)| a * f32::from_le_bytes(*b));
        Some(sums.into_iter().chain(rest).sum())
    }
}

const LANES: usize = 8;

impl fmt::Debug for Embedding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Embedding({} dimensions)", self.dimensions())
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

    #[test]
    fn the_similarity_with_stored_bytes_is_that_with_the_embedding() {
        for dimensions in [1, 7, 8, 9, 512] {
            let numbers = |seed: f32| (0..dimensions).map(move |n| (seed * (n + 1) as f32).sin());
            let (one, other) = (embedding(numbers(0.7)), embedding(numbers(1.3)));
            let stored = one.similarity_of_bytes(&other.to_bytes()).unwrap();
            assert!((stored - one.similarity(&other)).abs() < 1e-5);
            assert!((one.similarity_of_bytes(&one.to_bytes()).unwrap() - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn bytes_of_another_length_have_no_similarity() {
        assert_eq!(embedding([1.0, 0.0]).similarity_of_bytes(&[0; 4]), None);
        assert_eq!(embedding([1.0, 0.0]).similarity_of_bytes(&[0; 9]), None);
    }
}
