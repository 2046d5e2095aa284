//! The heads of threads that a graph keeps in memory between its runs.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::current_state::CurrentState;
use crate::checkpoint::Checkpoint;
use crate::id::ThreadId;

/// The maximum total size of the heads that a graph keeps in memory, in bytes of their stored values.
const MAX_BYTES: usize = 32 << 20;

/// The bytes that each head counts for in addition to its values.
const ENTRY_BYTES: usize = 1024;

/// The heads that the latest runs of a graph have stored, with their states.
///
/// A run takes the head of its thread out and asks the store whether it is still the head. If so, the run does not read
/// the values again. When the run ends, it puts in the head that it has stored. A run that takes a state out is its
/// only owner, so it writes into the state without a copy; another run of the thread at the same time reads from the
/// store.
///
/// A head in memory is used only after the store has confirmed it. A thread that was continued, edited, or deleted and
/// created again has another head, and a checkpoint never changes.
#[derive(Default)]
pub(crate) struct Heads(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// The heads, numbered in the order in which they were put in.
    heads: BTreeMap<u64, (ThreadId, KeptHead)>,
    places: HashMap<ThreadId, u64>,
    last: u64,
    bytes: usize,
}

/// A head that is kept in memory, with its state.
pub(crate) struct KeptHead {
    pub(crate) checkpoint: Arc<Checkpoint>,
    pub(crate) state: CurrentState,
}

impl KeptHead {
    pub(crate) fn copy(&self) -> Self {
        Self { checkpoint: Arc::clone(&self.checkpoint), state: self.state.copy() }
    }

    fn bytes(&self) -> usize {
        ENTRY_BYTES + self.state.bytes()
    }
}

impl Heads {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out the head of a thread; `None` if it is not in memory.
    pub(crate) fn take(&self, thread: &ThreadId) -> Option<KeptHead> {
        self.kept().take(thread)
    }

    /// Returns a copy of the head of a thread for one of its tasks, which does not write into the state; `None` if it is
    /// not in memory.
    pub(crate) fn copy(&self, thread: &ThreadId) -> Option<KeptHead> {
        let kept = self.kept();
        kept.heads.get(kept.places.get(thread)?).map(|(_, head)| head.copy())
    }

    /// Puts in the head of a thread, and drops the oldest heads while the maximum size is exceeded.
    pub(crate) fn put(&self, thread: ThreadId, head: KeptHead) {
        let mut kept = self.kept();
        let mut dropped = std::vec![kept.take(&thread)];
        kept.last += 1;
        let place = kept.last;
        kept.bytes += head.bytes();
        kept.places.insert(thread.clone(), place);
        kept.heads.insert(place, (thread, head));
        while kept.bytes > MAX_BYTES
            && let Some((_, (oldest, head))) = kept.heads.pop_first()
        {
            kept.bytes -= head.bytes();
            kept.places.remove(&oldest);
            dropped.push(Some(head));
        }
        // The states are dropped after the lock is released.
        drop(kept);
    }
}

impl Kept {
    fn take(&mut self, thread: &ThreadId) -> Option<KeptHead> {
        let place = self.places.remove(thread)?;
        let (_, head) = self.heads.remove(&place)?;
        self.bytes -= head.bytes();
        Some(head)
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;
    use std::vec::Vec;

    use super::*;
    use crate::checkpoint::{Frontier, Source};
    use crate::id::{CheckpointId, Fingerprint, RunId};

    use crate::state::{FieldId, FieldValue, Json, JsonState};

    fn head(bytes: usize) -> KeptHead {
        let fingerprint = Fingerprint::from_bytes([0; 16]);
        let checkpoint = Checkpoint {
            id: CheckpointId(uuid::Uuid::nil()),
            parent: None,
            run: RunId(uuid::Uuid::nil()),
            step: 0,
            source: Source::Loop,
            schema: fingerprint,
            topology: fingerprint,
            changes: Vec::new(),
            tasks: Vec::new(),
            frontier: Frontier::default(),
            metadata: BTreeMap::new(),
        };
        let value = Json::encode(&"x".repeat(bytes)).expect("a text");
        let values = [FieldValue { field: FieldId(0), value }];
        let state = Arc::new(JsonState::new(Arc::default()));
        KeptHead { checkpoint: Arc::new(checkpoint), state: CurrentState::of(state, &values) }
    }

    #[test]
    fn the_oldest_heads_are_dropped_where_there_is_no_room() {
        let heads = Heads::default();
        let threads: Vec<ThreadId> = (0..5).map(|number| ThreadId::from(&*number.to_string())).collect();
        for thread in &threads[..4] {
            heads.put(thread.clone(), head(MAX_BYTES / 4));
        }
        let left = |thread: usize| heads.take(&threads[thread]).is_some();
        assert!(!left(0), "four of them and what they count for beside their values do not fit");
        assert!(left(1) && !left(1) && left(2) && left(3));
        assert_eq!(heads.kept().bytes, 0);
        heads.put(threads[0].clone(), head(MAX_BYTES));
        assert!(heads.take(&threads[0]).is_none(), "one that is too large is not kept");
        heads.put(threads[0].clone(), head(10));
        heads.put(threads[0].clone(), head(20));
        assert_eq!(heads.kept().bytes, ENTRY_BYTES + 22, "a thread has one head");
    }
}
