//! The mock server: what it takes, what it says, how fast, and what it tells of it.

mod admission;
mod anthropic_options;
mod anthropic_requests;
mod chat_requests;
mod client;
mod delivery;
mod memory;
mod pacing;
mod quirks;
mod replies;
mod requests;
mod responses_requests;
mod streams;
