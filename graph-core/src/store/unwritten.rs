//! The store that nodes see in a replay: reads work, and writes are discarded.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use async_trait::async_trait;

use super::backend::{AccessError, Entry, Put, StoreBackend};
use super::namespace::Namespace;
use super::search::Search;

/// A backend that discards writes.
pub(super) struct Unwritten(pub(super) Arc<dyn StoreBackend>);

#[async_trait]
impl StoreBackend for Unwritten {
    async fn get(&self, namespace: &Namespace, key: &str, now: u64) -> Result<Option<Entry>, AccessError> {
        self.0.get(namespace, key, now).await
    }

    async fn put(&self, _put: Put, _now: u64) -> Result<(), AccessError> {
        Ok(())
    }

    async fn delete(&self, namespace: &Namespace, key: &str, now: u64) -> Result<bool, AccessError> {
        Ok(self.0.get(namespace, key, now).await?.is_some())
    }

    async fn search(&self, search: &Search, now: u64) -> Result<Vec<Entry>, AccessError> {
        self.0.search(search, now).await
    }

    async fn namespaces(&self, under: &Namespace, now: u64) -> Result<Vec<Namespace>, AccessError> {
        self.0.namespaces(under, now).await
    }

    async fn sweep(&self, _now: u64) -> Result<u64, AccessError> {
        Ok(0)
    }
}
