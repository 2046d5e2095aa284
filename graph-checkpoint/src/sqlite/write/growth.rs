//! Tracks the size of a thread's state, so that no commit stores a state that is too large to read.
//!
//! The writer updates the size with the data that each commit adds. An unknown size is computed with each whole map,
//! which is stored every 64th checkpoint of a branch, and earlier with a commit that adds much data. The data added in
//! between is smaller than the margin between the limits for writing and for reading, regardless of the number of
//! programs and commits.

use superstep_core::checkpoint::{Commit, Fold, StateSize, StoreError};
use superstep_core::state::{Change, CodecError, FieldId, FieldValue, Op};

use crate::limited::{too_large, undecoded};
use crate::sqlite::history::changes::{Fields, MAP_EVERY};
use crate::sqlite::history::versions::{self, Rows};
use crate::sqlite::write::cache::WriteCache;
use crate::sqlite::write::insert::Versions;

/// Returns the size of the state after a commit on `base`, which has its schema; `None` if it is not needed yet.
pub(crate) fn size_after(
    cache: &WriteCache,
    commit: &Commit,
    base: &mut Versions,
) -> Result<Option<StateSize>, StoreError> {
    let changes = &commit.checkpoint.changes;
    let limits = cache.connection.limits();
    if base.fields.iter().all(Option::is_none) {
        base.size = Some(StateSize::default());
    }
    match base.size.take() {
        Some(mut size) => {
            size.follow(changes);
            if size.check(&limits.to_write()).is_ok() {
                return Ok(Some(size));
            }
        }
        None if base.since_map + 1 < MAP_EVERY => {
            let mut added = StateSize::default();
            added.follow(changes);
            if added.check(&limits.unseen()).is_ok() {
                return Ok(None);
            }
        }
        None => {}
    }
    let place = || format!("the state of thread {} at step {}", commit.thread, commit.checkpoint.step);
    match values(cache, &base.fields, changes) {
        Ok(values) => {
            let size = StateSize::of(&values);
            size.check(&limits.to_write()).map_err(|excess| too_large(place(), excess))?;
            Ok(Some(size))
        }
        Err(StoreError::TooLarge { excess, .. }) => Err(too_large(place(), excess)),
        // Readers of damaged data receive an error. The writer continues.
        Err(StoreError::Corrupt { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the values after the changes.
fn values(cache: &WriteCache, fields: &Fields, changes: &[Change]) -> Result<Vec<FieldValue>, StoreError> {
    let failed = |error: CodecError| undecoded("the value", error);
    let mut rows = Rows::default();
    let mut values = Vec::new();
    let last = changes.iter().map(|change| change.field.index() + 1).max().unwrap_or(0);
    for (index, field) in (0..fields.len().max(last)).zip((0..=u16::MAX).map(FieldId)) {
        let ops = changes.iter().find(|change| change.field == field).map_or(&[][..], |change| &change.ops);
        let mut fold = Fold::within(cache.connection.limits());
        let version = fields.get(index).copied().flatten();
        if let Some(version) = version.filter(|_| !ops.first().is_some_and(Op::is_whole))
            && let Some(before) = versions::value(&cache.connection, version, &mut rows)?
        {
            fold.apply(&Op::Set(before)).map_err(failed)?;
        }
        ops.iter().try_for_each(|op| fold.apply(op)).map_err(failed)?;
        let value = fold.finish().map_err(failed)?;
        values.extend(value.map(|value| FieldValue { field, value }));
    }
    Ok(values)
}
