//! Tests of all savers with random histories and with leases. The suite `superstep_conformance` tests single behaviours.
#![expect(clippy::unwrap_used, reason = "a test may fail at any line")]

mod deletion;
mod folding;
mod leases;
