//! Leases: the claim of one run to a thread. The store rejects writes of a run that has lost its lease.
//!
//! ```text
//! acquire 7 ── renew ── renew ── release             a run: its writes carry fence 7
//! acquire 8 ── renew ──✗ stopped for too long
//!                         acquire 9 ── renew ── …    took the thread over
//!                                ✗ a write with fence 8: refused
//! ```
//!
//! All times come from the store's clock, so clocks of different machines are never compared. No clock keeps a lost
//! holder from writing; the fence does: its number only grows, and a store rejects every write with a fence that is
//! no longer current.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use crate::id::ThreadId;

/// A run's claim to a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The thread to be run.
    pub thread: ThreadId,
    /// The name of the holder, for people.
    pub holder: String,
    /// The time without a renewal after which another run may take over the thread.
    pub ttl: Duration,
}

/// A stored lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRecord {
    /// The thread, including the threads of its subgraphs.
    pub thread: ThreadId,
    /// The number that distinguishes the lease from all earlier and later leases of the store. It only grows.
    pub fence: u64,
    /// The name of the holder, for people.
    pub holder: String,
    /// The time after the last renewal at which the lease expires, in milliseconds.
    pub ttl_ms: u64,
    /// The time of the acquisition or the last renewal, in milliseconds since 1970 by the store's clock.
    pub renewed_ms: u64,
}

/// The state of a lease at a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The lease is valid.
    Held,
    /// The lease has expired. Any claimant can acquire the thread.
    Over,
    /// The lease was renewed later than now, because the clock was set back. It counts from now, so that a holder
    /// that is gone keeps the thread for one more [`ttl_ms`](LeaseRecord::ttl_ms), and not until the clock has
    /// caught up.
    Ahead,
}

impl LeaseRecord {
    /// Creates the lease for a claim.
    #[must_use]
    pub fn of(claim: Claim, fence: u64, now_ms: u64) -> Self {
        let ttl_ms = u64::try_from(claim.ttl.as_millis()).unwrap_or(u64::MAX);
        Self { thread: claim.thread, fence, holder: claim.holder, ttl_ms, renewed_ms: now_ms }
    }

    /// Returns the time at which the lease expires unless it is renewed, in milliseconds since 1970 by the store's
    /// clock.
    #[must_use]
    pub fn until_ms(&self) -> u64 {
        self.renewed_ms.saturating_add(self.ttl_ms)
    }

    /// Returns the state of the lease at this time of the store's clock.
    #[must_use]
    pub fn standing(&self, now_ms: u64) -> Standing {
        match now_ms {
            _ if now_ms < self.renewed_ms => Standing::Ahead,
            _ if now_ms < self.until_ms() => Standing::Held,
            _ => Standing::Over,
        }
    }
}

/// A request about the lease of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseRequest {
    /// Gives the thread to the claimant, unless another holder has a lease on it that has not expired by the
    /// store's clock. The thread need not exist. The answer is [`Held`](LeaseReply::Held) or
    /// [`HeldByAnother`](LeaseReply::HeldByAnother).
    Acquire(Claim),
    /// Renews a lease from now on, even if it has expired, as long as no other run has taken it over. The answer is
    /// [`Held`](LeaseReply::Held), or [`StoreError::LeaseLost`](super::StoreError::LeaseLost) if the thread was
    /// taken over, or the lease was broken.
    Renew(LeaseRecord),
    /// Renews several leases as [`Renew`](Self::Renew) does, at once where the store can. No thread is named twice. The answer
    /// is [`Renewed`](LeaseReply::Renewed).
    RenewAll(Vec<LeaseRecord>),
    /// Releases a lease. The answer is [`Free`](LeaseReply::Free), or
    /// [`StoreError::LeaseLost`](super::StoreError::LeaseLost) if it was lost before.
    Release(LeaseRecord),
    /// Takes the lease of a thread away from its holder, whose later writes are rejected. The answer is
    /// [`Free`](LeaseReply::Free) with the broken lease.
    Break(ThreadId),
}

/// The answer to a [`LeaseRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseReply {
    /// The caller holds the thread with this lease.
    Held(LeaseRecord),
    /// Another holder has the thread.
    HeldByAnother(LeaseRecord),
    /// The thread has no holder; this lease was broken.
    Free(Option<LeaseRecord>),
    /// The leases after their renewal, in the order of the request; `None` for a lost one.
    Renewed(Vec<Option<LeaseRecord>>),
}

/// The result of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// The claimant has the thread.
    Now(LeaseRecord),
    /// Another holder has the thread.
    Held(LeaseRecord),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_stands_from_its_renewal_for_as_long_as_it_says() {
        let claim = Claim { thread: "t".into(), holder: "a".into(), ttl: Duration::from_millis(30) };
        let lease = LeaseRecord::of(claim, 1, 100);
        assert_eq!(lease.until_ms(), 130);
        let standing = [99, 100, 129, 130].map(|now| lease.standing(now));
        assert_eq!(standing, [Standing::Ahead, Standing::Held, Standing::Held, Standing::Over]);
    }
}
