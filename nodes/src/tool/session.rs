//! The state that the calls of one conversation share.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::LongResults;

/// Notes of tools, by their keys. They are plain texts, so that a state can keep them: see [`ToolSession::with_notes`].
pub type ToolNotes = BTreeMap<String, String>;

/// The state that the calls of one conversation share: the folder that they work in, notes, and values in memory. A clone
/// is the same session.
///
/// Notes are texts by their keys. A graph may keep them in its state, so that another process, a fork and a replay have
/// them: a tool for editing files, say, notes the version of a file that was read, and refuses to edit another one. The
/// notes of a call are part of its record.
///
/// Values are kept by their type: tools that share a value name the same type. They may be lost, so they are for data
/// that tools can do without, such as a connection.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use superstep_nodes::tool::ToolSession;
///
/// let session = ToolSession::new();
/// session.note("file:src/main.rs", "af13");
/// assert_eq!(session.noted("file:src/main.rs").as_deref(), Some("af13"));
///
/// session.shared::<AtomicU32>().fetch_add(1, Ordering::Relaxed);
/// assert_eq!(session.shared::<AtomicU32>().load(Ordering::Relaxed), 1);
/// ```
#[derive(Clone, Default)]
pub struct ToolSession {
    workspace: Option<Arc<Path>>,
    shared: Arc<Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>>,
    notes: Arc<Mutex<ToolNotes>>,
    long_results: Option<Arc<dyn LongResults>>,
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

    /// Replaces the notes by these, which are no longer those of its clones.
    #[must_use]
    pub fn with_notes(mut self, notes: ToolNotes) -> Self {
        self.notes = Arc::new(Mutex::new(notes));
        self
    }

    /// Stores the whole texts of long results in this place.
    #[must_use]
    pub fn with_long_results(mut self, place: Arc<dyn LongResults>) -> Self {
        self.long_results = Some(place);
        self
    }

    /// Returns the place for the whole texts of long results.
    pub fn long_results(&self) -> Option<&Arc<dyn LongResults>> {
        self.long_results.as_ref()
    }

    /// Makes a note, or replaces it.
    pub fn note(&self, key: impl Into<String>, text: impl Into<String>) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).insert(key.into(), text.into());
    }

    /// Returns a note.
    pub fn noted(&self, key: &str) -> Option<String> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
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
