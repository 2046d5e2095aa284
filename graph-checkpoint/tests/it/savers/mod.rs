//! What every saver must do for random histories and with leases, run against all savers. What it must do one by one is the suite
//! `superstep_conformance`.
#![expect(clippy::unwrap_used, reason = "a test may fail at any line")]

mod deletion;
mod folding;
mod leases;
