//! Limits on the size of rows, and errors for data that exceeds a limit.

use superstep_core::checkpoint::StoreError;
use superstep_core::state::{CodecError, Excess, SizeLimits};

use crate::error::corrupt;

/// Returns the largest row in bytes that SQLite may return: an encrypted text within the limits, with the other
/// columns.
pub(crate) fn longest_row(limits: SizeLimits) -> i32 {
    const BESIDE: usize = 4 << 20;
    let most = limits.most_bytes();
    i32::try_from(most.saturating_add(most / 2).saturating_add(BESIDE)).unwrap_or(i32::MAX)
}

pub(crate) fn too_large(place: impl core::fmt::Display, excess: Excess) -> StoreError {
    StoreError::TooLarge { place: place.to_string(), excess }
}

/// Returns the error for a text that does not decode: too large, or damaged.
pub(crate) fn undecoded(place: impl core::fmt::Display, error: CodecError) -> StoreError {
    match error.excess() {
        Some(excess) => too_large(place, excess),
        None => corrupt(place, error),
    }
}
