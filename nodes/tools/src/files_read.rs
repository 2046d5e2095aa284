//! The files read in a session.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use blake3::Hash;
use superstep_nodes::tool::ToolFailure;

use super::workspace::{Folder, display};

/// The files read in a session, each with the digest of its content.
///
/// A digest shows whether a file has changed. The time of the last change does not: it may be too coarse for two
/// changes, and it can be set.
#[derive(Default)]
pub(super) struct FilesRead(Mutex<HashMap<PathBuf, Hash>>);

impl FilesRead {
    /// Notes the current content of a file as read.
    pub(super) fn note(&self, folder: &Folder, path: &Path, content: &[u8]) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.insert(folder.path().join(path), blake3::hash(content));
    }

    /// Refuses a file that was not read in this session, or has changed since.
    pub(super) fn check(&self, folder: &Folder, path: &Path, content: &[u8]) -> Result<(), ToolFailure> {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let named = display(path);
        match files.get(&folder.path().join(path)) {
            None => Err(ToolFailure::new(format!("`{named}` was not read yet: read it first"))),
            Some(read) if *read != blake3::hash(content) => {
                Err(ToolFailure::new(format!("`{named}` has changed since it was read: read it again")))
            }
            Some(_) => Ok(()),
        }
    }
}
