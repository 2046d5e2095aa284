//! The Messages API of Anthropic.

mod cache;
mod check;
mod content;
mod memory;
mod pairing;
mod render;
mod stream;
mod thinking;
mod tools;

pub use check::{check, check_count};
pub(super) use memory::{Memory, heard};
pub(super) use render::message;
pub(super) use stream::events;
pub use thinking::ThinkingForm;
