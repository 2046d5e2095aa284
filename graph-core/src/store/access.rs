//! Why the store could not be read or written.

use alloc::string::String;

use super::namespace::Namespace;
use crate::error::BoxError;
use crate::state::CodecError;

/// Why the store could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    /// The graph has no store. Give it one with `.store(..)`.
    #[error("the graph has no store; give it one with `.store(..)`")]
    NoStore,
    /// A part of a namespace, or a key, is empty: more likely a value that is missing than a name.
    #[error("{0} is empty; every part of a namespace and every key has a name")]
    Empty(&'static str),
    /// The value has no JSON form, or it is none of the type that was asked for.
    #[error("the value of {key:?} in {namespace}: {reason}")]
    Value {
        /// The namespace.
        namespace: Namespace,
        /// The key.
        key: String,
        /// Why.
        reason: CodecError,
    },
    /// A stored entry is damaged. Restore the file from a backup, or delete the entry.
    #[error("{place} is damaged: {reason}")]
    Damaged {
        /// Which one.
        place: String,
        /// The problem with it.
        reason: String,
    },
    /// Reading or writing failed.
    #[error("the store failed: {0}")]
    Failed(#[source] BoxError),
}
