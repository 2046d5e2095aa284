//! The trait of those who keep entries.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::access::AccessError;
use super::namespace::Namespace;
use super::search::Search;
use crate::state::Json;

/// Keeps entries. Implementations are [`MemoryStore`](super::MemoryStore) and, in one SQLite file, `SqliteStore`.
///
/// It reads no clock: `now` is the time in milliseconds since the Unix epoch. An entry whose time has come is
/// not there, whether or not it has been removed.
#[async_trait]
pub trait StoreBackend: Send + Sync + 'static {
    /// Reads an entry.
    async fn get(&self, namespace: &Namespace, key: &str, now: u64) -> Result<Option<Entry>, AccessError>;

    /// Writes an entry; it replaces an existing one. Every read after this returns sees it.
    async fn put(&self, put: Put, now: u64) -> Result<(), AccessError>;

    /// Removes an entry; whether there was one.
    async fn delete(&self, namespace: &Namespace, key: &str, now: u64) -> Result<bool, AccessError>;

    /// Finds entries. They come in the order of their namespaces' paths, then of their keys.
    async fn search(&self, search: &Search, now: u64) -> Result<Vec<Entry>, AccessError>;

    /// The namespaces that have entries, at `under` and below, in the order of their paths.
    async fn namespaces(&self, under: &Namespace, now: u64) -> Result<Vec<Namespace>, AccessError>;

    /// Removes the entries whose time has come; how many there were.
    async fn sweep(&self, now: u64) -> Result<u64, AccessError>;
}

/// An entry to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put {
    /// Where.
    pub namespace: Namespace,
    /// Under which key.
    pub key: String,
    /// The value.
    pub value: Json,
    /// When its time comes, in milliseconds since the Unix epoch; `None` is never.
    pub expires_ms: Option<u64>,
}

/// An entry of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Where it is.
    pub namespace: Namespace,
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: Json,
    /// When the key was first written, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// When it was last written.
    pub updated_ms: u64,
    /// When its time comes; `None` is never.
    pub expires_ms: Option<u64>,
}

impl Entry {
    /// The value as a `T`.
    ///
    /// # Errors
    /// [`AccessError::Value`] when it is none.
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
