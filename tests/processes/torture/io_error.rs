//! An error of each system call of the storage: once, after which the same saver must continue, and permanently, after
//! which another program must continue.

use std::fs;
use std::path::Path;

use crate::torture::check::{Bad, Life};
use crate::torture::child::Started;
use crate::torture::dice::{Replay, times};
use crate::torture::made;
use crate::torture::order::{Committer, Guard, OnFailure, Order, Workload};
use crate::torture::said::Line;
use crate::torture::side_by_side::side_by_side;
use crate::torture::strace::{self, Disturbance, When};

const ERRORS: [(&str, &str); 6] = [
    ("pwrite64", "EIO"),
    ("pwrite64", "ENOSPC"),
    ("pread64", "EIO"),
    ("fsync", "EIO"),
    ("fdatasync", "EIO"),
    ("ftruncate", "EIO"),
];

/// The minimum number of calls; fewer would mean that some are not traced.
const POINTS: u32 = 480;

/// The gate disturbs every third call, with a different first call for each workload; a night run disturbs all.
fn stride() -> u32 {
    if times(1) > 1 { 1 } else { 3 }
}

/// The duration of a disturbance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lasts {
    Once,
    Forever,
}

/// The results of the points of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct Came {
    points: u32,
    /// Points at which an error reached the caller. The others were harmless.
    surfaced: u32,
}

struct Kind {
    workload: Workload,
    call: &'static str,
    error: &'static str,
    lasts: Lasts,
    guard: Guard,
}

impl Kind {
    /// Disturbs one call after the other, until the program makes no more.
    fn at_each(&self, begin: Option<&[u8]>, folder: &Path) -> Result<Came, (Bad, String)> {
        let Self { workload, call, error, lasts, guard } = *self;
        let name = format!("{workload:?}-{call}-{error}-{lasts:?}");
        let (db, log) = (folder.join(format!("{name}.db")), folder.join(format!("{name}.log")));
        // Every OS thread counts its own calls, so one error may occur more than once.
        let on_failure = if lasts == Lasts::Once { OnFailure::Again(4) } else { OnFailure::End };
        let committer = Committer::Writer;
        let order = Order { turns: 1, committer, on_failure, guard, ..Order::new(workload, &db) };
        let first = Life::new(order);
        let mut came = Came::default();
        for nth in (1 + self.workload as u32 % stride()..).step_by(stride() as usize) {
            made::remove(&db);
            if let Some(begin) = begin {
                fs::write(&db, begin).expect("it can be written");
            }
            let when = if lasts == Lasts::Once { When::Only(nth) } else { When::From(nth) };
            let mut life = Life::with_end(first.order.clone(), first.end().clone());
            let command = strace::disturb(&life.order, call, when, Disturbance::Error(error), &log);
            let ended = Started::new(command).end();
            // Its libraries were not loaded.
            if ended.status.code() == Some(127) {
                continue;
            }
            let failed = ended.said.iter().any(|line| matches!(line, Line::Failed { .. }));
            let point = || format!("{error} of {call} number {nth}, {lasts:?}\n{}", first.replay());
            let mut checked = life.check(&ended.said).map(drop);
            // An error that was not reported was harmless. A single error does not last.
            if !failed || lasts == Lasts::Once && ended.said.contains(&Line::Opened) {
                checked = checked.and_then(|()| life.check_ends(&ended.said));
            }
            checked.and_then(|()| life.resume().map(drop)).map_err(|bad| (bad, point()))?;
            assert!(ended.status.code().is_some_and(|code| code <= 1), "{:?} {}", ended.status, point());
            if !strace::was_disturbed(&log) {
                made::remove(&db);
                return Ok(came);
            }
            came.points += 1;
            came.surfaced += u32::from(failed);
        }
        unreachable!("a program makes a finite number of calls")
    }
}

fn fail_everywhere(workloads: &[Workload], guard: Guard) -> Result<Came, (Bad, String)> {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let opened = made::opened();
    let mut kinds = Vec::new();
    for workload in workloads {
        for (call, error) in ERRORS {
            let kind = |lasts| Kind { workload: *workload, call, error, lasts, guard };
            kinds.extend([kind(Lasts::Once), kind(Lasts::Forever)]);
        }
    }
    let came = side_by_side(kinds, |kind| {
        let begin = (kind.workload != Workload::Chain).then_some(&opened[..]);
        kind.at_each(begin, folder.path())
    });
    let sum = |sum: Came, came: Came| Came {
        points: sum.points + came.points,
        surfaced: sum.surfaced + came.surfaced,
    };
    came.into_iter().try_fold(Came::default(), |all, came| Ok(sum(all, came?)))
}

#[test]
fn an_error_of_any_call_is_reported_or_harmless() {
    let _replay = Replay("io_error::");
    if !strace::is_here() {
        return;
    }
    let came = fail_everywhere(&Workload::ALL, Guard::Whole);
    let came = came.unwrap_or_else(|(bad, point)| panic!("{bad}\n{point}"));
    println!("{} errors, {} of which reached the caller", came.points, came.surfaced);
    assert!(came.points >= POINTS, "only {} calls are traced", came.points);
    assert!(came.surfaced > came.points / 2, "most reach the caller: {came:?}");
}

#[test]
fn a_saver_that_swallows_errors_is_found_out() {
    let _replay = Replay("io_error::");
    if !strace::is_here() {
        return;
    }
    let swallowing = fail_everywhere(&[Workload::FanOut], Guard::SwallowsErrors);
    let (bad, _) = swallowing.expect_err("it acknowledges what is not there");
    assert!(matches!(bad, Bad::Lost(_)), "{bad}");
}
