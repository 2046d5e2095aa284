//! Runs of graphs through a real server of Restate, which `.ci/run restate` installs.

// The derive macros name the facade.
extern crate superstep_core as superstep;

mod client;
mod failures;
mod graphs;
mod here;
mod runs;
mod server;
mod texts;
mod worker;
