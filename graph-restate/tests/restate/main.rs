//! Runs of graphs through a real server of Restate, which `.ci/run restate` installs.

// The derive macros name the facade.
extern crate superstep_core as superstep;

mod balancer;
#[path = "../../../server/tests/kills/checked.rs"]
mod checked;
mod client;
/// A server of Postgres.
#[path = "../../../graph-checkpoint/tests/it/postgres/cluster.rs"]
#[expect(dead_code, reason = "tests of the saver use more of it")]
mod cluster;
#[path = "../../../server/tests/kills/dice.rs"]
#[expect(dead_code, reason = "the tests of the server use more of it")]
mod dice;
mod failures;
mod graphs;
mod handed;
mod here;
mod kills;
mod network;
mod page;
mod partitions;
mod runs;
mod server;
mod texts;
mod worker;
