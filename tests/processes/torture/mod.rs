//! The guarantees of a checkpoint file, tested from outside the process: acknowledged steps are there, the history is
//! one line, no recorded work runs again, and every thread ends as in an undisturbed run.
//!
//! One program is tested, with five [workloads](workloads): it is this test itself, started again with an
//! [order](order) in its environment. It prints each commit and each action of its tasks. The [checker](check) compares
//! this with the file, and is the same for all kinds of failures:
//!
//! | module | failure |
//! |---|---|
//! | [`kill_random`] | `kill -9` at random moments |
//! | [`kill_syscall`] | `kill -9` before each system call of the storage |
//! | [`kill_migration`] | the same while a file of an earlier format is migrated |
//! | [`io_error`] | an error of each system call of the storage, once and permanently |
//! | [`images`] | power loss: thousands of images that a disk may have afterwards |
//! | [`disk_full`] | the disk is full, at each of many sizes, and later has space again |
//! | [`power_cut`] | power loss: a file system is shut down under the program; needs root |
//! | [`damage`] | bits, bytes, sectors and pages of a file are damaged |
//!
//! Every module also tests a mutant without a guard, which the checker must detect.
//!
//! `SUPERSTEP_TORTURE` multiplies the gate's counts; a night run uses 20. A failure prints the order and the seed.
//! `SUPERSTEP_TORTURE_SEED` sets another seed.
#![cfg(target_os = "linux")]
#![expect(clippy::print_stdout, reason = "a test says what it did")]

mod check;
mod child;
mod damage;
mod dice;
mod disk_full;
mod drive;
mod found_out;
mod images;
mod io_error;
mod kill_migration;
mod kill_random;
mod kill_syscall;
mod made;
mod order;
mod pages;
mod power_cut;
mod said;
mod side_by_side;
mod strace;
mod swallowing;
mod workloads;

/// The program: it executes the order in its environment, and does nothing without one.
#[test]
fn the_program() {
    if let Some(order) = order::Order::of_environment() {
        drive::obey(&order);
    }
}
