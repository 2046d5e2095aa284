//! Recordings that answer for the outside world in a test: what a node asks of it is looked up, and never done.
//!
//! ```text
//! TaskCell ─ place of an effect, a drawn value or a question ─► Deck ─► Answer: what is recorded there
//!                                                                  └─► Miss: the nearest recording, and the difference
//! ```
//!
//! A replay takes the journal of the very task that it repeats. Here the program may have changed: a recording is found
//! by the node, the name and the key, and several of them are told apart by their order.

mod deck;
mod miss;
mod played;
mod recording;

pub(crate) use self::deck::Deck;
pub(crate) use self::recording::{Level, Recording, What};
