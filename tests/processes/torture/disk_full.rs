//! A full disk: at each of many sizes the program gets an error, nothing is lost, and it continues when there is space
//! again.

use std::io::Write;
use std::process::Command;

use crate::torture::check::{Bad, Life};
use crate::torture::child::Started;
use crate::torture::dice::Replay;
use crate::torture::made;
use crate::torture::order::{Guard, OnFailure, Order, Workload};
use crate::torture::said::Line;
use crate::torture::side_by_side::side_by_side;

/// The minimum number of sizes.
const SIZES: u32 = 54;
/// The difference between sizes, in blocks of 512 bytes, so that pages are torn.
const STEP: u64 = 27;
/// Far more than a program needs.
const PLENTY: u64 = 1 << 14;

/// The way in which space is limited.
#[derive(Clone, Copy, Debug)]
enum Short {
    /// No file may grow beyond the size, as with `ulimit -f`.
    Files,
    /// All files together may not, on a separate disk in memory.
    Disk,
}

impl Short {
    /// Starts the program with limited space.
    fn start(self, order: &Order, blocks: u64) -> Started {
        match self {
            Self::Files => {
                // If the signal is ignored, which would end the process, the calls fail.
                let limited = format!("trap '' XFSZ; ulimit -S -f {blocks}; exec \"$@\"");
                Started::new(order.command_by("sh", &["-c", &limited, "sh"]))
            }
            Self::Disk => {
                self.mount(order, "size", blocks);
                Started::new(order.command())
            }
        }
    }

    /// Removes the limit.
    fn end(self, order: &Order, program: &Started) {
        match self {
            Self::Files => {
                let process = program.child.id().to_string();
                let raised = Command::new("prlimit").args(["--pid", &process, "--fsize=unlimited:"]).status();
                assert!(raised.expect("prlimit is there").success());
            }
            Self::Disk => self.mount(order, "remount,size", PLENTY),
        }
    }

    fn mount(self, order: &Order, option: &str, blocks: u64) {
        let folder = order.db.parent().expect("the file is in a folder");
        let option = format!("{option}={}", blocks * 512);
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &option, "tmpfs"]).arg(folder).status();
        assert!(mounted.expect("mount is there").success(), "only root may mount");
    }

    fn unmount(self, order: &Order) {
        if matches!(self, Self::Disk) {
            let folder = order.db.parent().expect("the file is in a folder");
            // Processes that another OS thread is starting may have it open for a moment.
            let unmounted = Command::new("umount").arg("--lazy").arg(folder).status();
            assert!(unmounted.expect("umount is there").success());
        }
    }
}

/// Gives a workload more and more space until it has enough. Returns the number of sizes that were too small.
fn fill(short: Short, workload: Workload, guard: Guard) -> Result<u32, (Bad, String)> {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let order =
        Order { on_failure: OnFailure::Wait, guard, ..Order::new(workload, folder.path().join("t.db")) };
    let first = Life::new(order);
    for size in 0.. {
        let blocks = 1 + u64::from(size) * STEP;
        let mut life = Life::with_end(first.order.clone(), first.end().clone());
        let program = short.start(&life.order, blocks);
        let filled = go_on(short, program, &mut life);
        short.unmount(&life.order);
        let at = || format!("with {blocks} blocks of 512 bytes\n{}", first.replay());
        if filled.map_err(|bad| (bad, at()))? == Filled::Never {
            return Ok(size);
        }
        made::remove(&life.order.db);
    }
    unreachable!("a program needs a finite amount of space")
}

/// The result of a limit: the space was used up once, or never.
#[derive(Debug, PartialEq, Eq)]
enum Filled {
    Once,
    Never,
}

/// Waits until the space is used up, checks the file, gives more space, and checks that the program finishes.
fn go_on(short: Short, mut program: Started, life: &mut Life) -> Result<Filled, Bad> {
    let mut filled = Filled::Never;
    let mut said = Vec::new();
    while let Some(line) = program.listen() {
        said.push(line.clone());
        if said.last() == Some(&Line::Waits) {
            filled = Filled::Once;
            life.check(&said)?;
            said.clear();
            short.end(&life.order, &program);
            let mut input = program.child.stdin.take().expect("its input is a pipe");
            input.write_all(b"\n").expect("it waits for this");
        }
    }
    let ended = program.end();
    assert!(ended.status.code().is_some_and(|code| code <= 1), "{:?}", ended.status);
    life.check(&said)?;
    life.check_ends(&said)?;
    life.resume()?;
    Ok(filled)
}

fn fill_all(short: Short) {
    let sizes = side_by_side(Workload::ALL.to_vec(), |workload| {
        fill(short, workload, Guard::Whole)
            .unwrap_or_else(|(bad, at)| panic!("{short:?} are short: {bad}\n{at}"))
    });
    let sizes: u32 = sizes.into_iter().sum();
    println!("{short:?} are short: {sizes} sizes");
    assert!(sizes >= SIZES, "only {sizes} sizes");
}

#[test]
fn a_program_continues_when_its_files_may_grow_again() {
    let _replay = Replay("disk_full::");
    fill_all(Short::Files);
}

#[test]
#[ignore = "only root may mount; `just disk-full`"]
fn a_program_continues_when_its_disk_has_space_again() {
    let _replay = Replay("disk_full::");
    fill_all(Short::Disk);
}

#[test]
fn a_saver_that_swallows_errors_is_found_out() {
    let _replay = Replay("disk_full::");
    let (bad, _) = fill(Short::Files, Workload::Chain, Guard::SwallowsErrors)
        .expect_err("it acknowledges what is not there");
    assert!(matches!(bad, Bad::Lost(_)), "{bad}");
}

/// SQLite's own limit, which fails a transaction before anything of it is written; another program continues without
/// it.
#[test]
fn a_program_continues_where_another_ran_out_of_pages() {
    let _replay = Replay("disk_full::");
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let mut sizes = 0;
    for workload in Workload::ALL {
        let first = Life::new(Order { turns: 12, ..Order::new(workload, folder.path().join("t.db")) });
        for pages in (30..).step_by(2) {
            let order = Order { max_pages: Some(pages), ..first.order.clone() };
            let limited = Started::new(order.command()).end();
            let mut life = Life::with_end(first.order.clone(), first.end().clone());
            let checked = life.check(&limited.said).map(drop).and_then(|()| life.resume().map(drop));
            checked.unwrap_or_else(|bad| panic!("{bad}\nwith {pages} pages: {order}"));
            made::remove(&order.db);
            if limited.status.success() {
                break;
            }
            sizes += 1;
        }
    }
    println!("{sizes} numbers of pages");
    assert!(sizes >= 2 * Workload::ALL.len(), "only {sizes} sizes are too small");
}
