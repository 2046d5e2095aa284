//! The streams of runs: events of a thread's log as the server-sent events of LangGraph's stream modes.

mod chat;
mod events;
mod payload;
mod projection;
#[cfg(test)]
pub(crate) mod recorded;
mod track;

pub(crate) use chat::{Chat, Piece};
pub(crate) use payload::{task_ended, task_started};
pub(crate) use projection::Legacy;
pub(crate) use track::{TOOL, Track, is_of_framework};
