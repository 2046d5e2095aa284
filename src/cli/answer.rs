//! What every verb's answer can do.

use serde::Serialize;

use super::page::Page;
use super::screen::Exit;

/// An answer: a JSON document of a stable shape, which can be shown to people, too.
pub(super) trait Answer: Serialize {
    /// Writes it for people.
    fn show(&self, page: &mut Page);

    /// The exit code that says it.
    fn exit(&self) -> Exit {
        Exit::Fine
    }
}
