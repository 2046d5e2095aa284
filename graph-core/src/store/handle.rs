//! The handle to the store, with typed values and a clock.

use alloc::borrow::ToOwned;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::backend::{AccessError, Entry, Put, StoreBackend};
use super::namespace::Namespace;
use super::search::Search;
#[cfg(feature = "tokio")]
use super::unwritten::Unwritten;
use crate::state::{Json, SizeLimits};

/// The store of a graph, as an argument of a node or on its own. The [module](self::super) describes when writes
/// become visible.
///
/// ```
/// # extern crate superstep_core as superstep;
/// use superstep::store::{MemoryStore, Search, Store};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), superstep::store::AccessError> {
/// let store = Store::new(MemoryStore::new());
/// store.put(&["users", "ada"], "city", "London").await?;
/// assert_eq!(store.get(&["users", "ada"], "city").await?, Some("London".to_string()));
///
/// let found = store.search(Search::under(&["users"])?.words("london")).await?;
/// assert_eq!(found[0].namespace.names(), ["users", "ada"]);
/// # Ok(())
/// # }
/// ```
///
/// It is cheap to clone, and clones share the entries. Give it to a graph with `graph.store(..)`, and take it as an
/// argument in a node. In a graph without a store, every call fails with [`AccessError::NoStore`].
#[derive(Clone)]
pub struct Store {
    open: Option<Open>,
}

#[derive(Clone)]
struct Open {
    backend: Arc<dyn StoreBackend>,
    clock: Arc<dyn Clock>,
}

/// Provides the time by which entries expire.
pub trait Clock: Send + Sync + 'static {
    /// Returns the time since the Unix epoch.
    fn now(&self) -> Duration;
}

/// The system's clock.
#[cfg(feature = "std")]
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

#[cfg(feature = "std")]
impl Clock for SystemClock {
    fn now(&self) -> Duration {
        // A clock before 1970 counts as 1970, so that nothing expires.
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
    }
}

impl Store {
    /// Creates a store that uses the system's clock.
    #[cfg(feature = "std")]
    #[must_use]
    pub fn new(backend: impl StoreBackend) -> Self {
        Self::with_clock(backend, SystemClock)
    }

    /// Creates a store that uses `clock`.
    #[must_use]
    pub fn with_clock(backend: impl StoreBackend, clock: impl Clock) -> Self {
        Self { open: Some(Open { backend: Arc::new(backend), clock: Arc::new(clock) }) }
    }

    /// Returns the store of nodes in a graph without one.
    pub(crate) fn missing() -> Self {
        Self { open: None }
    }

    /// Returns the same store with another clock.
    pub(crate) fn told_by(&self, clock: impl Clock) -> Self {
        let open = self.open.as_ref();
        Self { open: open.map(|open| Open { backend: Arc::clone(&open.backend), clock: Arc::new(clock) }) }
    }

    /// Returns the same store, which discards writes.
    #[cfg(feature = "tokio")]
    pub(crate) fn unwritten(&self) -> Self {
        let unwritten = |open: &Open| Open {
            backend: Arc::new(Unwritten(Arc::clone(&open.backend))),
            clock: Arc::clone(&open.clock),
        };
        Self { open: self.open.as_ref().map(unwritten) }
    }

    fn open(&self) -> Result<(&dyn StoreBackend, u64), AccessError> {
        let Open { backend, clock } = self.open.as_ref().ok_or(AccessError::NoStore)?;
        Ok((&**backend, milliseconds(clock.now())))
    }

    /// Writes a value, replacing an existing one.
    ///
    /// # Errors
    /// Returns an error if the value has no JSON form or exceeds the [size limits](SizeLimits), if the namespace or
    /// the key is empty, or if the store fails.
    pub async fn put<T>(&self, namespace: &[&str], key: &str, value: &T) -> Result<(), AccessError>
    where
        T: Serialize + ?Sized,
    {
        let put = to_put(namespace, key, value)?;
        let (backend, now) = self.open()?;
        backend.put(put, now).await
    }

    /// Writes a value that expires after `time`.
    ///
    /// # Errors
    /// Returns the errors of [`put`](Self::put).
    pub async fn put_for<T>(
        &self,
        namespace: &[&str],
        key: &str,
        value: &T,
        time_to_live: Duration,
    ) -> Result<(), AccessError>
    where
        T: Serialize + ?Sized,
    {
        let put = to_put(namespace, key, value)?;
        let (backend, now) = self.open()?;
        let expires_ms = Some(now.saturating_add(milliseconds(time_to_live)));
        backend.put(Put { expires_ms, ..put }, now).await
    }

    /// Reads a value; `None` if there is none.
    ///
    /// # Errors
    /// Returns [`AccessError::Value`] if the stored value is not a `T`, and other errors if the store fails.
    pub async fn get<T: DeserializeOwned>(
        &self,
        namespace: &[&str],
        key: &str,
    ) -> Result<Option<T>, AccessError> {
        self.entry(namespace, key).await?.map(|entry| entry.decode()).transpose()
    }

    /// Reads an entry with its times; `None` if there is none.
    ///
    /// # Errors
    /// Returns an error if the namespace or the key is empty, or the store fails.
    pub async fn entry(&self, namespace: &[&str], key: &str) -> Result<Option<Entry>, AccessError> {
        let namespace = place(namespace, key)?;
        let (backend, now) = self.open()?;
        backend.get(&namespace, key, now).await
    }

    /// Removes an entry, and returns `true` if there was one.
    ///
    /// # Errors
    /// Returns an error if the namespace or the key is empty, or the store fails.
    pub async fn delete(&self, namespace: &[&str], key: &str) -> Result<bool, AccessError> {
        let namespace = place(namespace, key)?;
        let (backend, now) = self.open()?;
        backend.delete(&namespace, key, now).await
    }

    /// Returns all entries at a namespace and below, ordered by namespace and key.
    ///
    /// # Errors
    /// Returns an error if a part of the namespace is empty, or the store fails.
    pub async fn list(&self, namespace: &[&str]) -> Result<Vec<Entry>, AccessError> {
        self.search(Search::under(namespace)?).await
    }

    /// Finds entries, ordered by namespace and key.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn search(&self, search: Search) -> Result<Vec<Entry>, AccessError> {
        let (backend, now) = self.open()?;
        backend.search(&search, now).await
    }

    /// Returns the namespaces that have entries, at a namespace and below, in order.
    ///
    /// # Errors
    /// Returns an error if a part of the namespace is empty, or the store fails.
    pub async fn namespaces(&self, under: &[&str]) -> Result<Vec<Namespace>, AccessError> {
        let under = Namespace::new(under)?;
        let (backend, now) = self.open()?;
        backend.namespaces(&under, now).await
    }

    /// Removes the expired entries, and returns their number. Expired entries are invisible already; this only frees
    /// their space.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn sweep(&self) -> Result<u64, AccessError> {
        let (backend, now) = self.open()?;
        backend.sweep(now).await
    }
}

#[cfg(feature = "std")]
impl<B: StoreBackend> From<B> for Store {
    fn from(backend: B) -> Self {
        Self::new(backend)
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn place(namespace: &[&str], key: &str) -> Result<Namespace, AccessError> {
    if key.is_empty() {
        return Err(AccessError::Empty("the key"));
    }
    Namespace::new(namespace)
}

fn to_put<T: Serialize + ?Sized>(namespace: &[&str], key: &str, value: &T) -> Result<Put, AccessError> {
    let namespace = place(namespace, key)?;
    let encoded = Json::encode(value);
    let encoded =
        encoded.and_then(|value| Ok(SizeLimits::default().check(value.as_str()).map(|()| value)?));
    match encoded {
        Ok(value) => Ok(Put { namespace, key: key.to_owned(), value, expires_ms: None }),
        Err(reason) => Err(AccessError::Value { namespace, key: key.to_owned(), reason }),
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("open", &self.open.is_some()).finish_non_exhaustive()
    }
}
