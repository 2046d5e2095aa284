//! Runs of graphs through a real server of Restate, which `.ci/run restate` installs.

// The derive macros name the facade.
extern crate superstep_core as superstep;

mod client;
/// A server of Postgres.
#[path = "../../../graph-checkpoint/tests/it/postgres/cluster.rs"]
#[expect(dead_code, reason = "tests of the saver use more of it")]
mod cluster;
mod failures;
mod graphs;
mod here;
mod page;
mod runs;
mod server;
mod texts;
mod worker;
