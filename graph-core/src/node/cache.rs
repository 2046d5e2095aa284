//! The cache policy: when a node's earlier result is reused.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;

use serde::Serialize;

use crate::state::{CodecError, ErasedState, FieldId, Json, Lifetime, Schema, State};

/// Reuses a node's result instead of running the node again, for the same key and within a time to live.
///
/// The key is the whole state that the node sees, unless [`key`](Self::key) selects a part of it, together with the
/// item of `each`. Fields that are not stored are not part of the key, and are not restored.
///
/// ```
/// # extern crate superstep_core as superstep;
/// use std::time::Duration;
/// use superstep::node::Cache;
/// # use superstep::state::State;
/// # #[derive(State, Clone, Default)]
/// # struct Essay { topic: String }
///
/// let cache = Cache::new().key(|essay: &Essay| essay.topic.clone()).time_to_live(Duration::from_secs(60));
/// # let _ = cache;
/// ```
pub struct Cache<S> {
    time_to_live: Option<Duration>,
    /// The selected part of the state; `None` for the whole state.
    key: Option<KeyOf>,
    state: PhantomData<fn(S)>,
}

/// Computes the key from the state.
type KeyOf = Arc<dyn Fn(&dyn ErasedState) -> Result<Json, CodecError> + Send + Sync>;

/// A [`Cache`] without its state type.
#[derive(Clone)]
pub(crate) struct CachePolicy {
    pub(crate) time_to_live: Option<Duration>,
    pub(crate) key: KeyOf,
}

impl<S: State> Cache<S> {
    /// Creates a policy that reuses results forever, with the whole state as the key.
    #[must_use]
    pub fn new() -> Self {
        Self { time_to_live: None, key: None, state: PhantomData }
    }

    /// Uses the return value of `key` instead of the whole state.
    #[must_use]
    pub fn key<K: Serialize>(mut self, key: impl Fn(&S) -> K + Send + Sync + 'static) -> Self {
        self.key = Some(Arc::new(move |state| {
            let state: &dyn Any = state;
            Json::encode(&key(state.downcast_ref().expect("the driver owns the state of this graph")))
        }));
        self
    }

    /// Sets the time after which a result is no longer reused.
    #[must_use]
    pub fn time_to_live(mut self, time: Duration) -> Self {
        self.time_to_live = Some(time);
        self
    }

    /// Returns the policy for a graph over a state with this schema. It is the type's own schema, except for states
    /// that are described by data.
    pub(crate) fn into_policy(self, schema: &Schema) -> CachePolicy {
        let key = self.key.unwrap_or_else(|| whole_state(schema));
        CachePolicy { time_to_live: self.time_to_live, key }
    }
}

/// Returns a key of all stored fields.
fn whole_state(schema: &Schema) -> KeyOf {
    let stored = schema.ids().filter(|field| schema.field(*field).lifetime != Lifetime::Unstored);
    let stored: Vec<FieldId> = stored.collect();
    Arc::new(move |state| {
        let values = stored.iter().map(|field| state.encode_field(*field));
        Json::encode(&values.collect::<Result<Vec<_>, _>>()?)
    })
}

impl<S: State> Default for Cache<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> fmt::Debug for Cache<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("time_to_live", &self.time_to_live).finish_non_exhaustive()
    }
}

impl fmt::Debug for CachePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachePolicy").field("time_to_live", &self.time_to_live).finish_non_exhaustive()
    }
}
