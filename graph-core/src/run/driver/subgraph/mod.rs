//! Subgraphs: compiled graphs as nodes of other graphs.
//!
//! ```text
//! parent's task ─ Lens::enter ─► thread below the parent's ─► the one loop ─► Lens::leave ─► parent's update
//!                                 (parent thread, task)         │ asks: bubble up, answers go down
//!                                                               └ events: into the parent's log, with a path
//! ```
//!
//! A subgraph runs inside a task, with its own driver and its own thread. The thread's name follows from the
//! parent's thread and the task, and the task's id follows from the checkpoint on which it was planned. So a resume
//! finds the work of the subgraph, and another branch never does.

pub(crate) mod delta;
pub(crate) mod lens;
pub(crate) mod nested;
pub(crate) mod questions;
pub(crate) mod surroundings;
