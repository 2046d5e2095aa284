//! Embeddings as bytes of a file.

use crate::rag::Embedding;

/// The number of sums that are computed side by side.
const LANES: usize = 8;

/// Returns the stored form of an embedding: each number in four bytes, the lowest first.
pub(super) fn to_bytes(embedding: &Embedding) -> Vec<u8> {
    embedding.numbers().iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Returns the similarity with a stored embedding; `None` if that has another number of dimensions.
pub(super) fn similarity_of_bytes(embedding: &Embedding, bytes: &[u8]) -> Option<f32> {
    let ours = embedding.numbers();
    let (numbers, rest) = bytes.as_chunks::<4>();
    if numbers.len() != ours.len() || !rest.is_empty() {
        return None;
    }
    // Sums of their own let the compiler add several at once.
    let mut sums = [0.0_f32; LANES];
    let (ours, our_rest) = ours.as_chunks::<LANES>();
    let (theirs, their_rest) = numbers.as_chunks::<LANES>();
    for (ours, theirs) in ours.iter().zip(theirs) {
        for lane in 0..LANES {
            sums[lane] += ours[lane] * f32::from_le_bytes(theirs[lane]);
        }
    }
    let rest = our_rest.iter().zip(their_rest).map(|(a, b)| a * f32::from_le_bytes(*b));
    Some(sums.into_iter().chain(rest).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn embedding(numbers: impl IntoIterator<Item = f32>) -> Embedding {
        Embedding::new(numbers.into_iter().collect()).unwrap()
    }

    #[test]
    fn the_similarity_with_stored_bytes_is_that_with_the_embedding() {
        for dimensions in [1, 7, 8, 9, 512] {
            let numbers = |seed: f32| (0..dimensions).map(move |n| (seed * (n + 1) as f32).sin());
            let (one, other) = (embedding(numbers(0.7)), embedding(numbers(1.3)));
            let stored = similarity_of_bytes(&one, &to_bytes(&other)).unwrap();
            assert!((stored - one.similarity(&other)).abs() < 1e-5);
            assert!((similarity_of_bytes(&one, &to_bytes(&one)).unwrap() - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn bytes_of_another_length_have_no_similarity() {
        assert_eq!(similarity_of_bytes(&embedding([1.0, 0.0]), &[0; 4]), None);
        assert_eq!(similarity_of_bytes(&embedding([1.0, 0.0]), &[0; 9]), None);
    }
}
