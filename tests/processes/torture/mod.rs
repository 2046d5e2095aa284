//! The promises of a checkpoint file, tortured from outside the process: what was acknowledged is there, history has
//! one line, nothing recorded runs again, and every thread ends as if nothing had happened.
//!
//! One program is tortured, with five [workloads](workloads): it is this test itself, started again with an
//! [order](order) in its environment. It says on its standard output what was committed and what its tasks did. The
//! [checker](check) compares that with the file, and is the same for every kind of torture:
//!
//! | module | what happens |
//! |---|---|
//! | [`kill_random`] | `kill -9` at random moments |
//! | [`kill_syscall`] | `kill -9` before each call that the storage makes |
//! | [`kill_migration`] | the same while a file of an earlier format is brought to today's |
//! | [`io_error`] | an error of each call that the storage makes, once and from then on |
//! | [`images`] | the power goes: thousands of images of what a disk may have then |
//! | [`disk_full`] | the disk is full, at each of many sizes, and later it is not |
//! | [`power_cut`] | the power goes: a file system is shut down under the program; only root may |
//! | [`damage`] | bits, bytes, sectors and pages of a file are damaged |
//!
//! Every module also tortures a mutant, in which a guard is gone, and expects the checker to find it out.
//!
//! `SUPERSTEP_TORTURE` multiplies how much is done: unset it is what the gate does, 20 is a night's. A failure prints
//! the order and the seed. `SUPERSTEP_TORTURE_SEED` is another seed than the usual one.
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

/// The program: it does what its environment orders. Without an order there is nothing to do.
#[test]
fn the_program() {
    if let Some(order) = order::Order::of_environment() {
        drive::obey(&order);
    }
}
