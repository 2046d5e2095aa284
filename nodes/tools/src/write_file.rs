//! The tool that writes files.

use std::io;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep_core::run::CancellationToken;
use superstep_nodes::tool::{
    InvalidInput, PermissionMatcher, ToolContext, ToolEffect, ToolFailure, ToolOutput,
};

use super::built_in::{BuiltIn, blocking, built_in};
use super::files_read::FilesRead;
use super::path_rule::path_matcher;
use super::replace::replace;
use super::workspace::{Folder, Workspace, display, refusal};

/// The tool `write_file`: makes a file, or puts another content into one that was read.
///
/// A file that is there must have been read in this session and must not have changed since. The file is replaced at
/// once, by a rename: a reader sees the old content or the new. It keeps its permissions. Missing folders are made.
/// Nothing is written below a folder `.git`, whose hooks git would run.
///
/// A change by another program between the last check of the file and the rename is lost.
#[derive(Clone, Debug)]
pub struct WriteFile {
    workspace: Workspace,
}

/// The input of [`WriteFile`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteFileInput {
    /// The file, relative to the workspace.
    pub path: String,
    /// The whole new content of the file.
    pub content: String,
}

/// The size in bytes above which a file is neither written nor edited.
pub(super) const MAX_BYTES: u64 = 10 << 20;

impl WriteFile {
    /// The name of the tool.
    pub const NAME: &'static str = "write_file";

    /// Makes a tool that writes the files of a workspace.
    pub fn new(workspace: Workspace) -> Self {
        Self { workspace }
    }
}

#[async_trait]
impl BuiltIn for WriteFile {
    type Input = WriteFileInput;

    fn describe(&self) -> String {
        "Writes a whole file of the workspace: a new one, or one that you have read and that has not changed since. Missing \
         folders are made. A file has 10 MiB at most. To change a part of a file, use `edit_file`."
            .to_owned()
    }

    /// The same content again changes nothing, and over another it is refused.
    fn effect_of(&self, _: &WriteFileInput) -> ToolEffect {
        ToolEffect::Idempotent
    }

    fn in_short(&self, input: &WriteFileInput) -> String {
        format!("write {} bytes to the file {}", input.content.len(), input.path)
    }

    fn matcher(&self, input: &WriteFileInput) -> Option<PermissionMatcher> {
        path_matcher(&input.path)
    }

    async fn validate(&self, input: &WriteFileInput, context: &ToolContext) -> Result<(), InvalidInput> {
        let checked = self.in_workspace(input.clone(), context, |folder, files, input| {
            target(folder, files, &input.path, Some(input.content.as_bytes())).map(drop)
        });
        checked.await.map_err(|refused| InvalidInput::new(refused.to_string()))
    }

    async fn run(&self, input: WriteFileInput, context: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let stop = context.cancellation().clone();
        self.in_workspace(input, context, move |folder, files, input| {
            let content = input.content.as_bytes();
            let Written { named, before } = write(folder, files, &input.path, content, &stop)?;
            let said = match &before {
                Some(before) if before == content => "had this content already",
                Some(_) => "was replaced",
                None => "was written",
            };
            let data = json!({ "path": named, "bytes": content.len(), "new": before.is_none() });
            Ok(ToolOutput::text(format!("{named} {said}: {} bytes.", content.len())).with_data(data))
        })
        .await
    }
}

built_in!(WriteFile);

impl WriteFile {
    async fn in_workspace<T: Send + 'static>(
        &self,
        input: WriteFileInput,
        context: &ToolContext,
        work: impl FnOnce(&Folder, &FilesRead, WriteFileInput) -> Result<T, ToolFailure> + Send + 'static,
    ) -> Result<T, ToolFailure> {
        let (folder, files) = (self.workspace.open(context)?, FilesRead::of(context));
        blocking(move || work(&folder, &files, input)).await
    }
}

/// A file that was written.
pub(super) struct Written {
    /// The path, as models are shown it.
    pub(super) named: String,
    /// The content before; `None` for a new file.
    pub(super) before: Option<Vec<u8>>,
}

/// Writes a file that is new, or that was read in this session and has not changed since.
pub(super) fn write(
    folder: &Folder,
    files: &FilesRead,
    named: &str,
    content: &[u8],
    stop: &CancellationToken,
) -> Result<Written, ToolFailure> {
    let (path, before) = target(folder, files, named, Some(content))?;
    let named = display(&path);
    if stop.is_cancelled() {
        return Err(ToolFailure::new("stopped before anything was written"));
    }
    if before.as_deref() != Some(content) {
        make_folders(folder, &path)?;
        replace(folder.dir(), &path, content).map_err(|error| refusal(&named, &error))?;
    }
    files.note(folder, &path, content);
    Ok(Written { named, before })
}

/// The file that is to be written, and what is in it now. The content is `None` where it is not known yet.
pub(super) fn target(
    folder: &Folder,
    files: &FilesRead,
    named: &str,
    content: Option<&[u8]>,
) -> Result<(PathBuf, Option<Vec<u8>>), ToolFailure> {
    if content.is_some_and(|content| content.len() as u64 > MAX_BYTES) {
        return Err(ToolFailure::new(format!("the content has more than {MAX_BYTES} bytes")));
    }
    let relative = folder.relative(named)?;
    let present = match folder.dir().symlink_metadata(relative) {
        Ok(_) => true,
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(refusal(named, &error)),
    };
    if !present {
        let path = new_path(folder, named)?;
        not_of_git(&path)?;
        return Ok((path, None));
    }
    let path = folder.resolve(named)?;
    not_of_git(&path)?;
    let before = folder.read(&path, MAX_BYTES)?;
    if content != Some(&before) {
        files.check(folder, &path, &before)?;
    }
    Ok((path, Some(before)))
}

/// The path of a file that is not there: the folder that is nearest to it, without links, and the rest.
fn new_path(folder: &Folder, named: &str) -> Result<PathBuf, ToolFailure> {
    let path = folder.relative(named)?;
    let named_file = path.file_name().is_some() && !named.ends_with(['/', '.']);
    if !named_file {
        return Err(ToolFailure::new(format!("`{named}` names no file")));
    }
    let mut missing = Vec::new();
    for above in path.ancestors() {
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        match folder.dir().canonicalize(above) {
            Ok(whole) => {
                let mut whole = if whole == Path::new(".") { PathBuf::new() } else { whole };
                whole.extend(missing.iter().rev());
                return Ok(whole);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // What leads up out of a folder that is not there leads nowhere.
                let missed = above.file_name().ok_or_else(|| refusal(named, &error))?;
                missing.push(missed.to_owned());
            }
            Err(error) => return Err(refusal(named, &error)),
        }
    }
    Err(ToolFailure::new(format!("`{named}` names no file")))
}

fn make_folders(folder: &Folder, path: &Path) -> Result<(), ToolFailure> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => {
            folder.dir().create_dir_all(parent).map_err(|error| refusal(&display(parent), &error))
        }
        _ => Ok(()),
    }
}

/// Refuses what belongs to git: a hook or a setting there is run by the next use of git in the folder.
pub(super) fn not_of_git(path: &Path) -> Result<(), ToolFailure> {
    if path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git")) {
        return Err(ToolFailure::new(format!("`{}` belongs to git and is not written", display(path))));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
