//! Shortened views of long conversations for models.
//!
//! ```text
//! messages ─────────────────────────────────────────────▶ stay in the state, all of them
//!     │
//!     ├──ContextManager::plan──▶ CompactionPlan ──request──▶ model ──▶ summary
//!     │                               └──────accept──────▶ Compaction: a record in the state
//!     ▼                                                         │
//!   view(messages, compactions) ◀───────────────────────────────┘
//!     = system messages, what is pinned, the summary, the recent messages
//! ```
//!
//! A compaction changes no message. It is a record of the messages that a model is no longer shown, and of the text
//! that it is shown instead; without the record the model sees them again. [`ContextManager`] decides when to compact
//! and which part, the node [`Compact`](crate::node::Compact) does it, and
//! [`Agent::compacted`](crate::node::Agent::compacted) shows its model the
//! [`view`].
//!
//! ```
//! use superstep_nodes::compaction::{ContextManager, view};
//! use superstep_nodes::message::Message;
//! use superstep_nodes::model::ModelReply;
//!
//! let said = (0..9).map(|n| Message::human(format!("m{n}"), format!("Line {n}. {}", "word ".repeat(60))));
//! let messages: Vec<Message> = said.collect();
//! let manager = ContextManager::new().threshold(300).target(450);
//! let plan = manager.plan(&messages, &[]).expect("they are too long");
//! assert_eq!(plan.summarised(), 4);
//!
//! let reply = ModelReply::new("m", "Four lines of words.");
//! let compaction = plan.accept("c1", &reply, 0).expect("it is shorter");
//! assert_eq!(view(&messages, &[compaction]).len(), 6);
//! ```

mod compaction_plan;
mod compaction_record;
mod context_manager;
mod key_information;
mod view;

pub use compaction_plan::{CompactionPlan, Unaccepted, units};
pub use compaction_record::{Compaction, Summariser};
pub use context_manager::ContextManager;
pub use key_information::KeyInformation;
pub use view::{ViewParts, view};

#[cfg(test)]
mod tests;
