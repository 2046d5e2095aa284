//! `superstep::testing`: tools for users' tests of graphs.
#![expect(clippy::unwrap_used, reason = "a test may fail at any line")]

mod ambient;
mod cassette;
mod node;
#[rustfmt::skip]
mod generated;
mod program;
mod trace;
mod turn;
