//! The readers of a run's events: the handle that drives it, feeds for others, and the views that they select.
//!
//! ```text
//!              ┌─► RunStream     drives the run: nothing is lost, and tasks wait until it has kept up
//!  EventLog ───┼─► Feed          the latest events in a ring; its subscribers learn what they missed
//!   0 1 2 …    └─► Observer      called in place
//!                     each through its views
//! ```

pub(crate) mod feed;
pub(crate) mod queue;
mod ring;
mod sync;
pub(crate) mod view;
