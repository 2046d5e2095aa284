//! The snippets of the README and of `docs/`, as programs that run.
//!
//! A page shows parts of the file here that is named after it; `tests/repository/house_rules.rs` checks that every Rust
//! block of a page is such a part.

#![expect(clippy::print_stdout, reason = "the README's program says what it does")]

mod agent_loop;
mod agentic_loop;
mod assistant;
mod checkpoints;
mod cli;
mod debugging;
mod dynamic_graphs;
mod effects_and_resume;
mod errors_and_retries;
mod events_and_tracing;
mod execution;
mod flows;
mod graphs;
mod interrupts;
mod knowledge;
mod long_conversations;
mod mcp;
mod metrics;
mod models;
#[path = "../../opening_hours/graph.rs"]
mod museum;
mod nodes_and_extractors;
mod permissions;
mod photo_critic;
mod postgres;
mod readme;
mod restate;
mod routing_and_fan_out;
mod secrets;
mod serving;
mod sessions;
mod several_machines;
mod several_processes;
mod state_and_reducers;
mod store;
mod story;
mod streaming;
mod sub_agents;
mod subgraphs;
mod supervisor;
mod testing;
mod time_travel;
mod tools;
mod tutorial;
mod verification;
mod writing_a_saver;

type Result = std::result::Result<(), Box<dyn std::error::Error>>;
