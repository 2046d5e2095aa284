//! Limits on the size of rows, and errors for data that exceeds a limit.

use superstep_core::checkpoint::StoreError;
use superstep_core::state::{CodecError, Excess};

use crate::error::corrupt;

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
