//! What every saver must do for random histories, run against all savers. What it must do one by one is the suite
//! `superstep_checkpoint::conformance`.
#![expect(clippy::unwrap_used, reason = "a test may fail at any line")]

mod deletion;
mod folding;
#[expect(dead_code, reason = "shared with the tests of the SQLite saver")]
mod material;
