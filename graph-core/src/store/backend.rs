//! The trait of store implementations.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::namespace::Namespace;
use super::search::Search;
use crate::error::BoxError;
use crate::state::{CodecError, Json};

/// Stores entries. The implementations are [`MemoryStore`](super::MemoryStore), `SqliteStore`, which uses a SQLite file,
/// and `PostgresStore`, which uses a Postgres database.
///
/// An implementation reads no clock: `now` is the time in milliseconds since the Unix epoch. It must not return an
/// expired entry, even before that entry is removed.
#[async_trait]
pub trait StoreBackend: Send + Sync + 'static {
    /// Reads an entry.
    async fn get(&self, namespace: &Namespace, key: &str, now: u64) -> Result<Option<Entry>, AccessError>;

    /// Writes an entry, replacing an existing one. Every read that starts after this call has returned sees it.
    async fn put(&self, put: Put, now: u64) -> Result<(), AccessError>;

    /// Removes an entry, and returns `true` if there was one.
    async fn delete(&self, namespace: &Namespace, key: &str, now: u64) -> Result<bool, AccessError>;

    /// Finds entries, ordered by the path of their namespace, then by key.
    async fn search(&self, search: &Search, now: u64) -> Result<Vec<Entry>, AccessError>;

    /// Returns the namespaces that have entries, at `under` and below, in the order of their paths.
    async fn namespaces(&self, under: &Namespace, now: u64) -> Result<Vec<Namespace>, AccessError>;

    /// Removes the expired entries, and returns their number.
    async fn sweep(&self, now: u64) -> Result<u64, AccessError>;
}

/// An entry to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put {
    /// The namespace.
    pub namespace: Namespace,
    /// The key.
    pub key: String,
    /// The value.
    pub value: Json,
    /// The expiry time, in milliseconds since the Unix epoch; `None` if the entry does not expire.
    pub expires_ms: Option<u64>,
}

/// An entry of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The namespace.
    pub namespace: Namespace,
    /// The key.
    pub key: String,
    /// The value.
    pub value: Json,
    /// The time of the first write of the key, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// The time of the last write, in milliseconds since the Unix epoch.
    pub updated_ms: u64,
    /// The expiry time, in milliseconds since the Unix epoch; `None` if the entry does not expire.
    pub expires_ms: Option<u64>,
}

impl Entry {
    /// Decodes the value as a `T`.
    ///
    /// # Errors
    /// Returns [`AccessError::Value`] if the value does not decode.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, AccessError> {
        self.value.decode().map_err(|reason| AccessError::Value {
            namespace: self.namespace.clone(),
            key: self.key.clone(),
            reason,
        })
    }

    /// Returns `true` if it has not expired at this time.
    #[must_use]
    pub fn is_alive(&self, now: u64) -> bool {
        self.expires_ms.is_none_or(|expires| now < expires)
    }
}

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
