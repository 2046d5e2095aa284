//! The tool that reads files.

use std::io::{BufRead, BufReader, Read};

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
/// shown to the model as images. Everything else that is not UTF-8 is refused. Of a large file only the requested lines
/// are kept in memory.
///
/// A file that was read may be edited by [`EditFile`](super::EditFile) and [`WriteFile`](super::WriteFile) until it
/// changes, unless it is large.
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

    /// The size in bytes above which a file is large, unless the program says otherwise.
    pub const MAX_FILE_BYTES: u64 = 10 << 20;

    /// The size in bytes above which an image is not shown: providers refuse it.
    pub const MAX_IMAGE_BYTES: usize = 3_750_000;

    const MAX_LINE_CHARS: usize = 2_000;

    /// Makes a tool that reads the files of a workspace.
    pub fn new(workspace: Workspace) -> Self {
        Self { workspace, max_file_bytes: Self::MAX_FILE_BYTES }
    }

    /// Sets the size in bytes above which a file is large: it is not read into memory, and cannot be edited.
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
        let (folder, files) = (self.workspace.open(context)?, FilesRead::of(context));
        let most = self.max_file_bytes;
        blocking(move || {
            let path = folder.resolve(&input.path)?;
            let (file, metadata) = folder.open_file(&path)?;
            let (named, mut lines) = (display(&path), Lines::of(&input));
            if metadata.len() > most {
                lines.push_large(&named, BufReader::new(file))?;
                return lines.output(&named);
            }
            let bytes = folder.read(&path, most)?;
            if let Some(media_type) = media_type(&bytes) {
                return image(&named, media_type, &bytes);
            }
            let digest_of = bytes.clone();
            TextFile::parse(&named, bytes)?.text.lines().for_each(|line| lines.push(line));
            let output = lines.output(&named)?;
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

/// The requested lines of a text, as many as fit.
struct Lines {
    from: usize,
    most: usize,
    shown: String,
    chars: usize,
    /// The last line that is shown.
    to: usize,
    /// The number of lines so far.
    all: usize,
    is_full: bool,
}

impl Lines {
    /// The number of bytes of a line that are kept in memory while a large file is read.
    const LONGEST: u64 = 1 << 20;

    fn of(input: &ReadFileInput) -> Self {
        let from = input.from_line.max(1);
        let (shown, most) = (String::new(), input.lines.max(1));
        Self { from, most, shown, chars: 0, to: from - 1, all: 0, is_full: false }
    }

    /// Takes the next line.
    fn push(&mut self, line: &str) {
        self.all += 1;
        if self.all < self.from || self.all - self.from >= self.most || self.is_full {
            return;
        }
        let line = numbered(self.all, line, ReadFile::MAX_LINE_CHARS);
        self.chars += line.chars().count();
        self.is_full = self.chars > ReadFile::MAX_CHARS;
        if !self.is_full {
            self.shown.push_str(&line);
            self.to = self.all;
        }
    }

    /// Takes the lines of a large file, one by one.
    fn push_large(&mut self, named: &str, mut file: impl BufRead) -> Result<(), ToolFailure> {
        let mut line = Vec::new();
        while file.by_ref().take(Self::LONGEST).read_until(b'\n', &mut line)? > 0 {
            if !line.ends_with(b"\n") {
                file.skip_until(b'\n')?;
            }
            let is_cut = line.len() as u64 == Self::LONGEST;
            let text = match str::from_utf8(&line) {
                Err(error) if is_cut && error.error_len().is_none() => {
                    str::from_utf8(&line[..error.valid_up_to()])
                }
                text => text,
            };
            let Some(text) = text.ok().filter(|text| !text.contains('\0')) else {
                return Err(ToolFailure::new(format!("`{named}` is not text in UTF-8")));
            };
            let text = text.strip_suffix('\n').unwrap_or(text);
            self.push(text.strip_suffix('\r').unwrap_or(text));
            line.clear();
        }
        Ok(())
    }

    fn output(mut self, named: &str) -> Result<ToolOutput, ToolFailure> {
        let Self { from, to, all, .. } = self;
        if all == 0 {
            let data = json!({ "path": named, "lines": 0 });
            return Ok(ToolOutput::text(format!("{named} is empty.")).with_data(data));
        }
        if from > all {
            return Err(ToolFailure::new(format!("`{named}` has only {all} lines")));
        }
        if (from, to) != (1, all) {
            self.shown.push_str(&format!("[lines {from} to {to} of {all}"));
            self.shown.push_str(&if to < all {
                format!("; read on with from_line {}]", to + 1)
            } else {
                "]".to_owned()
            });
        }
        let data = json!({ "path": named, "from_line": from, "to_line": to, "lines": all });
        Ok(ToolOutput::text(self.shown).with_data(data))
    }
}

#[cfg(test)]
mod tests;
