//! The part of a conversation that a model is shown.
//!
//! ```text
//! messages ──┐                 PASSES, in this order
//! compactions├─▶ boundary ▶ result budget ▶ snip ▶ micro ▶ fold ──▶ view ──▶ request
//! trims ─────┘      ▲              │           │       │      │
//!                   │              └───────────┼───────┴──────┴──▶ new trims, a record of each decision
//!                   │                          └─────────────────▶ the messages that stay in the state
//!                   └─ records so far                tokens ─────▶ send, compact, or block
//! ```
//!
//! [`prepare`] runs before each request. It is pure: it decides, and the caller puts the records into the state, stores
//! texts, and has the conversation compacted. A pass decides on a message once, and the view applies the record from
//! then on. So the requests of a session begin with the same bytes until something is recorded, a resumed session is
//! shown the same, and removing a record undoes it. The messages stay in the state; only a [`Snip`] takes the oldest
//! out, and the history of the thread keeps those.
//!
//! A [`Compaction`](superstep_nodes::compaction::Compaction) is made by the node
//! [`Compact`](superstep_nodes::node::Compact), which is to be shown the [`trimmed`] messages.

mod anchor;
mod auto;
mod boundary;
mod draft;
mod fold;
mod held;
mod micro;
mod pass;
mod prepare;
mod result_budget;
mod settings;
mod snip;
mod spill;
mod trim;
mod window;

pub use anchor::{Anchor, Records};
pub use auto::{AutoCompact, AutoDecision, task_remaining};
pub use fold::drain_folds;
pub use held::Held;
pub use pass::{PASSES, Pass};
pub(crate) use prepare::{Counted, prepare_after};
pub use prepare::{History, Prepared, View, leave_out_pictures, prepare};
pub use settings::{ContextProfile, ContextSettings, MicroKind, MicroRule};
pub use snip::Snip;
pub(crate) use spill::blob_path;
pub use spill::{Blob, ResultLimits, Spill, spill};
pub use trim::{Shown, Trim, trimmed};
pub use window::{ContextWindow, ContextWindows, Trigger};

#[cfg(test)]
mod tests;
