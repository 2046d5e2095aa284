//! Rules that select the checkpoints to keep.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use superstep_core::id::ThreadId;

/// A selection of checkpoints to keep: those that any of its rules selects. The latest checkpoint of each thread, named
/// checkpoints, and checkpoints at which a branch begins are always kept.
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
    /// Creates a retention that keeps everything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps the newest `count` checkpoints of each branch.
    #[must_use]
    pub fn keep_last(mut self, count: usize) -> Self {
        self.last = Some(count);
        self
    }

    /// Keeps checkpoints that were created at this time or later, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn keep_since(mut self, ms: u64) -> Self {
        self.since_ms = Some(ms);
        self
    }

    /// Keeps checkpoints that are no older than `age` when the rule is applied.
    #[must_use]
    pub fn keep_for(mut self, age: Duration) -> Self {
        self.age = Some(age);
        self
    }

    /// Prunes only checkpoints of this thread and of its subgraphs. After several calls, only those of any of these
    /// threads.
    #[must_use]
    pub fn only(mut self, thread: ThreadId) -> Self {
        self.threads.push(thread);
        self
    }

    pub(crate) fn keeps_all(&self) -> bool {
        self.last.is_none() && self.since_ms.is_none() && self.age.is_none()
    }

    /// Returns the number of newest checkpoints of a branch to keep.
    pub(crate) fn last(&self) -> usize {
        if self.keeps_all() { usize::MAX } else { self.last.unwrap_or(0) }
    }

    /// Returns the time in milliseconds from which on checkpoints are kept; `None` if their time does not matter.
    pub(crate) fn since_ms(&self, now_ms: u64) -> Option<u64> {
        let young =
            self.age.map(|age| now_ms.saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX)));
        self.since_ms.into_iter().chain(young).min()
    }

    fn may_take_from(&self, thread: &ThreadId) -> bool {
        let is_meant = || self.threads.iter().any(|only| thread.is_on_or_below(only));
        !self.keeps_all() && (self.threads.is_empty() || is_meant())
    }
}

/// The retention of each thread.
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
    /// Sets the retention of the threads that have none of their own.
    pub(crate) fn set_all(&mut self, retention: Retention) {
        self.all = retention;
    }

    /// Sets the retention of one thread.
    pub(crate) fn set(&mut self, thread: ThreadId, retention: Retention) {
        self.of.insert(thread, retention);
    }

    pub(crate) fn keeps_all(&self) -> bool {
        self.all.keeps_all() && self.of.values().all(Retention::keeps_all)
    }

    /// Returns `true` if some threads have retentions of their own.
    pub(crate) fn is_mixed(&self) -> bool {
        !self.of.is_empty()
    }

    /// Returns the retention of a thread; for the thread of a subgraph, the retention of its root.
    pub(crate) fn rule(&self, thread: &ThreadId) -> &Retention {
        let mut root = thread.clone();
        while let Some(above) = root.above() {
            root = above;
        }
        self.of.get(&root).unwrap_or(&self.all)
    }

    pub(crate) fn may_take_from(&self, thread: &ThreadId) -> bool {
        self.rule(thread).may_take_from(thread)
    }
}

/// Returns the current time in milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> u64 {
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
