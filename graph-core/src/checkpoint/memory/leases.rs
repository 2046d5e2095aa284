//! The leases of the in-memory saver.

use alloc::vec::Vec;

use foldhash::HashMap;

use crate::checkpoint::checkpointer::StoreError;
use crate::checkpoint::lease::{Acquired, Claim, LeaseRecord, Standing};
use crate::id::ThreadId;

#[derive(Default)]
pub(super) struct Leases {
    held: HashMap<ThreadId, LeaseRecord>,
    last: u64,
}

impl Leases {
    pub(super) fn acquire(&mut self, claim: Claim, now_ms: u64) -> Acquired {
        if let Some(held) = self.held.get_mut(&claim.thread) {
            let standing = held.standing(now_ms);
            if standing == Standing::Ahead {
                held.renewed_ms = now_ms;
            }
            if standing != Standing::Over {
                return Acquired::Held(held.clone());
            }
        }
        self.last += 1;
        let lease = LeaseRecord::of(claim, self.last, now_ms);
        self.held.insert(lease.thread.clone(), lease.clone());
        Acquired::Now(lease)
    }

    pub(super) fn renew(&mut self, lease: &LeaseRecord, now_ms: u64) -> Result<LeaseRecord, StoreError> {
        self.check(lease)?;
        let renewed = LeaseRecord { renewed_ms: now_ms, ..lease.clone() };
        self.held.insert(renewed.thread.clone(), renewed.clone());
        Ok(renewed)
    }

    pub(super) fn release(&mut self, lease: &LeaseRecord) -> Result<(), StoreError> {
        self.check(lease)?;
        self.take(&lease.thread);
        Ok(())
    }

    pub(super) fn take(&mut self, thread: &ThreadId) -> Option<LeaseRecord> {
        self.held.remove(thread)
    }

    /// Refuses whoever has lost its lease.
    pub(super) fn check(&self, lease: &LeaseRecord) -> Result<(), StoreError> {
        match self.held.get(&lease.thread) {
            Some(held) if held.fence == lease.fence => Ok(()),
            other => Err(StoreError::LeaseLost {
                thread: lease.thread.clone(),
                to: other.map(|held| held.holder.clone()),
            }),
        }
    }

    pub(super) fn all(&self) -> Vec<LeaseRecord> {
        let mut all: Vec<LeaseRecord> = self.held.values().cloned().collect();
        all.sort_by(|a, b| a.thread.cmp(&b.thread));
        all
    }
}
