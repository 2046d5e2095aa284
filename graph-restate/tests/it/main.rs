//! Runs of graphs through a real server of Restate, which `.ci/run restate` installs.

// The derive macros name the facade.
extern crate superstep_core as superstep;

mod client;
mod graphs;
mod runs;
mod server;
mod worker;
