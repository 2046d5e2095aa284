//! Maps the fields of a stored schema to the program's, and back.

use std::sync::Arc;
use std::vec::Vec;

use super::thread_error::ThreadError;
use crate::checkpoint::Loaded;
use crate::graph::Program;
use crate::id::CheckpointId;
use crate::state::{ErasedState, FieldId, FieldValue, LoadError, LoggedWrite, Schema, caught};

/// The map from the fields of a stored schema to the program's: by name, or by a former name.
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

    /// Returns `true` if stored writes have the same meaning in the program. Writes of another version of the state
    /// do not, even if the names match, because a migration receives states, not writes.
    pub(crate) fn carries(&self, writes: &[LoggedWrite]) -> bool {
        self.same_version || writes.is_empty()
    }

    /// Returns the program's field; `None` if the program no longer has it.
    pub(crate) fn own(&self, stored: FieldId) -> Option<FieldId> {
        self.own.get(stored.index()).copied().flatten()
    }

    /// Converts stored writes to the program's fields; writes to fields that it no longer has are left out.
    pub(crate) fn own_writes(&self, writes: &[LoggedWrite]) -> Vec<LoggedWrite> {
        let own = writes.iter().filter_map(|write| {
            let field = self.own(write.field)?;
            Some(LoggedWrite { field, write: write.write.clone() })
        });
        own.collect()
    }

    /// Converts the program's writes to the stored schema; `None` if that lacks one of the fields, or has another
    /// version.
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

/// Returns the state of a checkpoint, and the map between its schema and the program's if they differ.
pub(crate) fn state_of(
    program: &Program,
    loaded: &Loaded,
) -> Result<(Arc<dyn ErasedState>, Option<FieldMap>), ThreadError> {
    load(program, loaded.checkpoint.id, &loaded.schema, &loaded.values)
}

/// Returns the state made of the values of a checkpoint, which are stored under `schema`, as [`state_of`] does.
pub(crate) fn load(
    program: &Program,
    checkpoint: CheckpointId,
    schema: &Schema,
    values: &[FieldValue],
) -> Result<(Arc<dyn ErasedState>, Option<FieldMap>), ThreadError> {
    let own: &Schema = &program.schema;
    // A graph without code has no migrations. Its fields accept any value.
    let unmigrated;
    let schema = match program.lacks_code() {
        true => {
            unmigrated = Schema { version: own.version, embedded: own.embedded.clone(), ..schema.clone() };
            &unmigrated
        }
        false => schema,
    };
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
