//! Looking back at what is stored: the state of a thread, its events, views of checkpoints, replays.

pub(crate) mod events;
pub(crate) mod replay;
pub(crate) mod state;
pub(crate) mod view;
