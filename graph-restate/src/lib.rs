//! Graphs as services of [Restate](https://restate.dev): it starts runs, repeats them after failures, spreads wide
//! supersteps over processes, and queues the runs of a thread. The store of the graphs decides what has happened.
//!
//! ```text
//! Restate ──► endpoint ──► thread: run, answer, cancel ··► (Restate) ··► work: slices of a run, one task
//!                                                                             │
//!                                                                             ▼
//!                                                              Thread::resume, Thread::run_task
//! ```
//!
//! - `endpoint` accepts the connections of Restate; `command_line` starts it, and `register` announces it.
//! - `service` names the handlers and calls them.
//! - `thread` has the handlers of a thread, an object by the thread's name: they only call `work`.
//! - `work` drives a run in slices, each of which is one journal entry; a slice that is repeated resumes the thread.
//! - `outcome` decides which errors Restate repeats.
#![forbid(unsafe_code)]

mod command_line;
mod endpoint;
mod outcome;
mod register;
mod service;
mod thread;
mod work;

pub use command_line::Options;
pub use endpoint::{Endpoint, EndpointError, Listening, restate};
pub use register::RegisterError;
