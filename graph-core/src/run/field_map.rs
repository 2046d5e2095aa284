//! From the fields of a stored schema to the program's, and back.

use std::vec::Vec;

use crate::state::{FieldId, LoggedWrite, Schema};

/// Where the fields of a stored schema are in the program's: by name, or by a former name.
pub(super) struct FieldMap {
    own: Vec<Option<FieldId>>,
}

impl FieldMap {
    pub(super) fn new(stored: &Schema, own: &Schema) -> Self {
        let own = if stored == own { own.ids().map(Some).collect() } else { own.carried_from(stored) };
        Self { own }
    }

    /// The program's field; `None` for one that it no longer has.
    pub(super) fn own(&self, stored: FieldId) -> Option<FieldId> {
        self.own.get(stored.index()).copied().flatten()
    }

    /// Stored writes as the program's; those to fields that it no longer has are left out.
    pub(super) fn own_writes(&self, writes: &[LoggedWrite]) -> Vec<LoggedWrite> {
        let own = writes.iter().filter_map(|write| {
            let field = self.own(write.field)?;
            Some(LoggedWrite { field, write: write.write.clone() })
        });
        own.collect()
    }

    /// The program's writes as the stored schema has them; `None` when it does not know one of the fields.
    pub(super) fn stored_writes(&self, writes: &[LoggedWrite]) -> Option<Vec<LoggedWrite>> {
        let stored = writes.iter().map(|write| {
            let position = self.own.iter().position(|own| *own == Some(write.field))?;
            Some(LoggedWrite { field: FieldId(u16::try_from(position).ok()?), write: write.write.clone() })
        });
        stored.collect()
    }
}
