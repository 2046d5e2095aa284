//! From the fields of a stored schema to the program's, and back.

use std::sync::Arc;
use std::vec::Vec;

use super::error::ThreadError;
use crate::checkpoint::Loaded;
use crate::graph::Program;
use crate::id::CheckpointId;
use crate::state::{ErasedState, FieldId, FieldValue, LoadError, LoggedWrite, Schema, caught};

/// Where the fields of a stored schema are in the program's: by name, or by a former name.
pub(crate) struct FieldMap {
    own: Vec<Option<FieldId>>,
    same_version: bool,
}

impl FieldMap {
    pub(crate) fn new(stored: &Schema, own: &Schema) -> Self {
        let own_version = own.version;
        let own = if stored == own { own.ids().map(Some).collect() } else { own.carried_from(stored) };
        Self { own, same_version: stored.version == own_version }
    }

    /// Returns `true` if stored writes mean the same in the program. Writes of another version of the state do not,
    /// whatever the names of their fields: a migration receives states, not writes.
    pub(crate) fn carries(&self, writes: &[LoggedWrite]) -> bool {
        self.same_version || writes.is_empty()
    }

    /// The program's field; `None` for one that it no longer has.
    pub(crate) fn own(&self, stored: FieldId) -> Option<FieldId> {
        self.own.get(stored.index()).copied().flatten()
    }

    /// Stored writes as the program's; those to fields that it no longer has are left out.
    pub(crate) fn own_writes(&self, writes: &[LoggedWrite]) -> Vec<LoggedWrite> {
        let own = writes.iter().filter_map(|write| {
            let field = self.own(write.field)?;
            Some(LoggedWrite { field, write: write.write.clone() })
        });
        own.collect()
    }

    /// The program's writes as the stored schema has them; `None` when it does not know one of the fields, or is of
    /// another version.
    pub(crate) fn stored_writes(&self, writes: &[LoggedWrite]) -> Option<Vec<LoggedWrite>> {
        if !self.carries(writes) {
            return None;
        }
        let stored = writes.iter().map(|write| {
            let position = self.own.iter().position(|own| *own == Some(write.field))?;
            Some(LoggedWrite { field: FieldId(u16::try_from(position).ok()?), write: write.write.clone() })
        });
        stored.collect()
    }
}

/// The state of a checkpoint, and the way from its schema to the program's when that is another one.
pub(crate) fn state_of(
    program: &Program,
    loaded: &Loaded,
) -> Result<(Arc<dyn ErasedState>, Option<FieldMap>), ThreadError> {
    load(program, loaded.checkpoint.id, &loaded.schema, &loaded.values)
}

/// The same, of the values of a checkpoint that are stored under `schema`.
pub(crate) fn load(
    program: &Program,
    checkpoint: CheckpointId,
    schema: &Schema,
    values: &[FieldValue],
) -> Result<(Arc<dyn ErasedState>, Option<FieldMap>), ThreadError> {
    let own = &program.schema;
    let load = || program.initial.load(own, schema, values);
    let state = if schema.version == own.version {
        load()
    } else {
        caught(load).unwrap_or_else(|panic| {
            Err(LoadError::Migration {
                state: own.name.clone(),
                from: schema.version,
                to: own.version,
                reason: std::format!("it panicked: {panic}").into(),
            })
        })
    };
    let state = state.map_err(|reason| ThreadError::unloadable(checkpoint, reason))?;
    Ok((state, (schema != own).then(|| FieldMap::new(schema, own))))
}
