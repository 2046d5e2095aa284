//! Subgraphs: a compiled graph as a node of another.
//!
//! ```text
//! parent's task ─ Lens::enter ─► thread below the parent's ─► the one loop ─► Lens::leave ─► parent's update
//!                                 (parent thread, task)         │ asks: bubble up, answers go down
//!                                                               └ events: into the parent's log, with a path
//! ```
//!
//! A subgraph runs inside a task, with a driver and a thread of its own. The thread's name follows from the
//! parent's thread and the task, and the task's id from the checkpoint it was planned on; so a resume finds what
//! the subgraph has done, and another branch never does.

pub(crate) mod delta;
pub(crate) mod lens;
pub(crate) mod nested;
pub(crate) mod questions;
pub(crate) mod surroundings;
