//! Access to the stored past: the state of a thread, its events, views of checkpoints, and replays.

pub(crate) mod events;
pub(crate) mod replay;
pub(crate) mod state;
pub(crate) mod view;
