//! Behaviours of runs: one family of behaviours per file; the name of each test is a sentence.
//!
//! No test sleeps or reads a clock: tests that take time run on tokio's paused clock.

mod any_graph;
mod blocking;
mod breakpoints;
mod cache;
mod cancellation;
#[cfg(feature = "postgres")]
#[expect(dead_code, reason = "the tests of the Postgres saver use the rest")]
#[path = "../../graph-checkpoint/tests/it/postgres/cluster.rs"]
mod cluster;
mod concurrency;
mod configuration;
mod deadlines;
mod defer;
mod deletion;
mod described;
mod documentation;
mod drawing;
mod durability;
mod edit;
mod edit_as;
mod effect_policies;
mod effects;
mod error_handlers;
mod events;
mod exactly_once;
mod failure;
mod fan_out;
mod fields;
mod flow;
mod history;
mod interrupts;
mod leases;
mod limits;
mod lock;
mod merging;
mod on_change;
mod ordering;
mod past_events;
#[cfg(feature = "postgres")]
mod postgres;
mod questions;
mod replay;
mod retrieval;
mod rounds;
mod run_once;
mod run_task;
mod runtime_values;
mod s1_evaluator_loop;
mod secrets;
mod send;
mod shared_effects;
mod spans;
mod state_change;
mod state_version;
mod step_cost;
mod step_timeout;
mod store;
mod stored_form;
mod streaming;
mod subgraphs;
mod supersteps;
mod support;
mod testing;
mod thread_state;
mod threads;
mod timeouts;
mod trouble;
