//! The Postgres saver, on a server that the tests start. Where Postgres is not installed, the tests say so and pass, unless
//! `SUPERSTEP_NEEDS_POSTGRES` is set.

mod cluster;
mod conformance;
mod cuts;
mod damage;
mod encrypted;
mod errors;
mod full;
mod lost_answers;
mod pooler;
mod proxy;
mod prune;
mod reader;
mod round_trips;
mod server;
mod store;
mod tls;

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(test);
}
