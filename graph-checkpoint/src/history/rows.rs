//! The columns that rows of both savers have.

use std::fmt::Display;

use superstep_core::checkpoint::{Source, StoreError};
use superstep_core::id::ThreadId;

use crate::error::corrupt;

/// A row of `thread`.
#[derive(Clone, Debug)]
pub(crate) struct ThreadRow {
    pub(crate) id: i64,
    pub(crate) name: ThreadId,
    pub(crate) graph: String,
    pub(crate) head: i64,
}

/// Returns the number that a row has for a source.
pub(crate) fn source_code(source: Source) -> i16 {
    match source {
        Source::Input => 0,
        Source::Loop => 1,
        Source::Update => 2,
        Source::Fork => 3,
        Source::Pruned => 4,
    }
}

/// Returns the source that has this number in a row.
pub(crate) fn source_of(place: impl Display, code: i64) -> Result<Source, StoreError> {
    Ok(match code {
        0 => Source::Input,
        1 => Source::Loop,
        2 => Source::Update,
        3 => Source::Fork,
        4 => Source::Pruned,
        other => return Err(corrupt(place, format_args!("it has the unknown source {other}"))),
    })
}
