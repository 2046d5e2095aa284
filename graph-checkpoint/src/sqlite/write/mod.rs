//! Writes to a file: one thread writes groups of requests, and each commit is a compare-and-swap.
//!
//! `queue`, `job_queue` and `commit_timing` lead to the `writer`, in whose transactions each request has its `turn`.
//! `session` contains the results of open supersteps, and `deferred_errors` those for the next caller. `cache` is the
//! writer's cache of threads, and `growth` tracks the sizes of their states. A `commit` moves a head and `insert`s a
//! row, `delete` removes a thread with all data that no other thread needs, and `lease` stores which program holds a
//! thread.

pub(crate) mod answers;
pub(crate) mod cache;
pub(crate) mod commit;
pub(crate) mod commit_timing;
pub(crate) mod deferred_errors;
pub(crate) mod delete;
pub(crate) mod growth;
pub(crate) mod insert;
pub(crate) mod job_queue;
pub(crate) mod lease;
pub(crate) mod lost;
pub(crate) mod queue;
pub(crate) mod session;
pub(crate) mod sync;
pub(crate) mod turn;
pub(crate) mod writer;
