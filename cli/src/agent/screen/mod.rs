//! The output of the agent as lines: pure functions from events to styled text.
//!
//! ```text
//! AssistantEvent ──▶ view::View ──▶ line::Line ──▶ the terminal's scrollback, a file, or a test
//!                      │ markdown, call           (with colours, or without)
//!                      └▶ status::Status ──▶ the one line that is redrawn
//! ```
//!
//! Nothing in this folder reads a clock, a terminal or a file: widths, times and colours are arguments.

mod change;
mod line;
mod markdown;
mod question;
mod status;
mod view;

pub(super) use change::{change, changed_files};
pub(super) use line::{Line, wrap};
pub(super) use question::{Choice, Take};
pub(super) use status::{count, dollars};
pub(super) use view::View;
