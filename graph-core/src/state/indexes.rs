//! The indexes that reducers keep for a state.

use alloc::collections::BTreeMap;

use super::schema::FieldId;
use crate::reducer::KeyedIndex;

/// The indexes of a state's keyed lists. The owner of the state keeps them from write to write.
///
/// They belong to one state: an owner that replaces the state must replace the indexes too.
#[derive(Debug, Default)]
pub struct Indexes {
    fields: BTreeMap<FieldId, KeyedIndex>,
    /// The indexes of embedded states, by the id of their first field.
    embedded: BTreeMap<u16, Indexes>,
}

impl Indexes {
    /// Returns the index of a field.
    pub fn of(&mut self, field: FieldId) -> &mut KeyedIndex {
        self.fields.entry(field).or_default()
    }

    /// Returns the indexes of the embedded state whose first field has this id.
    pub fn within(&mut self, first: u16) -> &mut Self {
        self.embedded.entry(first).or_default()
    }

    /// Discards the index of a field whose value was replaced.
    pub fn forget(&mut self, field: FieldId) {
        self.fields.remove(&field);
    }
}
