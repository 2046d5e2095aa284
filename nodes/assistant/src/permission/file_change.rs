//! The change of a file that a call asks for, as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_nodes::message::ToolCall;

/// The change that a call would make to a file, for a person who decides on it. A terminal draws it as a diff, and a
/// page in its own way.
///
/// Each text has at most [`FileChange::MAX_BYTES`]: a question is stored with the thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileChange {
    /// The file, relative to the workspace.
    pub path: String,
    /// The extent of the texts.
    pub extent: Extent,
    /// The text before; `None` for a file that is new or was not read.
    pub before: Option<String>,
    /// The text afterwards.
    pub after: String,
    /// The number of bytes left out at the ends of both texts.
    pub left_out: u64,
}

/// The part of a file that a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// The whole file.
    Whole,
    /// The one place in the file that has the text before.
    OnePlace,
    /// Every place in the file that has the text before.
    EveryPlace,
}

impl FileChange {
    /// The maximum size of a text, in bytes.
    pub const MAX_BYTES: usize = 32 << 10;

    /// Makes a change. Texts that are too long are cut at their ends.
    pub fn new(path: impl Into<String>, extent: Extent, before: Option<&str>, after: &str) -> Self {
        let mut left_out = 0;
        let mut bounded = |text: &str| {
            let kept = &text[..text.floor_char_boundary(Self::MAX_BYTES)];
            left_out += (text.len() - kept.len()) as u64;
            kept.to_owned()
        };
        let (before, after) = (before.map(&mut bounded), bounded(after));
        Self { path: path.into(), extent, before, after, left_out }
    }

    /// Returns the change that a call of `edit_file`, `write_file` or `remember` would make; `None` for other calls.
    /// `present` is the file's text now, which is shown for a file that is replaced as a whole.
    pub fn of(call: &ToolCall, present: Option<&str>) -> Option<Self> {
        let text = |key: &str| call.input.get(key).and_then(Value::as_str);
        match call.name.as_str() {
            "edit_file" => {
                let all = call.input.get("all").and_then(Value::as_bool).unwrap_or(false);
                let extent = if all { Extent::EveryPlace } else { Extent::OnePlace };
                Some(Self::new(text("path")?, extent, Some(text("old")?), text("new")?))
            }
            "write_file" => Some(Self::new(text("path")?, Extent::Whole, present, text("content")?)),
            "remember" => {
                let path = format!(".superstep/memory/{}.md", text("name")?);
                Some(Self::new(path, Extent::Whole, present, text("text")?))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_edit_is_shown_as_its_change() {
        let edit = ToolCall::new("c", "edit_file", json!({ "path": "a", "old": "x", "new": "y" }));
        let change = FileChange::of(&edit, None).unwrap();
        assert_eq!(change, FileChange::new("a", Extent::OnePlace, Some("x"), "y"));
        let write = ToolCall::new("c", "write_file", json!({ "path": "a", "content": "new" }));
        assert_eq!(FileChange::of(&write, Some("old")).unwrap().before.as_deref(), Some("old"));
        let note = ToolCall::new("c", "remember", json!({ "name": "tests", "text": "Run them." }));
        assert_eq!(FileChange::of(&note, None).unwrap().path, ".superstep/memory/tests.md");
        assert_eq!(FileChange::of(&ToolCall::new("c", "bash", json!({ "command": "ls" })), None), None);
    }

    #[test]
    fn a_large_change_is_cut_at_a_character() {
        let text = "ä".repeat(FileChange::MAX_BYTES);
        let change = FileChange::new("a", Extent::Whole, Some("x"), &format!("x{text}"));
        assert_eq!(change.after.len(), FileChange::MAX_BYTES - 1);
        assert_eq!(change.left_out as usize, FileChange::MAX_BYTES + 2);
    }
}
