//! The Chat Completions API of OpenAI, and of those compatible with it.

mod check;
mod content;
mod messages;
mod options;
mod render;
mod stream;

pub use check::check;

pub(super) use render::completion;
pub(super) use stream::events;
