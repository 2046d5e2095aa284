//! The Responses API of OpenAI.

mod check;
mod items;
mod memory;
mod pairing;
mod render;
mod stream;

pub use check::{check, check_count};
pub(super) use memory::{Memory, heard};
pub(super) use render::response;
pub(super) use stream::events;
