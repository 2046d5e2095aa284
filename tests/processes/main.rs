//! Several processes on one file. The workers are this test's own program, started again: see [`workers`].
//!
//! `SUPERSTEP_TORTURE=10` makes every part ten times as long as in the gate.

#![expect(clippy::print_stdout, reason = "the workers talk to the test, and the test says what it measured")]

mod careless;
mod fairness;
mod leases;
mod releases;
mod same_thread;
mod signatures;
mod torture;
mod workers;
