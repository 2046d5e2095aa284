//! `kill -9` before each system call of the storage, with one run of the program each.
//!
//! The first workload is also killed while it creates the file; the others begin with an existing file.

use std::fs;
use std::path::Path;

use crate::torture::check::{Bad, Life};
use crate::torture::child::Started;
use crate::torture::dice::Replay;
use crate::torture::made;
use crate::torture::order::{Committer, Order, Promise, Workload};
use crate::torture::side_by_side::side_by_side;
use crate::torture::strace::{self, Disturbance, When};

/// Every call that changes a file. SQLite makes them on the saver's OS thread, which counts its own calls.
pub(crate) const CALLS: [&str; 5] = ["pwrite64", "fsync", "fdatasync", "ftruncate", "unlink"];

/// The minimum number of calls; fewer would mean that some are not traced.
const POINTS: u32 = 245;

/// Kills one workload before each call of a kind until it makes no more. Returns the number of calls.
fn kill_at_each(
    workload: Workload,
    call: &str,
    promise: Promise,
    begin: Option<&[u8]>,
    folder: &Path,
) -> Result<u32, (Bad, String)> {
    let name = format!("{workload:?}-{call}");
    let (db, log) = (folder.join(format!("{name}.db")), folder.join(format!("{name}.log")));
    let order = Order { turns: 1, promise, committer: Committer::Writer, ..Order::new(workload, &db) };
    let first = Life::new(order);
    for nth in 1.. {
        made::remove(&db);
        if let Some(begin) = begin {
            fs::write(&db, begin).expect("it can be written");
        }
        let mut life = Life::with_end(first.order.clone(), first.end().clone());
        let command = strace::disturb(&life.order, call, When::Only(nth), Disturbance::Kill, &log);
        let ended = Started::new(command).end();
        let checked = life.check(&ended.said).map(drop).and_then(|()| life.resume().map(drop));
        let point = || format!("killed before {call} number {nth}\n{}", life.replay());
        checked.map_err(|bad| (bad, point()))?;
        if ended.status.success() {
            made::remove(&db);
            return Ok(nth - 1);
        }
        assert!(ended.was_killed(), "{:?} {}", ended.status, point());
    }
    unreachable!("a program makes a finite number of calls")
}

fn kill_everywhere(promise: Promise) -> Result<u32, (Bad, String)> {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let opened = made::opened();
    let jobs = Workload::ALL.iter().flat_map(|workload| CALLS.map(|call| (*workload, call))).collect();
    let counts = side_by_side(jobs, |(workload, call)| {
        let begin = (workload != Workload::Chain).then_some(&opened[..]);
        kill_at_each(workload, call, promise, begin, folder.path())
    });
    counts.into_iter().sum()
}

#[test]
fn a_kill_before_any_call_loses_nothing() {
    let _replay = Replay("kill_syscall::");
    if !strace::is_here() {
        return;
    }
    let points = kill_everywhere(Promise::Power).unwrap_or_else(|(bad, point)| panic!("{bad}\n{point}"));
    println!("killed before each of {points} calls");
    assert!(points >= POINTS, "only {points} calls are traced");
}

/// The mutant keeps everything in memory until it ends.
#[test]
fn a_saver_that_acknowledges_too_early_is_found_out() {
    let _replay = Replay("kill_syscall::");
    if !strace::is_here() {
        return;
    }
    let (bad, _) = kill_everywhere(Promise::Exit).expect_err("it loses what it has acknowledged");
    assert!(matches!(bad, Bad::Lost(_)), "{bad}");
}
