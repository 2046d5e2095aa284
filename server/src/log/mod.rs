//! The log of a thread: the events of its runs, numbered without reuse.
//!
//! ```text
//! worker ── Attempt::log ──► ring of the thread ──► Subscription ──► project::frames ──► Frame
//!                 │                                    ▲
//!                 └── batches ──► EventRow ────────────┘   of runs that can be resumed
//! ```

mod attempt;
mod entry;
mod hub;
mod project;
mod subscription;

pub(crate) use attempt::Attempt;
pub(crate) use entry::{Frame, LogEntry, Logged, PER_ENTRY, Projection};
pub(crate) use hub::{Hub, Numbers};
pub(crate) use project::{Projected, Views, frames};
pub(crate) use subscription::Subscription;

#[cfg(test)]
mod tests;
