//! The pure engine: a state machine that turns events into commands.
//!
//! Nothing here awaits, reads a clock, draws a random number or names a runtime. The driver in `run` does, and so
//! can any other driver. Run, resume, replay and fork use one loop, and differ only in the first event.
//!
//! ```text
//!  driver ── Event ──►  Machine  ── Command ──► driver
//!                       plan       what runs next, in merge order
//!                       barrier    merges writes, finds conflicts, logs changes
//!                       restore    from a stored frontier to planned tasks, and back
//! ```

pub mod barrier;
mod breakpoint;
mod command;
mod defer;
mod edit_as;
mod event;
mod machine;
mod phase;
mod plan;
pub mod restore;
mod task;
#[cfg(test)]
mod wires;

pub use breakpoint::{Break, Breakpoints, NodeSet};
pub use command::{Command, Ending};
pub use edit_as::{CannotEditAs, EditAs, Edited, edit_as};
#[cfg(feature = "tokio")]
pub(crate) use edit_as::{NoPlan, Plan, plan as plan_edit};
pub use event::{Begin, Event, Failure, Head, Restored};
pub use machine::{Limits, Machine};
pub use phase::Barrier;
pub use plan::Arrivals;
pub use task::{PlannedTask, TaskNumber};
