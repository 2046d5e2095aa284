//! Values that runs have drawn through this saver, in supersteps that may not be committed yet.
//!
//! A drawn value is stored without waiting, and the first value of an effect counts. If another run of this program was
//! first, that is known at once from this map. If a run of another program was first, the write detects it, and the
//! superstep's commit is rejected.

use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::{HashMap, HashMapExt};
use superstep_core::checkpoint::{EffectId, EffectRecord};
use superstep_core::id::{CheckpointId, ThreadId};

/// The number of supersteps that are remembered. A dropped run does not remove its superstep.
const LIMIT: usize = 1024;

#[derive(Default)]
pub(crate) struct Drawn {
    open: Mutex<HashMap<ThreadId, Superstep>>,
}

struct Superstep {
    base: CheckpointId,
    /// The fence of the latest lease with which a value was drawn. Values of holders that have lost the lease do not
    /// count.
    fence: Option<u64>,
    values: HashMap<EffectId, EffectRecord>,
}

impl Drawn {
    fn open(&self) -> MutexGuard<'_, HashMap<ThreadId, Superstep>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `true` if a value counts: no other value was drawn for its effect before.
    pub(crate) fn counts(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        fence: Option<u64>,
        record: &EffectRecord,
    ) -> bool {
        let mut open = self.open();
        if open.len() >= LIMIT && !open.contains_key(thread) {
            // The oldest superstep: ids sort by time.
            let oldest =
                open.iter().min_by_key(|(_, superstep)| superstep.base).map(|(thread, _)| thread.clone());
            oldest.map(|oldest| open.remove(&oldest));
        }
        let superstep =
            open.entry(thread.clone()).or_insert_with(|| Superstep { base, fence, values: HashMap::new() });
        if superstep.base != base {
            (superstep.base, superstep.fence) = (base, fence);
            superstep.values.clear();
        }
        match (superstep.fence, fence) {
            // The write is rejected, so nothing else follows from it.
            (Some(latest), Some(lost)) if lost < latest => return true,
            (Some(lost), Some(latest)) if lost < latest => superstep.values.clear(),
            _ => {}
        }
        superstep.fence = superstep.fence.max(fence);
        match superstep.values.entry(record.id.clone()) {
            Entry::Vacant(place) => {
                place.insert(record.clone());
                true
            }
            Entry::Occupied(mut held) if record.follows(Some(held.get())) => {
                held.insert(record.clone());
                true
            }
            Entry::Occupied(held) => held.get().outcome == record.outcome,
        }
    }

    /// Forgets the superstep of a thread when it ends.
    pub(crate) fn end(&self, thread: &ThreadId) {
        self.open().remove(thread);
    }

    /// Forgets the supersteps of a thread and of those below it when they are deleted.
    pub(crate) fn end_on_or_below(&self, thread: &ThreadId) {
        self.open().retain(|name, _| !name.is_on_or_below(thread));
    }
}
