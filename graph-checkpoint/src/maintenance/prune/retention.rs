//! Rules that say which checkpoints stay.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use superstep_core::id::ThreadId;

/// Which checkpoints stay: those that any of its rules keeps. Whatever it says, the latest of each thread stay, those
/// that have a name, and those where a branch begins.
///
/// ```
/// use std::time::Duration;
/// use superstep_checkpoint::maintenance::Retention;
///
/// let day = Duration::from_secs(24 * 60 * 60);
/// let retention = Retention::new().keep_last(100).keep_for(30 * day);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    last: Option<usize>,
    since_ms: Option<u64>,
    age: Option<Duration>,
    threads: Vec<ThreadId>,
}

impl Retention {
    /// Everything stays.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The newest `count` checkpoints of each branch stay.
    #[must_use]
    pub fn keep_last(mut self, count: usize) -> Self {
        self.last = Some(count);
        self
    }

    /// Those stay that were made at this time or later, in milliseconds since 1970.
    #[must_use]
    pub fn keep_since(mut self, ms: u64) -> Self {
        self.since_ms = Some(ms);
        self
    }

    /// Those stay that are no older than `age` when the rule is applied.
    #[must_use]
    pub fn keep_for(mut self, age: Duration) -> Self {
        self.age = Some(age);
        self
    }

    /// Only what was written on this thread, and by its subgraphs, may go. Said several times, only what was written
    /// on one of these threads.
    #[must_use]
    pub fn only(mut self, thread: ThreadId) -> Self {
        self.threads.push(thread);
        self
    }

    pub(super) fn keeps_all(&self) -> bool {
        self.last.is_none() && self.since_ms.is_none() && self.age.is_none()
    }

    /// Returns the number of the newest checkpoints of a branch that stay.
    pub(super) fn last(&self) -> usize {
        if self.keeps_all() { usize::MAX } else { self.last.unwrap_or(0) }
    }

    /// The time from which on checkpoints stay; `None` where their time does not matter.
    pub(super) fn since_ms(&self, now_ms: u64) -> Option<u64> {
        let young =
            self.age.map(|age| now_ms.saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX)));
        self.since_ms.into_iter().chain(young).min()
    }

    fn may_take_from(&self, thread: &ThreadId) -> bool {
        let is_meant = || self.threads.iter().any(|only| thread.is_on_or_below(only));
        !self.keeps_all() && (self.threads.is_empty() || is_meant())
    }
}

/// Which checkpoints of which threads stay.
#[derive(Clone, Debug, Default)]
pub(crate) struct Policy {
    all: Retention,
    of: BTreeMap<ThreadId, Retention>,
}

impl From<Retention> for Policy {
    fn from(all: Retention) -> Self {
        Self { all, of: BTreeMap::new() }
    }
}

impl Policy {
    /// Says it of the threads of which nothing else is said.
    pub(crate) fn set_all(&mut self, retention: Retention) {
        self.all = retention;
    }

    /// Says it of one thread.
    pub(crate) fn set(&mut self, thread: ThreadId, retention: Retention) {
        self.of.insert(thread, retention);
    }

    pub(crate) fn keeps_all(&self) -> bool {
        self.all.keeps_all() && self.of.values().all(Retention::keeps_all)
    }

    /// Returns `true` if some threads have rules of their own.
    pub(super) fn is_mixed(&self) -> bool {
        !self.of.is_empty()
    }

    /// Returns the rule for a thread; for the thread of a subgraph, the rule for its root.
    pub(super) fn rule(&self, thread: &ThreadId) -> &Retention {
        let mut root = thread.clone();
        while let Some(above) = root.above() {
            root = above;
        }
        self.of.get(&root).unwrap_or(&self.all)
    }

    pub(super) fn may_take_from(&self, thread: &ThreadId) -> bool {
        self.rule(thread).may_take_from(thread)
    }
}

/// Milliseconds since 1970.
pub(super) fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_any_rule_keeps_stays() {
        let day = Duration::from_secs(24 * 60 * 60);
        assert_eq!(Retention::new().since_ms(9), None);
        assert_eq!(Retention::new().keep_for(Duration::from_millis(4)).since_ms(9), Some(5));
        assert_eq!(Retention::new().keep_for(Duration::from_millis(4)).keep_since(7).since_ms(9), Some(5));
        assert_eq!(Retention::new().keep_for(day).keep_since(7).since_ms(9), Some(0));
        assert_eq!((Retention::new().last(), Retention::new().keep_for(day).last()), (usize::MAX, 0));
    }

    #[test]
    fn a_thread_has_its_own_rule_and_its_subgraphs_that() {
        let mut policy = Policy::from(Retention::new().keep_last(1));
        policy.set("audit".into(), Retention::new());
        assert!(policy.may_take_from(&"t".into()) && !policy.keeps_all());
        for kept in ["audit", "audit\u{1f}0123", "audit\u{1f}deleted 7"] {
            assert!(!policy.may_take_from(&kept.into()), "{kept}");
        }
        assert!(policy.may_take_from(&"audit 2".into()));
        let only = Policy::from(Retention::new().keep_last(1).only("a".into()).only("b".into()));
        let may = ["a", "b\u{1f}1", "c"].map(|thread| only.may_take_from(&thread.into()));
        assert_eq!(may, [true, true, false]);
    }
}
