//! Deletion of threads.

use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::convert::Infallible;

use foldhash::{HashMap, HashMapExt, HashSet};

use super::commit::settle;
use super::store::{Store, Thread, seq};
use crate::checkpoint::deletion::still_needed;
use crate::checkpoint::{Seq, StoreError};
use crate::id::{NodeName, ThreadId};

impl Store {
    pub(super) fn delete(&mut self, graph: &NodeName, thread: &ThreadId) -> Result<(), StoreError> {
        let Some(held) = self.threads.get(thread) else {
            return Ok(());
        };
        if held.graph != *graph {
            return Err(StoreError::WrongGraph {
                thread: thread.clone(),
                expected: graph.to_string(),
                found: held.graph.to_string(),
            });
        }
        self.leases.forget(thread);
        let is_there = |root: &ThreadId| root != thread && self.threads.contains_key(root);
        let goes = |name: &&ThreadId| name.goes_with(thread, is_there);
        let mut going: HashSet<ThreadId> = self.threads.keys().filter(goes).cloned().collect();

        let checkpoints = self.checkpoints.iter();
        let (doomed, others): (Vec<_>, Vec<_>) =
            checkpoints.partition(|(_, stored)| going.contains(&stored.thread));
        let heads = self.threads.iter().filter(|(name, _)| !going.contains(*name));
        let needed = heads.flat_map(|(_, held)| held.names.values().copied().chain([held.head]));
        let needed = needed.chain(others.iter().filter_map(|(_, stored)| stored.parent)).map(seq);
        let parents: BTreeMap<Seq, Option<Seq>> =
            doomed.iter().map(|(index, stored)| (seq(*index), stored.parent.map(seq))).collect();
        // Threads from which a subgraph continues keep their names.
        let mut named = Vec::new();
        let also = |at: Seq| {
            let kept = &self.checkpoints[place(at)].checkpoint.frontier.kept;
            let mut places = Vec::new();
            for kept in kept {
                places.extend(self.by_id.get(&kept.checkpoint).copied().map(seq));
                places.extend(self.threads.get(&kept.thread).map(|held| seq(held.head)));
                named.push(kept.thread.clone());
            }
            Ok::<_, Infallible>(places)
        };
        let staying = match still_needed(&parents, needed, also) {
            Ok(staying) => staying,
            Err(never) => match never {},
        };
        for name in &named {
            going.remove(name);
        }

        let mut left: HashMap<ThreadId, Vec<usize>> = HashMap::new();
        for at in parents.keys().copied() {
            let index = place(at);
            if staying.contains(&at) {
                let name = self.checkpoints[index].thread.clone();
                left.entry(name).or_default().push(index);
            } else if let Some(gone) = self.checkpoints.remove(index) {
                self.by_id.remove(&gone.checkpoint.id);
                if let Some(held) = self.threads.get_mut(&gone.thread) {
                    held.past.remove(&index);
                }
            }
        }
        for name in going {
            let held = self.threads.remove(&name);
            let Some((held, indices)) = held.zip(left.remove(&name)) else { continue };
            let head = *indices.last().expect("it has one that stays");
            let remnant = name.before_deletion().remnant(seq(head).0);
            for index in indices {
                self.checkpoints.write_as(index, &remnant);
            }
            self.threads.insert(remnant, held.settled_at(head));
        }
        Ok(())
    }
}

impl Thread {
    /// Returns the remaining record of a deleted thread. `head` is its newest kept checkpoint.
    fn settled_at(mut self, head: usize) -> Self {
        self.work = if self.head == head {
            settle(&mut self.work);
            self.work
        } else {
            self.past.remove(&head).unwrap_or_default()
        };
        self.names.clear();
        Self { head, ..self }
    }
}

fn place(at: Seq) -> usize {
    usize::try_from(at.0).expect("it was an index") - 1
}
