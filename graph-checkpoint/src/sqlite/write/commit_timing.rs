//! Decides if a caller should write its own commit.
//!
//! Handing a commit to the writer thread and receiving the reply wakes a thread twice, which takes about 30 µs. A run
//! that is alone and whose disk syncs in less than [`QUICK`] loses less time with a sync on its own thread than with
//! the hand-off, and may block a runtime's thread for that long. As soon as two threads take turns, their commits go to
//! the writer, which syncs once for all commits that arrive together.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use superstep_core::id::ThreadId;

/// The average duration of recent writes below which a caller writes its own commit.
const QUICK: Duration = Duration::from_micros(200);

/// The weight of a write in the average, as a divisor: after a slow write, about ten commits go to the writer.
const WEIGHT: u32 = 8;

/// The thread that committed last, and the average duration of writes.
#[derive(Default)]
pub(crate) struct CommitTiming {
    recent: Mutex<Recent>,
}

#[derive(Default)]
struct Recent {
    committed: Option<ThreadId>,
    average: Option<Duration>,
}

impl CommitTiming {
    /// Records that `thread` is about to commit; returns `true` if it should write the commit itself.
    pub(crate) fn is_quick_and_alone(&self, thread: &ThreadId) -> bool {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let alone = recent.committed.as_ref() == Some(thread);
        if !alone {
            recent.committed = Some(thread.clone());
        }
        alone && recent.average.is_some_and(|average| average < QUICK)
    }

    /// Records the duration of a write, including its sync.
    pub(crate) fn took(&self, time: Duration) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let average = recent.average.get_or_insert(time);
        *average = (*average * (WEIGHT - 1) + time) / WEIGHT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quick() -> CommitTiming {
        let timing = CommitTiming::default();
        timing.took(Duration::from_micros(90));
        timing
    }

    #[test]
    fn a_thread_writes_for_itself_from_its_second_commit_on() {
        let (timing, one) = (quick(), ThreadId::from("one"));
        let commits: Vec<bool> = (0..3).map(|_| timing.is_quick_and_alone(&one)).collect();
        assert_eq!(commits, [false, true, true]);
    }

    #[test]
    fn threads_that_take_turns_leave_it_to_the_writer() {
        let timing = quick();
        let turns = ["one", "two"].iter().cycle().take(20);
        assert!(turns.map(|name| ThreadId::from(*name)).all(|thread| !timing.is_quick_and_alone(&thread)));
    }

    #[test]
    fn an_unknown_or_a_slow_disk_is_the_writers() {
        let one = ThreadId::from("one");
        let unknown = CommitTiming::default();
        unknown.is_quick_and_alone(&one);
        assert!(!unknown.is_quick_and_alone(&one));
        let slow = CommitTiming::default();
        slow.took(Duration::from_millis(4));
        slow.is_quick_and_alone(&one);
        assert!(!slow.is_quick_and_alone(&one));
    }

    #[test]
    fn a_hiccup_is_forgotten() {
        let (timing, one) = (quick(), ThreadId::from("one"));
        timing.is_quick_and_alone(&one);
        timing.took(Duration::from_millis(3));
        assert!(!timing.is_quick_and_alone(&one));
        (0..16).for_each(|_| timing.took(Duration::from_micros(90)));
        assert!(timing.is_quick_and_alone(&one));
    }
}
