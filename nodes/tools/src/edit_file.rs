//! The tool that edits files.

use std::path::PathBuf;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep_nodes::tool::{
    InvalidInput, PermissionMatcher, ToolContext, ToolEffect, ToolFailure, ToolOutput,
};

use super::built_in::{BuiltIn, blocking, built_in};
use super::files_read::FilesRead;
use super::path_rule::path_matcher;
use super::replace::replace;
use super::text_file::{TextFile, numbered};
use super::workspace::{Folder, Workspace, display, refusal};
use super::write_file::{MAX_BYTES, not_of_git};

/// The tool `edit_file`: replaces a text in a file that was read.
///
/// The file must have been read in this session, and its content must not have changed since. The text must occur
/// exactly once, unless `all` is set. The file is replaced at once, by a rename, and keeps its permissions, the mark of
/// its byte order, and the ends of its lines. Nothing below a folder `.git` is edited.
///
/// A call that was cut off may be made again: if the file is as it was read but with the edit, it stays as it is.
///
/// A change by another program between the last check of the file and the rename is lost.
#[derive(Clone, Debug)]
pub struct EditFile {
    workspace: Workspace,
}

/// The input of [`EditFile`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditFileInput {
    /// The file, relative to the workspace.
    pub path: String,
    /// The text to replace, exactly as it is in the file, without line numbers.
    #[schemars(length(min = 1))]
    pub old: String,
    /// The replacement.
    pub new: String,
    /// True to replace it everywhere; otherwise it must occur exactly once.
    #[serde(default)]
    pub all: bool,
}

/// A file before and after an edit.
struct Edited {
    path: PathBuf,
    content: Vec<u8>,
    text: String,
    /// The start of the first replacement, in bytes of the text.
    at: usize,
    times: usize,
    /// `true` if the file has the content already.
    is_made: bool,
}

/// The maximum number of bytes that are compared to find out whether an edit was made already.
const MOST_COMPARED: usize = 64 << 20;

impl EditFile {
    /// The name of the tool.
    pub const NAME: &'static str = "edit_file";

    /// Makes a tool that edits the files of a workspace.
    pub fn new(workspace: Workspace) -> Self {
        Self { workspace }
    }

    async fn in_workspace<T: Send + 'static>(
        &self,
        input: EditFileInput,
        context: &ToolContext,
        work: impl FnOnce(&Folder, &FilesRead, EditFileInput) -> Result<T, ToolFailure> + Send + 'static,
    ) -> Result<T, ToolFailure> {
        let (folder, files) = (self.workspace.open(context)?, FilesRead::of(context));
        blocking(move || work(&folder, &files, input)).await
    }
}

#[async_trait]
impl BuiltIn for EditFile {
    type Input = EditFileInput;

    fn describe(&self) -> String {
        "Replaces a text in a file of the workspace that you have read. `old` must be in the file exactly once, so give \
         enough lines around what changes, or say `all` to replace every one. Files of more than 10 MiB are not edited."
            .to_owned()
    }

    /// An edit that was made already is found, and over a file with another content it is refused.
    fn effect_of(&self, _: &EditFileInput) -> ToolEffect {
        ToolEffect::Idempotent
    }

    fn in_short(&self, input: &EditFileInput) -> String {
        format!("edit the file {}", input.path)
    }

    fn matcher(&self, input: &EditFileInput) -> Option<PermissionMatcher> {
        path_matcher(&input.path)
    }

    async fn validate(&self, input: &EditFileInput, context: &ToolContext) -> Result<(), InvalidInput> {
        let checked = self.in_workspace(input.clone(), context, |folder, files, input| {
            edit(folder, files, &input).map(drop)
        });
        checked.await.map_err(|refused| InvalidInput::new(refused.to_string()))
    }

    async fn run(&self, input: EditFileInput, context: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let stop = context.cancellation().clone();
        self.in_workspace(input, context, move |folder, files, input| {
            // Between validation and permission hours may have passed.
            let edited = edit(folder, files, &input)?;
            if stop.is_cancelled() {
                return Err(ToolFailure::new("stopped before anything was written"));
            }
            let named = display(&edited.path);
            if !edited.is_made {
                replace(folder.dir(), &edited.path, &edited.content)
                    .map_err(|error| refusal(&named, &error))?;
            }
            files.note(folder, &edited.path, &edited.content);
            let times = if edited.times == 1 { "once".into() } else { format!("{} times", edited.times) };
            let text = format!(
                "{named} was edited: replaced {times}. It now reads:\n{}",
                edited.surroundings(&input.new)
            );
            Ok(ToolOutput::text(text).with_data(json!({ "path": named, "replaced": edited.times })))
        })
        .await
    }
}

built_in!(EditFile);

/// Makes the edit in memory.
fn edit(folder: &Folder, files: &FilesRead, input: &EditFileInput) -> Result<Edited, ToolFailure> {
    let path = folder.resolve(&input.path)?;
    not_of_git(&path)?;
    let before = folder.read(&path, MAX_BYTES)?;
    if let Err(changed) = files.check(folder, &path, &before) {
        return made_before(folder, files, input, path, before).ok_or(changed);
    }
    let named = display(&path);
    let file = TextFile::parse(&named, before)?;
    let (old, new) = (file.as_here(&input.old), file.as_here(&input.new));
    if old == new {
        return Err(ToolFailure::new("`old` and `new` are the same"));
    }
    let Some(at) = file.text.find(&*old).filter(|_| !old.is_empty()) else {
        return Err(ToolFailure::new(format!("`old` is not in `{named}`: {}", hint(&file.text, &old))));
    };
    let times = file.text.matches(&*old).count();
    // Two that overlap count as one.
    if !input.all && file.text.rfind(&*old) != Some(at) {
        let lines = lines_of(&file.text, &old);
        let text = format!(
            "`old` is in `{named}` more than once, on lines {lines}: give more of what is around it, or say `all`"
        );
        return Err(ToolFailure::new(text));
    }
    let text = file.text.replace(&*old, &new);
    let content = file.with_text(&text);
    if content.len() as u64 > MAX_BYTES {
        return Err(ToolFailure::new(format!("`{named}` would have more than {MAX_BYTES} bytes")));
    }
    Ok(Edited { path, content, text, at, times, is_made: false })
}

/// Returns the edit if a call that was cut off has made it: without it the file is as it was read.
fn made_before(
    folder: &Folder,
    files: &FilesRead,
    input: &EditFileInput,
    path: PathBuf,
    content: Vec<u8>,
) -> Option<Edited> {
    let file = TextFile::parse("", content.clone()).ok()?;
    let (old, new) = (file.as_here(&input.old), file.as_here(&input.new));
    let was_read = |text: &str| files.check(folder, &path, &file.with_text(text)).is_ok();
    let (at, times) = if input.all {
        was_read(&file.text.replace(&*new, &old)).then_some(())?;
        (file.text.find(&*new)?, file.text.matches(&*new).count())
    } else {
        let most = MOST_COMPARED / file.text.len().max(1);
        let undone = |at: usize| [&file.text[..at], &old, &file.text[at + new.len()..]].concat();
        let mut places = file.text.match_indices(&*new).take(most);
        (places.find(|(at, _)| was_read(&undone(*at)))?.0, 1)
    };
    Some(Edited { path, content, text: file.text, at, times, is_made: true })
}

/// Returns a hint for a text that was not found.
fn hint(text: &str, old: &str) -> &'static str {
    let bare = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    if !old.trim().is_empty() && bare(text).contains(&bare(old)) {
        "there is such a text with other white space"
    } else {
        "copy it from the file, without the line numbers"
    }
}

/// Returns the first ten lines on which a text begins.
fn lines_of(text: &str, old: &str) -> String {
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    let lines = text.match_indices(old).map(|(at, _)| line(at).to_string()).take(10);
    lines.collect::<Vec<_>>().join(", ")
}

impl Edited {
    /// The lines around the first replacement.
    fn surroundings(&self, new: &str) -> String {
        const AROUND: usize = 3;
        const MOST: usize = 40;
        let first = self.text[..self.at].matches('\n').count();
        let (from, lines) = (first.saturating_sub(AROUND), new.lines().count().max(1) + 2 * AROUND);
        let shown = (1..).zip(self.text.lines()).skip(from).take(lines.min(MOST));
        shown.map(|(number, line)| numbered(number, line, 200)).collect()
    }
}

#[cfg(test)]
mod tests;
