//! The JSON shapes of the clients, as pure functions.
//!
//! A file has the requests of a resource, which it reads from bodies and queries, and the responses, which it makes
//! from rows and checkpoints.

pub(crate) mod assistant;
pub(crate) mod checkpoint;
mod content;
pub(crate) mod cron;
mod error;
pub(crate) mod graph;
pub(crate) mod ids;
pub(crate) mod members;
pub(crate) mod message;
pub(crate) mod order;
pub(crate) mod query;
pub(crate) mod request;
pub(crate) mod run;
pub(crate) mod select;
pub(crate) mod state;
pub(crate) mod state_request;
pub(crate) mod store;
pub(crate) mod thread;
pub(crate) mod time;
pub(crate) mod values;

pub(crate) use error::Failure;
