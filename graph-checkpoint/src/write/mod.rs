//! How a file is written to: by one thread, in groups, each commit by compare-and-swap.
//!
//! `queue`, `waiting` and `pace` lead to the `writer`, in whose transactions each request has its `turn`; `session` knows the
//! results of open supersteps, and `faults` are told to the next caller.
//! `live` is what it remembers of threads, `growth` how large they are. A `commit` moves a head and `put`s a row, `delete`
//! takes out what nobody needs, `lease` says who holds a thread.

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
