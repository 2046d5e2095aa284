//! The leases of the in-memory saver.

use alloc::vec::Vec;

use foldhash::HashMap;

use crate::checkpoint::StoreError;
use crate::checkpoint::lease::{Claim, LeaseRecord, LeaseReply, LeaseRequest, Standing};
use crate::id::ThreadId;

#[derive(Default)]
pub(super) struct Leases {
    held: HashMap<ThreadId, LeaseRecord>,
    last: u64,
}

impl Leases {
    pub(super) fn answer(&mut self, request: LeaseRequest, now_ms: u64) -> Result<LeaseReply, StoreError> {
        Ok(match request {
            LeaseRequest::Acquire(claim) => self.acquire(claim, now_ms),
            LeaseRequest::Renew(lease) => LeaseReply::Held(self.renew(lease, now_ms)?),
            LeaseRequest::RenewAll(leases) => {
                LeaseReply::Renewed(leases.into_iter().map(|lease| self.renew(lease, now_ms).ok()).collect())
            }
            LeaseRequest::Release(lease) => {
                self.check(&lease)?;
                self.held.remove(&lease.thread);
                LeaseReply::Free(None)
            }
            LeaseRequest::Break(thread) => LeaseReply::Free(self.held.remove(&thread)),
        })
    }

    fn acquire(&mut self, claim: Claim, now_ms: u64) -> LeaseReply {
        if let Some(held) = self.held.get_mut(&claim.thread) {
            let standing = held.standing(now_ms);
            if standing == Standing::Ahead {
                held.renewed_ms = now_ms;
            }
            if standing != Standing::Over {
                return LeaseReply::HeldByAnother(held.clone());
            }
        }
        self.last += 1;
        let lease = LeaseRecord::of(claim, self.last, now_ms);
        self.held.insert(lease.thread.clone(), lease.clone());
        LeaseReply::Held(lease)
    }

    fn renew(&mut self, lease: LeaseRecord, now_ms: u64) -> Result<LeaseRecord, StoreError> {
        self.check(&lease)?;
        let renewed = LeaseRecord { renewed_ms: now_ms, ..lease };
        self.held.insert(renewed.thread.clone(), renewed.clone());
        Ok(renewed)
    }

    /// Drops the lease of a deleted thread.
    pub(super) fn forget(&mut self, thread: &ThreadId) {
        self.held.remove(thread);
    }

    /// Returns an error if the lease was lost.
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
