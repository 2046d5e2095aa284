//! The tool that reads files.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep_nodes::__private::media_type;
use superstep_nodes::tool::{PermissionMatcher, ToolContext, ToolEffect, ToolFailure, ToolOutput};

use super::built_in::{BuiltIn, blocking, built_in};
use super::files_read::FilesRead;
use super::path_rule::path_matcher;
use super::picture::picture;
use super::text_file::{TextFile, numbered};
use super::workspace::{Workspace, display};

/// The tool `read_file`: reads a text file, by lines, or shows an image.
///
/// Lines are numbered. A result has [`DEFAULT_LINES`](Self::DEFAULT_LINES) of them at most unless the input says
/// otherwise, and [`MAX_CHARS`](Self::MAX_CHARS) characters, and says where to read on. PNG, JPEG, GIF and WebP are
/// shown to the model as images. Everything else that is not UTF-8 is refused.
///
/// A file that was read may be edited by [`EditFile`](super::EditFile) and [`WriteFile`](super::WriteFile) until it
/// changes.
#[derive(Clone, Debug)]
pub struct ReadFile {
    workspace: Workspace,
    max_file_bytes: u64,
}

/// The input of [`ReadFile`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadFileInput {
    /// The file, relative to the workspace.
    pub path: String,
    /// The first line to read, from 1.
    #[serde(default = "first")]
    #[schemars(range(min = 1))]
    pub from_line: usize,
    /// The maximum number of lines to read.
    #[serde(default = "default_lines")]
    #[schemars(range(min = 1))]
    pub lines: usize,
}

const fn first() -> usize {
    1
}

const fn default_lines() -> usize {
    ReadFile::DEFAULT_LINES
}

impl ReadFile {
    /// The name of the tool.
    pub const NAME: &'static str = "read_file";

    /// The default number of lines that are read.
    pub const DEFAULT_LINES: usize = 2_000;

    /// The maximum number of characters of a result, and of a line.
    pub const MAX_CHARS: usize = 40_000;

    /// The size in bytes above which a text is not read, unless the program says otherwise.
    pub const MAX_FILE_BYTES: u64 = 10 << 20;

    /// The size in bytes above which an image is not shown: providers refuse it.
    pub const MAX_IMAGE_BYTES: usize = 3_750_000;

    const MAX_LINE_CHARS: usize = 2_000;

    /// Makes a tool that reads the files of a workspace.
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
impl BuiltIn for ReadFile {
    type Input = ReadFileInput;

    fn describe(&self) -> String {
        "Reads a file of the workspace. Text comes with line numbers, which are no part of the file; of a file with more than 2,000 lines read \
         those that you need, by `from_line` and `lines`. PNG, JPEG, GIF and WebP images are shown to you. Read a file \
         before you edit it."
            .to_owned()
    }

    fn effect_of(&self, _: &ReadFileInput) -> ToolEffect {
        ToolEffect::ReadOnly
    }

    fn in_short(&self, input: &ReadFileInput) -> String {
        format!("read the file {}", input.path)
    }

    fn matcher(&self, input: &ReadFileInput) -> Option<PermissionMatcher> {
        path_matcher(&input.path)
    }

    async fn run(&self, input: ReadFileInput, context: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let (folder, files) = (self.workspace.open(context)?, context.shared::<FilesRead>());
        let most = self.max_file_bytes;
        blocking(move || {
            let path = folder.resolve(&input.path)?;
            let bytes = folder.read(&path, most)?;
            let named = display(&path);
            if let Some(media_type) = media_type(&bytes) {
                return image(&named, media_type, &bytes);
            }
            let digest_of = bytes.clone();
            let output = lines(&named, &TextFile::parse(&named, bytes)?.text, &input)?;
            files.note(&folder, &path, &digest_of);
            Ok(output)
        })
        .await
    }
}

built_in!(ReadFile);

fn image(named: &str, media_type: &str, bytes: &[u8]) -> Result<ToolOutput, ToolFailure> {
    let (length, most) = (bytes.len(), ReadFile::MAX_IMAGE_BYTES);
    if length > most {
        let text = format!("`{named}` is an image of {length} bytes, and more than {most} cannot be shown");
        return Err(ToolFailure::new(text));
    }
    let data = json!({ "path": named, "media_type": media_type, "bytes": length });
    Ok(ToolOutput::from(picture(named, media_type, bytes)).with_data(data))
}

/// Returns the requested lines, as many as fit.
fn lines(named: &str, text: &str, input: &ReadFileInput) -> Result<ToolOutput, ToolFailure> {
    let all = text.lines().count();
    if all == 0 {
        return Ok(
            ToolOutput::text(format!("{named} is empty.")).with_data(json!({ "path": named, "lines": 0 }))
        );
    }
    let from = input.from_line.max(1);
    if from > all {
        return Err(ToolFailure::new(format!("`{named}` has only {all} lines")));
    }
    let (mut shown, mut chars, mut to) = (String::new(), 0, from - 1);
    for (number, line) in (1..).zip(text.lines()).skip(from - 1).take(input.lines.max(1)) {
        let line = numbered(number, line, ReadFile::MAX_LINE_CHARS);
        chars += line.chars().count();
        if chars > ReadFile::MAX_CHARS {
            break;
        }
        shown.push_str(&line);
        to = number;
    }
    if (from, to) != (1, all) {
        shown.push_str(&format!("[lines {from} to {to} of {all}"));
        shown.push_str(&if to < all {
            format!("; read on with from_line {}]", to + 1)
        } else {
            "]".to_owned()
        });
    }
    let data = json!({ "path": named, "from_line": from, "to_line": to, "lines": all });
    Ok(ToolOutput::text(shown).with_data(data))
}

#[cfg(test)]
mod tests;
