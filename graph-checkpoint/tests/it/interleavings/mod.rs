//! Many interleavings of callers that queue jobs for the writer, run them themselves, or wait for their results.
//!
//! [Shuttle] runs each test [`SCHEDULES`] times, each time with another random order in which its threads acquire
//! locks, and reports deadlocks. A failure prints its schedule, which `shuttle::replay` runs again.
//!
//! The source of the queue is that of the crate, compiled again: it imports its primitives from the module `sync`,
//! which has shuttle's here. So no flag is needed, and nothing else is compiled twice.
//!
//! [Shuttle]: https://docs.rs/shuttle

#[path = "../../../src/sqlite/write/job_queue.rs"]
mod job_queue;
mod office;
mod sync;

use std::panic::{AssertUnwindSafe, catch_unwind};

use job_queue::JobQueue;
use office::{Line, Office};

/// The number of schedules in the gate; `SUPERSTEP_TORTURE` multiplies it.
const SCHEDULES: usize = 10_000;

fn schedules() -> usize {
    let asked = std::env::var("SUPERSTEP_TORTURE").ok();
    let times: usize = asked.map_or(1, |times| times.parse().expect("SUPERSTEP_TORTURE is a number"));
    SCHEDULES * times.max(1)
}

/// Returns `true` if some schedule of a simulated day fails.
fn fails<L: Line>() -> bool {
    catch_unwind(AssertUnwindSafe(|| shuttle::check_random(Office::<L>::day, SCHEDULES))).is_err()
}

#[test]
fn every_job_is_done_once_and_every_caller_is_notified() {
    shuttle::check_random(Office::<JobQueue<office::Job>>::day, schedules());
}

#[test]
fn a_queue_that_notifies_before_it_takes_a_job_leaves_a_caller_waiting() {
    assert!(fails::<office::NotifiesFirst>());
}

#[test]
fn a_cancelled_caller_that_wakes_no_other_leaves_one_waiting() {
    assert!(fails::<office::WakesNoOther>());
}

#[test]
fn a_job_that_is_put_back_behind_newer_ones_is_noticed() {
    assert!(fails::<office::PutsBackLast>());
}
