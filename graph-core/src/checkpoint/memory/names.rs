//! Names of checkpoints.

use alloc::collections::btree_map::Entry;
use alloc::vec::Vec;

use super::store::Store;
use crate::checkpoint::StoreError;
use crate::checkpoint::name::{CheckpointName, NamedCheckpoint, Naming};
use crate::id::ThreadId;

impl Store {
    pub(super) fn name(&mut self, thread: &ThreadId, naming: Naming) -> Result<(), StoreError> {
        match naming {
            Naming::Give { name, checkpoint } => {
                let (index, _) = self.seen(thread, checkpoint)?;
                self.give(thread, name, index)
            }
            Naming::Rename { from, to } => {
                let index = self.named(thread, &from)?;
                self.give(thread, to.clone(), index)?;
                match from == to {
                    true => Ok(()),
                    false => self.remove(thread, &from),
                }
            }
            Naming::Remove { name } => self.remove(thread, &name),
        }
    }

    fn named(&self, thread: &ThreadId, name: &CheckpointName) -> Result<usize, StoreError> {
        let held = self.threads.get(thread).and_then(|held| held.names.get(name));
        held.copied().ok_or_else(|| StoreError::no_name(thread, name))
    }

    fn give(&mut self, thread: &ThreadId, name: CheckpointName, index: usize) -> Result<(), StoreError> {
        let missing = StoreError::no_name(thread, &name);
        let held = self.threads.get_mut(thread).ok_or(missing)?;
        match held.names.entry(name) {
            Entry::Occupied(taken) if *taken.get() != index => Err(StoreError::NameTaken {
                thread: thread.clone(),
                name: taken.key().clone(),
                checkpoint: self.checkpoints[*taken.get()].checkpoint.id,
            }),
            Entry::Occupied(_) => Ok(()),
            Entry::Vacant(free) => {
                free.insert(index);
                Ok(())
            }
        }
    }

    fn remove(&mut self, thread: &ThreadId, name: &CheckpointName) -> Result<(), StoreError> {
        let removed = self.threads.get_mut(thread).and_then(|held| held.names.remove(name));
        removed.map(drop).ok_or_else(|| StoreError::no_name(thread, name))
    }

    pub(super) fn names(&self, thread: &ThreadId) -> Vec<NamedCheckpoint> {
        let names = self.threads.get(thread).into_iter().flat_map(|held| &held.names);
        let named = names.map(|(name, index)| NamedCheckpoint {
            name: name.clone(),
            checkpoint: self.checkpoints[*index].checkpoint.id,
        });
        named.collect()
    }
}
