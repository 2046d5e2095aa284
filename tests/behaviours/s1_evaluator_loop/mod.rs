//! The evaluator graph: agent, tools, evaluator, ranker, decider.
//!
//! Tests that prove a requirement begin with its id; `tests/REQUIREMENTS.md` has them all.

#![cfg(feature = "nodes")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod conversation;
mod documents;
mod domain;
mod flow;
mod model_calls;
mod own_state;
mod persistence;
mod resume;
mod schemas;
mod support;
mod tracing;
