//! The state that the calls of one conversation share.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The state that the calls of one conversation share: the folder that they work in, and values that tools share.
///
/// Values are kept in memory and by their type: tools that share a value name the same type. Values may be lost, so
/// they are for data that tools can do without: a tool for editing files, say, remembers which version of a file was
/// read, and refuses to edit a file that was not. A clone is the same session.
///
/// ```
/// use std::sync::Mutex;
/// use superstep_nodes::tool::ToolSession;
///
/// #[derive(Default)]
/// struct FilesRead(Mutex<Vec<String>>);
///
/// let session = ToolSession::new();
/// session.shared::<FilesRead>().0.lock().unwrap().push("src/main.rs".to_owned());
/// assert_eq!(session.shared::<FilesRead>().0.lock().unwrap().len(), 1);
/// ```
#[derive(Clone, Default)]
pub struct ToolSession {
    workspace: Option<Arc<Path>>,
    shared: Arc<Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>>,
}

impl ToolSession {
    /// Makes a session that has no folder to work in.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a session whose tools work in this folder.
    pub fn in_workspace(folder: impl Into<PathBuf>) -> Self {
        Self { workspace: Some(folder.into().into()), ..Self::default() }
    }

    /// Returns the folder to work in.
    pub fn workspace(&self) -> Option<&Path> {
        self.workspace.as_deref()
    }

    /// Returns the session's value of this type, which is its default at first.
    pub fn shared<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        // A value is made outside of any lock of its own, and the map is whole between its operations.
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let value = shared.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        Arc::clone(value).downcast().expect("a value is kept under its type")
    }
}

impl fmt::Debug for ToolSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolSession").field("workspace", &self.workspace).finish_non_exhaustive()
    }
}
