//! The runtime: the data that the runs of a graph share, and their reports.
//!
//! ```text
//! shared     the Runtime: program, saver, observers, limits
//! outcome, error, event, stream     how runs end, and what is seen of them
//! ambient, lease, breakpoints, change     what a graph is given
//! thread_head, heads, current_state     the head that a run begins at, and what is kept of it in memory
//! field_map, questions, history, redact     how what is stored is read
//! ```

pub(crate) mod ambient;
pub(crate) mod breakpoints;
pub(crate) mod change;
pub(crate) mod current_state;
pub(crate) mod error;
pub(crate) mod event;
pub(crate) mod field_map;
pub(crate) mod heads;
pub(crate) mod history;
pub(crate) mod lease;
pub(crate) mod outcome;
pub(crate) mod questions;
pub(crate) mod redact;
pub(crate) mod shared;
pub(crate) mod stream;
pub(crate) mod thread_error;
pub(crate) mod thread_head;
