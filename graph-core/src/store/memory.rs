//! The store in memory.

use std::collections::{BTreeMap, btree_map};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use async_trait::async_trait;

use super::backend::{AccessError, Entry, Put, StoreBackend};
use super::namespace::Namespace;
use super::search::Search;

/// Keeps entries in memory, for as long as the program runs. Searches find the same entries as in the other stores.
///
/// It is cheap to clone, and clones share the entries.
#[derive(Clone, Default)]
pub struct MemoryStore {
    entries: Arc<Mutex<BTreeMap<Place, Entry>>>,
}

/// The path of a namespace, and a key.
type Place = (String, String);

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<Place, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the entries at a path and below.
fn under<'e>(
    entries: &'e BTreeMap<Place, Entry>,
    path: &str,
) -> impl Iterator<Item = (&'e Place, &'e Entry)> {
    let first = (path.to_string(), String::new());
    entries.range(first..).take_while(move |((at, _), _)| at.starts_with(path))
}

#[async_trait]
impl StoreBackend for MemoryStore {
    async fn get(&self, namespace: &Namespace, key: &str, now: u64) -> Result<Option<Entry>, AccessError> {
        let entries = self.entries();
        let entry = entries.get(&(namespace.path(), key.to_string()));
        Ok(entry.filter(|entry| entry.is_alive(now)).cloned())
    }

    async fn put(&self, put: Put, now: u64) -> Result<(), AccessError> {
        let Put { namespace, key, value, expires_ms } = put;
        let entry = Entry { namespace, key, value, created_ms: now, updated_ms: now, expires_ms };
        match self.entries().entry((entry.namespace.path(), entry.key.clone())) {
            btree_map::Entry::Occupied(mut held) => {
                let created_ms = if held.get().is_alive(now) { held.get().created_ms } else { now };
                held.insert(Entry { created_ms, ..entry });
            }
            btree_map::Entry::Vacant(place) => drop(place.insert(entry)),
        }
        Ok(())
    }

    async fn delete(&self, namespace: &Namespace, key: &str, now: u64) -> Result<bool, AccessError> {
        let removed = self.entries().remove(&(namespace.path(), key.to_string()));
        Ok(removed.is_some_and(|entry| entry.is_alive(now)))
    }

    async fn search(&self, search: &Search, now: u64) -> Result<Vec<Entry>, AccessError> {
        let entries = self.entries();
        let path = search.namespace().path();
        let found = under(&entries, &path).map(|(_, entry)| entry);
        let found = found.filter(|entry| entry.is_alive(now) && search.finds(entry));
        Ok(search.page(found.cloned()))
    }

    async fn namespaces(&self, namespace: &Namespace, now: u64) -> Result<Vec<Namespace>, AccessError> {
        let entries = self.entries();
        let path = namespace.path();
        let mut all: Vec<Namespace> = Vec::new();
        for (_, entry) in under(&entries, &path).filter(|(_, entry)| entry.is_alive(now)) {
            if all.last() != Some(&entry.namespace) {
                all.push(entry.namespace.clone());
            }
        }
        Ok(all)
    }

    async fn sweep(&self, now: u64) -> Result<u64, AccessError> {
        let mut entries = self.entries();
        let before = entries.len();
        entries.retain(|_, entry| entry.is_alive(now));
        Ok((before - entries.len()) as u64)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("entries", &self.entries().len()).finish()
    }
}
