//! The Responses API of OpenAI.

mod check;
mod heard;
mod items;
mod memory;
mod pairing;
mod render;
mod stream;

pub use check::{check, check_count};

pub(super) use heard::heard;
pub(super) use memory::Memory;
pub(super) use render::response;
pub(super) use stream::events;
