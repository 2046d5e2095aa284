//! The Postgres saver, on a server that the tests start. Where Postgres is not installed, the tests say so and pass, unless
//! `SUPERSTEP_NEEDS_POSTGRES` is set.

mod cluster;
mod conformance;
mod reader;
mod round_trips;
mod server;
