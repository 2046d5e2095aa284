//! Inserts a checkpoint's row, for a commit or an import.

use superstep_core::checkpoint::{Checkpoint, StateSize, StoreError};
use superstep_core::id::Fingerprint;
use superstep_core::state::{FieldId, Schema};

use crate::history::encode::Encoder;
use crate::sqlite::history::changes::{Fields, MAP_EVERY, Version};
use crate::sqlite::history::gather::{Tails, gather};
use crate::sqlite::history::long_texts::BodyTable;
use crate::sqlite::history::rows::CheckpointRow;
use crate::sqlite::write::cache::WriteCache;

/// The position of a checkpoint's row, and the rows to which it refers.
pub(crate) struct Spot {
    pub(crate) seq: i64,
    pub(crate) parent: Option<i64>,
    pub(crate) thread: i64,
    pub(crate) schema: i64,
    pub(crate) topology: i64,
}

/// The versions of the fields at a checkpoint.
pub(crate) struct Versions {
    /// The schema of the fields; `None` if there are none yet.
    pub(crate) schema: Option<Fingerprint>,
    pub(crate) fields: Fields,
    /// The number of checkpoints since the last whole map.
    pub(crate) since_map: u32,
    pub(crate) tails: Tails,
    /// The size of the state, if it is known.
    pub(crate) size: Option<StateSize>,
}

impl WriteCache {
    /// Returns the versions under the schema of the next checkpoint. If that differs from the current one, fields have
    /// other ids: then a whole map is due, and the size of the values is unknown.
    pub(crate) fn carried(
        &mut self,
        base: Versions,
        fingerprint: Fingerprint,
        schema: &Schema,
    ) -> Result<Versions, StoreError> {
        let Some(older) = base.schema.filter(|older| *older != fingerprint) else { return Ok(base) };
        let (_, older) = self.schema(older)?;
        Ok(Versions {
            schema: Some(fingerprint),
            fields: carry(&base.fields, &schema.carried_from(&older), schema.fields.len()),
            since_map: MAP_EVERY,
            tails: Tails::default(),
            size: None,
        })
    }

    /// Inserts the row of a checkpoint that builds on `base`, which has its schema; returns the versions there. The
    /// inner error concerns only the row: its position may be taken.
    pub(crate) fn put(
        &mut self,
        checkpoint: &Checkpoint,
        at: &Spot,
        base: Versions,
    ) -> Result<Result<Versions, rusqlite::Error>, StoreError> {
        let Versions { mut fields, mut tails, .. } = base;
        let whole_map = base.since_map + 1 >= MAP_EVERY;
        tails.follow(&checkpoint.changes, &fields);
        self.encode(checkpoint, at.seq, &mut fields, whole_map)?;
        let row = CheckpointRow {
            seq: at.seq,
            id: checkpoint.id,
            parent: at.parent,
            thread: at.thread,
            run: checkpoint.run,
            step: checkpoint.step,
            source: checkpoint.source,
            schema: at.schema,
            topology: at.topology,
        };
        let map = whole_map.then_some(self.fields.as_str());
        let since_map = if whole_map { 0 } else { base.since_map + 1 };
        let texts = row.store(&self.connection, &self.changes, map, &self.manifest)?;
        if let Err(taken) = row.insert(&self.connection, &texts) {
            return Ok(Err(taken));
        }
        if whole_map {
            gather(&self.connection, at.thread, &fields, &mut tails)?;
        }
        Ok(Ok(Versions { schema: Some(checkpoint.schema), fields, since_map, tails, size: base.size }))
    }

    fn encode(
        &mut self,
        checkpoint: &Checkpoint,
        seq: i64,
        fields: &mut Fields,
        whole_map: bool,
    ) -> Result<(), StoreError> {
        let bodies = &BodyTable(&self.connection);
        for out in [&mut self.changes, &mut self.fields, &mut self.manifest] {
            out.clear();
        }
        let out = &mut self.changes;
        Encoder { bodies, out }.changes(&checkpoint.changes, seq, fields)?;
        if whole_map {
            let out = &mut self.fields;
            Encoder { bodies, out }.fields(fields);
        }
        let out = &mut self.manifest;
        Encoder { bodies, out }.manifest(checkpoint)
    }
}

/// Returns the versions under a newer schema, in which fields have other ids.
fn carry(fields: &Fields, carried: &[Option<FieldId>], len: usize) -> Fields {
    let mut newer: Vec<Option<Version>> = vec![None; len];
    for (version, target) in fields.iter().zip(carried) {
        if let Some(place) = target.and_then(|target| newer.get_mut(target.index())) {
            *place = *version;
        }
    }
    newer
}
