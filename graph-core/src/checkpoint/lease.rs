//! Leases: the claim of one run to a thread, and how a run that has lost it is kept out.
//!
//! ```text
//! acquire 7 ── renew ── renew ── release             a run: its writes carry fence 7
//! acquire 8 ── renew ──✗ stopped for too long
//!                         acquire 9 ── renew ── …    took the thread over
//!                                ✗ a write with fence 8: refused
//! ```
//!
//! Times are the store's, who reads one clock for all: clocks of different machines are never compared. No clock keeps a
//! lost holder out, the fence does: its number only grows, and a store refuses every write with one that does not stand any
//! more.

use alloc::string::String;
use core::time::Duration;

use crate::id::ThreadId;

/// A run's claim to a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The thread that it is about to run.
    pub thread: ThreadId,
    /// The name of the holder, for people.
    pub holder: String,
    /// The time without a renewal after which another run may take the thread over.
    pub ttl: Duration,
}

/// A lease as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRecord {
    /// The thread, with those of its subgraphs.
    pub thread: ThreadId,
    /// Tells it from all leases of the store that came before and that will come after: the number only grows.
    pub fence: u64,
    /// The name of the holder, for people.
    pub holder: String,
    /// The time after its last renewal at which it is over, in milliseconds.
    pub ttl_ms: u64,
    /// When it was acquired or renewed, in milliseconds since 1970 by the store's clock.
    pub renewed_ms: u64,
}

/// The state of a lease at a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its holder has the thread.
    Held,
    /// Any claimant gets the thread.
    Over,
    /// It was renewed later than now: the clock was set back. It counts from now, so that a holder that is gone keeps the
    /// thread for one more [`ttl_ms`](LeaseRecord::ttl_ms), and not until the clock has caught up.
    Ahead,
}

impl LeaseRecord {
    /// The lease that a claim gets.
    #[must_use]
    pub fn of(claim: Claim, fence: u64, now_ms: u64) -> Self {
        let ttl_ms = u64::try_from(claim.ttl.as_millis()).unwrap_or(u64::MAX);
        Self { thread: claim.thread, fence, holder: claim.holder, ttl_ms, renewed_ms: now_ms }
    }

    /// When it is over unless it is renewed, in milliseconds since 1970 by the store's clock.
    #[must_use]
    pub fn until_ms(&self) -> u64 {
        self.renewed_ms.saturating_add(self.ttl_ms)
    }

    /// Returns its state at this time of the store's clock.
    #[must_use]
    pub fn standing(&self, now_ms: u64) -> Standing {
        match now_ms {
            _ if now_ms < self.renewed_ms => Standing::Ahead,
            _ if now_ms < self.until_ms() => Standing::Held,
            _ => Standing::Over,
        }
    }
}

/// A request for, or about, the lease of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseRequest {
    /// Gives the thread to the claimant, unless another holder has a lease on it that is not over by the store's clock.
    /// The thread need not exist. The answer is [`Held`](LeaseReply::Held) or
    /// [`HeldByAnother`](LeaseReply::HeldByAnother).
    Acquire(Claim),
    /// Renews a lease from now on. A lease that is over and that no other run has taken over is renewed like any other.
    /// The answer is [`Held`](LeaseReply::Held); [`StoreError::LeaseLost`](super::StoreError::LeaseLost) when the
    /// thread was taken over, or the lease was broken.
    Renew(LeaseRecord),
    /// Gives a lease back. The answer is [`Free`](LeaseReply::Free);
    /// [`StoreError::LeaseLost`](super::StoreError::LeaseLost) when it was lost before.
    Release(LeaseRecord),
    /// Takes the lease of a thread away from its holder, whose later writes are rejected. The answer is
    /// [`Free`](LeaseReply::Free) with the lease that was broken.
    Break(ThreadId),
}

/// The answer to a [`LeaseRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseReply {
    /// The caller holds the thread, by this lease.
    Held(LeaseRecord),
    /// Another holder has the thread.
    HeldByAnother(LeaseRecord),
    /// The thread has no holder; this lease was broken.
    Free(Option<LeaseRecord>),
}

/// The result of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// The thread is the claimant's.
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
