//! The tool that searches files.

use async_trait::async_trait;
use regex::bytes::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep_nodes::tool::{
    InvalidInput, PermissionMatcher, ToolContext, ToolEffect, ToolFailure, ToolOutput,
};

use super::built_in::{BuiltIn, blocking, built_in};
use super::glob::or_all;
use super::matches::Matches;
use super::path_rule::folder_matcher;
use super::walk::{Go, Pattern, Walk};
use super::workspace::Workspace;

/// The tool `grep`: finds lines by a regular expression, in the syntax of the crate `regex`, which takes linear
/// time for any expression.
///
/// Files are searched in order of their paths. Files that a `.gitignore` excludes are left out, and so are hidden
/// files, unless the input asks for them, and all below `.git`. Links are not followed. Files that are too large or no
/// text are counted and left out.
#[derive(Clone, Debug)]
pub struct Grep {
    workspace: Workspace,
    max_file_bytes: u64,
}

/// The input of [`Grep`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrepInput {
    /// The regular expression to search for in each line.
    pub pattern: String,
    /// The file or folder to search, relative to the workspace.
    #[serde(default)]
    pub path: String,
    /// The files to search, such as `*.rs` or `src/**`; all by default.
    pub files: Option<String>,
    /// True to ignore case.
    #[serde(default)]
    pub ignore_case: bool,
    /// The form of the result: matching lines, or only the files that have one.
    #[serde(default)]
    pub output: GrepOutput,
    /// The number of lines around each match to return too.
    #[serde(default)]
    #[schemars(range(max = 10))]
    pub context: usize,
    /// True to search hidden files too.
    #[serde(default)]
    pub hidden: bool,
    /// The maximum number of lines or files to return.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 1_000))]
    pub limit: usize,
}

/// The form of the result of [`Grep`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GrepOutput {
    /// The matching lines, with their numbers.
    #[default]
    Lines,
    /// The files with matching lines, with their number.
    Files,
}

const fn default_limit() -> usize {
    Grep::DEFAULT_LIMIT
}

impl Grep {
    /// The name of the tool.
    pub const NAME: &'static str = "grep";

    /// The default number of lines, or files, that are returned.
    pub const DEFAULT_LIMIT: usize = 100;

    /// The size in bytes above which a file is not searched, unless the program says otherwise.
    pub const MAX_FILE_BYTES: u64 = 10 << 20;

    const MAX_LIMIT: usize = 1_000;
    const MAX_CONTEXT: usize = 10;

    /// Makes a tool that searches the files of a workspace.
    pub fn new(workspace: Workspace) -> Self {
        Self { workspace, max_file_bytes: Self::MAX_FILE_BYTES }
    }

    /// Sets the size in bytes above which a file is not searched.
    #[must_use]
    pub fn with_max_file_bytes(mut self, bytes: u64) -> Self {
        self.max_file_bytes = bytes;
        self
    }
}

#[async_trait]
impl BuiltIn for Grep {
    type Input = GrepInput;

    fn describe(&self) -> String {
        "Searches the files of the workspace for lines that fit a regular expression (Rust syntax: no look-around and no \
         back-references; one line at a time). Files that a .gitignore excludes are left out. \
         At most 1,000 lines are returned."
            .to_owned()
    }

    fn effect_of(&self, _: &GrepInput) -> ToolEffect {
        ToolEffect::ReadOnly
    }

    fn in_short(&self, input: &GrepInput) -> String {
        format!("search {} for {}", or_all(&input.path), input.pattern)
    }

    fn matcher(&self, input: &GrepInput) -> Option<PermissionMatcher> {
        folder_matcher(&input.path)
    }

    async fn validate(&self, input: &GrepInput, _: &ToolContext) -> Result<(), InvalidInput> {
        let files = input.files.as_deref().map(Pattern::parse).transpose();
        let wrong = expression(input).map(drop).and(files.map(drop));
        wrong.map_err(|wrong| InvalidInput::new(wrong.to_string()))
    }

    async fn run(&self, input: GrepInput, context: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let (folder, stop) = (self.workspace.open(context)?, context.cancellation().clone());
        let most = self.max_file_bytes;
        blocking(move || {
            let (expression, from) = (expression(&input)?, folder.resolve(&input.path)?);
            let only = input.files.as_deref().map(Pattern::parse).transpose()?;
            let limit = input.limit.clamp(1, Self::MAX_LIMIT);
            let mut matches = Matches::new(input.output, input.context.min(Self::MAX_CONTEXT), limit);
            let walk = Walk { folder: &folder, from: &from, hidden: input.hidden, stop: &stop };
            let unreadable = walk.each(|path| {
                if only.as_ref().is_some_and(|only| !only.is_about(&from, &path)) {
                    return Ok(Go::On);
                }
                // The path is opened again, through the workspace: the file may have become a link.
                match folder.read(&path, most) {
                    Ok(bytes) if !bytes.contains(&0) => Ok(matches.search(&path, &bytes, &expression)),
                    _ => {
                        matches.skip();
                        Ok(Go::On)
                    }
                }
            })?;
            (0..unreadable).for_each(|_| matches.skip());
            let data = json!({
                "lines": matches.lines(), "files": matches.files(), "skipped": matches.skipped(),
                "complete": matches.is_complete(),
            });
            Ok(ToolOutput::text(matches.into_text()).with_data(data))
        })
        .await
    }
}

built_in!(Grep);

fn expression(input: &GrepInput) -> Result<Regex, ToolFailure> {
    let mut expression = RegexBuilder::new(&input.pattern);
    expression.case_insensitive(input.ignore_case).size_limit(4 << 20).dfa_size_limit(16 << 20);
    expression
        .build()
        .map_err(|error| ToolFailure::new(format!("`{}` is no regular expression: {error}", input.pattern)))
}

#[cfg(test)]
mod tests;
