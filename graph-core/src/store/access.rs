//! The errors of the store.

use alloc::string::String;

use super::namespace::Namespace;
use crate::error::BoxError;
use crate::state::CodecError;

/// An error of reading or writing the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    /// The graph has no store. Give it one with `.store(..)`.
    #[error("the graph has no store; give it one with `.store(..)`")]
    NoStore,
    /// A part of a namespace, or a key, is empty, which usually means that a value is missing.
    #[error("{0} is empty; every part of a namespace and every key has a name")]
    Empty(&'static str),
    /// The value has no JSON form, or does not decode as the requested type.
    #[error("the value of {key:?} in {namespace}: {reason}")]
    Value {
        /// The namespace.
        namespace: Namespace,
        /// The key.
        key: String,
        /// The reason.
        reason: CodecError,
    },
    /// A stored entry is damaged. Restore the file from a backup, or delete the entry.
    #[error("{place} is damaged: {reason}")]
    Damaged {
        /// The damaged entry.
        place: String,
        /// The problem with it.
        reason: String,
    },
    /// Reading or writing failed.
    #[error("the store failed: {0}")]
    Failed(#[source] BoxError),
}
