//! How runs behave: one family of behaviours a file, each test a sentence.
//!
//! No test sleeps or reads a clock: what takes time runs on tokio's paused clock.

mod blocking;
mod breakpoints;
mod cache;
mod cancellation;
mod concurrency;
mod deadlines;
mod defer;
mod deletion;
mod described;
mod drawing;
mod durability;
mod edit;
mod edit_as;
mod effect_policies;
mod effects;
mod error_handlers;
mod events;
mod failure;
mod fan_out;
mod fields;
mod flow;
mod history;
mod interrupts;
mod limits;
mod merging;
mod ordering;
mod past_events;
mod questions;
mod retrieval;
mod runtime_values;
mod secrets;
mod send;
mod spans;
mod state_change;
mod step_timeout;
mod store;
mod stored_form;
mod streaming;
mod subgraphs;
mod supersteps;
mod support;
mod thread_state;
mod threads;
mod timeouts;
