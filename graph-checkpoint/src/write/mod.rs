//! Writes to a file: one thread does so, in groups, and each commit is a compare-and-swap.
//!
//! `queue`, `waiting` and `pace` lead to the `writer`, in whose transactions each request has its `turn`; `session` has
//! the results of open supersteps, and `faults` are reported to the next caller. `live` is the writer's cache of threads,
//! and `growth` tracks how large they are. A `commit` moves a head and `put`s a row, `delete` takes out a thread with
//! everything that no other one needs, `lease` says which program holds a thread.

pub(crate) mod answers;
pub(crate) mod asking;
pub(crate) mod commit;
pub(crate) mod delete;
pub(crate) mod faults;
pub(crate) mod growth;
pub(crate) mod lease;
pub(crate) mod live;
pub(crate) mod lost;
pub(crate) mod pace;
pub(crate) mod put;
pub(crate) mod queue;
pub(crate) mod session;
pub(crate) mod sync;
pub(crate) mod turn;
pub(crate) mod waiting;
pub(crate) mod writer;
