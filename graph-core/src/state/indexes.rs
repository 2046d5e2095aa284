//! The indexes that reducers keep beside a state.

use alloc::collections::BTreeMap;

use super::schema::FieldId;
use crate::reducer::KeyedIndex;

/// The indexes of a state's keyed lists, kept from write to write by the owner of the state.
///
/// They belong to one state: an owner that takes another state takes new indexes as well.
#[derive(Debug, Default)]
pub struct Indexes {
    fields: BTreeMap<FieldId, KeyedIndex>,
    /// Those of embedded states, by the id of their first field.
    embedded: BTreeMap<u16, Indexes>,
}

impl Indexes {
    /// The index of a field.
    pub fn of(&mut self, field: FieldId) -> &mut KeyedIndex {
        self.fields.entry(field).or_default()
    }

    /// The indexes of the embedded state whose first field has this id.
    pub fn within(&mut self, first: u16) -> &mut Self {
        self.embedded.entry(first).or_default()
    }

    /// Drops the index of a field whose value was replaced.
    pub fn forget(&mut self, field: FieldId) {
        self.fields.remove(&field);
    }
}
