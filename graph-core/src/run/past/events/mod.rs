//! The events of the past, rebuilt from what is stored.
//!
//! ```text
//! CheckpointerExt::steps ─► Records ─► Level ─► PastEvents ─► PastEvent { position, event }
//!   page by page                     │ │         └ follow(feed) ─► Followed: and then what is live
//!                                    │ └ Rebuild: what one checkpoint tells
//!                                    └ one more for each subgraph on the way
//! ```
//!
//! A checkpoint tells of the superstep that led to it and of itself, and that never changes: so a place among its
//! events means the same in every process, and for as long as the checkpoint is there.

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
