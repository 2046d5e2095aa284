//! The folder that tools work in.

use std::fmt;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata};
use superstep_nodes::tool::{ToolContext, ToolFailure};

/// The folder that tools work in, and do not leave.
///
/// Tools name files relative to it. A path that leads out of it, by `..` or by a symbolic link, is refused, and so is
/// every absolute path. Files are opened through a handle of the folder, on Linux with `openat2` and `RESOLVE_BENEATH`:
/// a link that is created while a tool runs does not lead it out, either.
///
/// The file system decides which files are inside the folder: hard links and mounts in it are inside.
#[derive(Clone, Debug, Default)]
pub struct Workspace(Option<Arc<Folder>>);

/// An error of opening a workspace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// It is not there, is no folder or may not be opened. Name one that is.
    #[error("the workspace {} cannot be opened: {source}", path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl Workspace {
    /// The folder of the session that a call is made in: [`Tools::workspace`](superstep_nodes::node::Tools::workspace)
    /// sets it. A call in a session without one fails.
    pub const fn of_session() -> Self {
        Self(None)
    }

    /// This folder, whatever the session says.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be opened.
    pub fn at(folder: impl AsRef<Path>) -> Result<Self, WorkspaceError> {
        Folder::open(folder.as_ref()).map(|folder| Self(Some(Arc::new(folder))))
    }

    /// The folder of a call.
    pub(super) fn open(&self, context: &ToolContext) -> Result<Arc<Folder>, ToolFailure> {
        match (&self.0, context.workspace()) {
            (Some(folder), _) => Ok(Arc::clone(folder)),
            (None, Some(path)) => Ok(Arc::new(Folder::open(path)?)),
            (None, None) => Err(ToolFailure::new("there is no workspace to work in")),
        }
    }
}

/// A folder that is open. Paths are relative to it.
pub(super) struct Folder {
    dir: Dir,
    /// Its path without links.
    path: PathBuf,
}

impl Folder {
    fn open(path: &Path) -> Result<Self, WorkspaceError> {
        let open = || {
            let whole = path.canonicalize()?;
            Ok(Self { dir: Dir::open_ambient_dir(&whole, ambient_authority())?, path: whole })
        };
        open().map_err(|source| WorkspaceError::Open { path: path.to_owned(), source })
    }

    pub(super) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Its path without links.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The path that a model has named, without links, `.` and `..`. It is there.
    pub(super) fn resolve(&self, named: &str) -> Result<PathBuf, ToolFailure> {
        let relative = self.relative(named)?;
        self.dir.canonicalize(relative).map_err(|error| refusal(named, &error))
    }

    /// Refuses a path that is not relative.
    pub(super) fn relative<'n>(&self, named: &'n str) -> Result<&'n Path, ToolFailure> {
        let path = Path::new(if named.is_empty() { "." } else { named });
        if !path.has_root() && !matches!(path.components().next(), Some(Component::Prefix(_))) {
            return Ok(path);
        }
        let hint = match path.strip_prefix(&self.path) {
            Ok(inside) => format!("; write `{}`", display(inside)),
            Err(_) => String::new(),
        };
        Err(ToolFailure::new(format!("`{named}` is not relative to the workspace{hint}")))
    }

    /// Opens a file for reading. What is none, such as a folder, a pipe or a device, is refused.
    pub(super) fn open_file(&self, path: &Path) -> Result<(File, Metadata), ToolFailure> {
        let named = display(path);
        let failed = |error: io::Error| refusal(&named, &error);
        // Opening a pipe without a writer would block.
        let is_file = |metadata: &Metadata| match (metadata.is_file(), metadata.is_dir()) {
            (true, _) => Ok(()),
            (_, true) => Err(ToolFailure::new(format!("`{named}` is a folder"))),
            _ => Err(ToolFailure::new(format!("`{named}` is no file"))),
        };
        is_file(&self.dir.metadata(path).map_err(failed)?)?;
        let file = self.dir.open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        is_file(&metadata)?;
        Ok((file, metadata))
    }

    /// Opens a file of at most so many bytes.
    pub(super) fn open_at_most(&self, path: &Path, most: u64) -> Result<File, ToolFailure> {
        let (file, metadata) = self.open_file(path)?;
        if metadata.len() <= most { Ok(file) } else { Err(too_large(path, metadata.len(), most)) }
    }

    /// Reads a file of at most so many bytes.
    pub(super) fn read(&self, path: &Path, most: u64) -> Result<Vec<u8>, ToolFailure> {
        let file = self.open_at_most(path, most)?;
        let mut bytes = Vec::new();
        let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| refusal(&display(path), &error))?;
        match u64::try_from(bytes.len()) {
            Ok(length) if length <= most => Ok(bytes),
            // It has grown since.
            _ => Err(too_large(path, most + 1, most)),
        }
    }
}

impl fmt::Debug for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Folder").field(&self.path).finish()
    }
}

fn too_large(path: &Path, bytes: u64, most: u64) -> ToolFailure {
    let named = display(path);
    ToolFailure::new(format!("`{named}` has {bytes} bytes, and more than {most} are not read"))
}

/// A path as models are shown it.
pub(super) fn display(path: &Path) -> String {
    let parts = path.components().map(|part| part.as_os_str().to_string_lossy());
    parts.collect::<Vec<_>>().join("/")
}

/// Returns the error for the model when a file cannot be accessed.
pub(super) fn refusal(named: &str, error: &io::Error) -> ToolFailure {
    // The error of a path that leads out is made by the library, so it has no number of the system's.
    let leads_out = error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none();
    ToolFailure::new(match error.kind() {
        _ if leads_out => format!("`{named}` leads out of the workspace"),
        io::ErrorKind::NotFound => format!("there is no `{named}` in the workspace"),
        _ => format!("`{named}`: {error}"),
    })
}

#[cfg(test)]
mod tests;
