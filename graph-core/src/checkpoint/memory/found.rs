//! The data of a load, which is collected under the lock and folded without it.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::store::seq;
use crate::checkpoint::StoreError;
use crate::checkpoint::codec::Fold;
use crate::checkpoint::{Carried, Checkpoint, Loaded};
use crate::id::NodeName;
use crate::state::{Change, CodecError, FieldValue, Schema, SizeLimits};

/// The part of a load that needs the lock: the changes that make up the values.
pub(super) struct Found {
    pub(super) at: usize,
    pub(super) graph: NodeName,
    pub(super) checkpoint: Arc<Checkpoint>,
    pub(super) schema: Arc<Schema>,
    pub(super) chains: Chains,
    pub(super) work: Carried,
}

/// The changes that make up the value of each field, newest first: checkpoints, and the positions of changes there.
pub(super) type Chains = Vec<Vec<(Arc<Checkpoint>, usize)>>;

impl Found {
    pub(super) fn load(self, limits: SizeLimits) -> Result<Loaded, StoreError> {
        let values = values(&self.chains, &self.schema, limits)?;
        Ok(Loaded {
            seq: seq(self.at),
            graph: self.graph,
            checkpoint: Arc::unwrap_or_clone(self.checkpoint),
            values,
            schema: Arc::unwrap_or_clone(self.schema),
            results: self.work.results,
            failures: self.work.failures,
            asks: self.work.asks,
            effects: self.work.effects,
        })
    }
}

/// Folds the changes of every field.
pub(super) fn values(
    chains: &Chains,
    schema: &Schema,
    limits: SizeLimits,
) -> Result<Vec<FieldValue>, StoreError> {
    let mut values = Vec::new();
    for (field, chain) in schema.ids().zip(chains) {
        let mut fold = Fold::within(limits);
        let failed = |error: CodecError| {
            let place = alloc::format!("field {}", schema.field(field).name);
            match error.excess() {
                Some(excess) => StoreError::TooLarge { place, excess },
                None => StoreError::Corrupt { place, reason: alloc::format!("{error}") },
            }
        };
        for (checkpoint, position) in chain.iter().rev() {
            let Change { ops, .. } = &checkpoint.changes[*position];
            ops.iter().try_for_each(|op| fold.apply(op)).map_err(failed)?;
        }
        if let Some(value) = fold.finish().map_err(failed)? {
            values.push(FieldValue { field, value });
        }
    }
    Ok(values)
}
