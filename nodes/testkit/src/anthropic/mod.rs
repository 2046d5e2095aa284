//! The Messages API of Anthropic.

mod cache;
mod check;
mod content;
mod heard;
mod memory;
mod pairing;
mod render;
mod stream;
mod thinking;
mod tools;

pub use check::{check, check_count};
pub use thinking::ThinkingForm;

pub(super) use heard::heard;
pub(super) use memory::Memory;
pub(super) use render::message;
pub(super) use stream::events;
