//! The events of the past, rebuilt from stored checkpoints.
//!
//! ```text
//! CheckpointerExt::steps ─► Records ─► Level ─► PastEvents ─► PastEvent { position, event }
//!   page by page                     │ │         └ follow(feed) ─► Followed: and then what is live
//!                                    │ └ Rebuild: what one checkpoint tells
//!                                    └ one more for each subgraph on the way
//! ```
//!
//! A checkpoint determines the events of the superstep that led to it and its own events, and never changes. So a
//! position among its events is valid in every process, as long as the checkpoint exists.

mod follow;
mod level;
mod position;
mod reader;
mod rebuild;
mod records;
mod told;
mod unfinished;

pub use follow::{Followed, ThreadEvent};
pub use position::EventPosition;
pub use reader::{PastEvent, PastEvents};
