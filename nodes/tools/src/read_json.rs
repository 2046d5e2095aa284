//! The tool that reads JSON.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep_nodes::tool::{PermissionMatcher, ToolContext, ToolEffect, ToolFailure, ToolOutput};

use super::built_in::{BuiltIn, blocking, built_in};
use super::path_rule::path_matcher;
use super::text_file::{TextFile, shortened};
use super::workspace::{Workspace, display};

/// The tool `read_json`: reads a part of a JSON document, or of a file with one value a line (`.jsonl`, `.ndjson`),
/// which is taken as a list.
///
/// A part that is too large to be shown is described instead, by its members and their types.
#[derive(Clone, Debug)]
pub struct ReadJson {
    workspace: Workspace,
    max_file_bytes: u64,
}

/// The input of [`ReadJson`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadJsonInput {
    /// The file, relative to the workspace.
    pub path: String,
    /// A JSON Pointer to the part to return, such as `/items/0/name`; everything by default.
    #[serde(default)]
    pub pointer: String,
    /// If the part is a list: the first item to return, from 0.
    #[serde(default)]
    pub from: usize,
    /// If the part is a list: the maximum number of items to return.
    #[serde(default = "default_items")]
    #[schemars(range(min = 1, max = 1_000))]
    pub items: usize,
}

const fn default_items() -> usize {
    ReadJson::DEFAULT_ITEMS
}

impl ReadJson {
    /// The name of the tool.
    pub const NAME: &'static str = "read_json";

    /// The default number of items of a list that are returned.
    pub const DEFAULT_ITEMS: usize = 50;

    /// The size in bytes above which a file is not read, unless the program says otherwise.
    pub const MAX_FILE_BYTES: u64 = 32 << 20;

    const MAX_ITEMS: usize = 1_000;
    const MAX_CHARS: usize = 40_000;

    /// Makes a tool that reads the JSON documents of a workspace.
    pub fn new(workspace: Workspace) -> Self {
        Self { workspace, max_file_bytes: Self::MAX_FILE_BYTES }
    }

    /// Sets the size in bytes above which a file is not read.
    #[must_use]
    pub fn with_max_file_bytes(mut self, bytes: u64) -> Self {
        self.max_file_bytes = bytes;
        self
    }
}

#[async_trait]
impl BuiltIn for ReadJson {
    type Input = ReadJsonInput;

    fn describe(&self) -> String {
        "Reads a JSON file of the workspace, or a part of it: the value that a JSON Pointer leads to, and of a list the items \
         that you ask for, 1,000 at most. What is too large is described by its members. Files that end with .jsonl or .ndjson are lists of \
         their lines."
            .to_owned()
    }

    fn effect_of(&self, _: &ReadJsonInput) -> ToolEffect {
        ToolEffect::ReadOnly
    }

    fn in_short(&self, input: &ReadJsonInput) -> String {
        format!("read the JSON file {}", input.path)
    }

    fn matcher(&self, input: &ReadJsonInput) -> Option<PermissionMatcher> {
        path_matcher(&input.path)
    }

    async fn run(&self, input: ReadJsonInput, context: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let (folder, most) = (self.workspace.open(context)?, self.max_file_bytes);
        blocking(move || {
            let path = folder.resolve(&input.path)?;
            let named = display(&path);
            let text = TextFile::parse(&named, folder.read(&path, most)?)?.text;
            let by_line = |extension: &std::ffi::OsStr| extension == "jsonl" || extension == "ndjson";
            let all = match path.extension().is_some_and(by_line) {
                true => list_of_lines(&named, &text)?,
                false => serde_json::from_str(&text)
                    .map_err(|error| ToolFailure::new(format!("`{named}` is not JSON: {error}")))?,
            };
            show(&named, part(&named, &all, &input.pointer)?, &input)
        })
        .await
    }
}

built_in!(ReadJson);

fn list_of_lines(named: &str, text: &str) -> Result<Value, ToolFailure> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let value = |(number, line): (usize, &str)| {
        serde_json::from_str(line)
            .map_err(|error| ToolFailure::new(format!("line {number} of `{named}` is not JSON: {error}")))
    };
    lines.map(value).collect::<Result<Vec<Value>, _>>().map(Value::Array)
}

/// Returns the value at a pointer.
fn part<'v>(named: &str, all: &'v Value, pointer: &str) -> Result<&'v Value, ToolFailure> {
    all.pointer(pointer).ok_or_else(|| {
        // The nearest value above says what there is.
        let mut above = pointer;
        let near = loop {
            above = above.rsplit_once('/').map_or("", |(above, _)| above);
            if let Some(value) = all.pointer(above) {
                break value;
            }
        };
        let place = if above.is_empty() { "at the top" } else { above };
        ToolFailure::new(format!("`{named}` has nothing at `{pointer}`; {place} is {}", outline(near, 1_000)))
    })
}

/// Returns the value, as much of it as fits.
fn show(named: &str, value: &Value, input: &ReadJsonInput) -> Result<ToolOutput, ToolFailure> {
    let place =
        if input.pointer.is_empty() { named.to_owned() } else { format!("{named} at {}", input.pointer) };
    let Value::Array(all) = value else {
        let text = serde_json::to_string_pretty(value)?;
        return Ok(match text.len() <= ReadJson::MAX_CHARS {
            true => ToolOutput::text(text).with_data(value.clone()),
            false => ToolOutput::text(format!(
                "{place} is too large to be shown. It is {}",
                outline(value, 20_000)
            )),
        });
    };
    let (from, most) = (input.from, input.items.clamp(1, ReadJson::MAX_ITEMS));
    if from >= all.len() && from > 0 {
        return Err(ToolFailure::new(format!("the list has only {} items", all.len())));
    }
    let (mut lines, mut chars, mut to) = (String::new(), 0, from);
    for item in all.iter().skip(from).take(most) {
        let mut line = item.to_string();
        if line.len() > ReadJson::MAX_CHARS / 4 {
            line = format!("[too large; read {}/{to}] {}", input.pointer, outline(item, 2_000));
        }
        chars += line.len() + 1;
        if chars > ReadJson::MAX_CHARS {
            break;
        }
        lines.push_str(&line);
        lines.push('\n');
        to += 1;
    }
    let mut text = format!("{place}: items {from} to {} of {}\n{lines}", to.saturating_sub(1), all.len());
    if all.is_empty() {
        text = format!("{place} is an empty list.\n");
    }
    if to < all.len() {
        text.push_str(&format!("[read on with from {to}]\n"));
    }
    Ok(ToolOutput::text(text).with_data(json!({ "path": named, "items": all.len(), "from": from, "to": to })))
}

/// Returns the outline of a value, without its content.
fn outline(value: &Value, most_chars: usize) -> String {
    let text = match value {
        Value::Object(members) => {
            let members: Vec<_> =
                members.iter().map(|(name, value)| format!("{name}: {}", kind(value))).collect();
            format!("an object of {} members: {}", members.len(), members.join(", "))
        }
        value => kind(value),
    };
    shortened(&text, most_chars).into_owned()
}

fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "a boolean".to_owned(),
        Value::Number(_) => "a number".to_owned(),
        Value::String(text) => format!("a text of {} characters", text.chars().count()),
        Value::Array(items) => format!("a list of {} items", items.len()),
        Value::Object(members) => format!("an object of {} members", members.len()),
    }
}

#[cfg(test)]
mod tests;
