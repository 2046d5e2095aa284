//! Recordings that replace the outside world in a test: a node's calls are looked up and never executed.
//!
//! ```text
//! TaskCell ─ place of an effect, a drawn value or a question ─► Deck ─► Answer: what is recorded there
//!                                                                  └─► Miss: the nearest recording, and the difference
//! ```
//!
//! A replay takes the journal of the same task that it repeats. With a cassette the program may have changed, so a
//! recording is found by node, name and key. If several match, their order decides.

mod deck;
mod miss;
mod played;
mod recording;

pub(crate) use self::deck::Deck;
pub(crate) use self::recording::{Level, Recording, What};
