//! The files read in a session.

use std::path::Path;

use superstep_nodes::tool::{ToolContext, ToolFailure};

use super::workspace::{Folder, display};

/// The files read in a session, each with the digest of its content. They are notes of the session, so a state may keep
/// them.
///
/// A digest shows whether a file has changed. The time of the last change does not: it may be too coarse for two
/// changes, and it can be set.
pub(super) struct FilesRead(ToolContext);

impl FilesRead {
    /// Those of the session of a call.
    pub(super) fn of(context: &ToolContext) -> Self {
        Self(context.clone())
    }

    /// Notes the current content of a file as read.
    pub(super) fn note(&self, folder: &Folder, path: &Path, content: &[u8]) {
        self.0.note(self.key(folder, path), digest(content));
    }

    /// Refuses a file that was not read in this session, or has changed since.
    pub(super) fn check(&self, folder: &Folder, path: &Path, content: &[u8]) -> Result<(), ToolFailure> {
        let named = display(path);
        match self.0.noted(&self.key(folder, path)) {
            None => Err(ToolFailure::new(format!("`{named}` was not read yet: read it first"))),
            Some(read) if read != digest(content) => {
                Err(ToolFailure::new(format!("`{named}` has changed since it was read: read it again")))
            }
            Some(_) => Ok(()),
        }
    }

    /// Returns the key of a file: its path relative to the session's folder, which a fork may have elsewhere; in another
    /// folder, the whole path.
    fn key(&self, folder: &Folder, path: &Path) -> String {
        let session = self.0.workspace().and_then(|path| path.canonicalize().ok());
        match session.as_deref() == Some(folder.path()) {
            true => format!("file:{}", display(path)),
            false => format!("file:{}", folder.path().join(path).display()),
        }
    }
}

fn digest(content: &[u8]) -> String {
    blake3::hash(content).to_hex()[..32].to_owned()
}
