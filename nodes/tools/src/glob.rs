//! The tool that lists files.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep_nodes::tool::{
    InvalidInput, PermissionMatcher, ToolContext, ToolEffect, ToolFailure, ToolOutput,
};

use super::built_in::{BuiltIn, blocking, built_in};
use super::path_rule::folder_matcher;
use super::walk::{Go, Pattern, Walk};
use super::workspace::{Workspace, display};

/// The tool `glob`: lists files by a pattern such as `src/**/*.rs`, in order of their paths.
///
/// Files that a `.gitignore` excludes are left out, and so are hidden files, unless the input asks for them, and all
/// below `.git`. Links are not followed.
#[derive(Clone, Debug)]
pub struct Glob {
    workspace: Workspace,
}

/// The input of [`Glob`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GlobInput {
    /// The pattern: `*` is anything within a name, `**` any folders, `{a,b}` one of these. Without a `/` it matches
    /// names at any depth.
    pub pattern: String,
    /// The folder to look in, relative to the workspace.
    #[serde(default)]
    pub path: String,
    /// True to list hidden files too.
    #[serde(default)]
    pub hidden: bool,
    /// The maximum number of files to list.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 2_000))]
    pub limit: usize,
}

const fn default_limit() -> usize {
    Glob::DEFAULT_LIMIT
}

impl Glob {
    /// The name of the tool.
    pub const NAME: &'static str = "glob";

    /// The default number of files that are listed.
    pub const DEFAULT_LIMIT: usize = 200;

    const MAX_LIMIT: usize = 2_000;

    /// Makes a tool that lists the files of a workspace.
    pub fn new(workspace: Workspace) -> Self {
        Self { workspace }
    }
}

#[async_trait]
impl BuiltIn for Glob {
    type Input = GlobInput;

    fn describe(&self) -> String {
        "Lists the files of the workspace whose paths fit a pattern such as `src/**/*.rs` or `*.md`. Files that a .gitignore \
         excludes are left out. At most 2,000 are listed."
            .to_owned()
    }

    fn effect_of(&self, _: &GlobInput) -> ToolEffect {
        ToolEffect::ReadOnly
    }

    fn in_short(&self, input: &GlobInput) -> String {
        format!("list the files {} in the folder {}", input.pattern, or_all(&input.path))
    }

    fn matcher(&self, input: &GlobInput) -> Option<PermissionMatcher> {
        folder_matcher(&input.path)
    }

    async fn validate(&self, input: &GlobInput, _: &ToolContext) -> Result<(), InvalidInput> {
        Pattern::parse(&input.pattern).map(drop).map_err(|wrong| InvalidInput::new(wrong.to_string()))
    }

    async fn run(&self, input: GlobInput, context: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let (folder, stop) = (self.workspace.open(context)?, context.cancellation().clone());
        blocking(move || {
            let (pattern, from) = (Pattern::parse(&input.pattern)?, folder.resolve(&input.path)?);
            let limit = input.limit.clamp(1, Self::MAX_LIMIT);
            let (mut found, mut more) = (Vec::new(), false);
            Walk { folder: &folder, from: &from, hidden: input.hidden, stop: &stop }.each(|path| {
                if !pattern.is_about(&from, &path) {
                    return Ok(Go::On);
                }
                if found.len() == limit {
                    more = true;
                    return Ok(Go::NoFurther);
                }
                found.push(display(&path));
                Ok(Go::On)
            })?;
            let mut text = if found.is_empty() { "No file fits.".to_owned() } else { found.join("\n") };
            if more {
                text.push_str(&format!("\n[these are the first {limit}; there are more]"));
            }
            let data = json!({ "files": found, "complete": !more });
            Ok(ToolOutput::text(text).with_data(data))
        })
        .await
    }
}

built_in!(Glob);

/// Returns a folder as it is shown in a question for permission.
pub(super) fn or_all(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

#[cfg(test)]
mod tests;
