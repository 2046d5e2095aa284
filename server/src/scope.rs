//! The part of the objects that a client may use.

use serde_json::{Map, Value};
use superstep_core::records::contains;

/// The part of the objects that a client may use. The default is all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Scope {
    /// Entries for the metadata of what is created.
    pub(crate) stamp: Map<String, Value>,
    /// Entries that the metadata of what is read contains.
    pub(crate) filter: Map<String, Value>,
}

impl Scope {
    /// Returns `true` if the client may use an object with this metadata.
    pub(crate) fn admits(&self, metadata: &Map<String, Value>) -> bool {
        self.filter.iter().all(|(name, part)| metadata.get(name).is_some_and(|value| contains(value, part)))
    }

    /// Adds the entries of the scope to metadata of a client, which cannot replace them.
    pub(crate) fn stamped(&self, mut metadata: Map<String, Value>) -> Map<String, Value> {
        metadata.extend(self.stamp.clone());
        metadata
    }

    /// Adds the condition of the scope to those of a client. A client cannot widen it.
    pub(crate) fn narrowed(&self, mut conditions: Map<String, Value>) -> Map<String, Value> {
        conditions.extend(self.filter.clone());
        conditions
    }
}
