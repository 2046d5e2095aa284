//! Conversations with tools, for tests.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use superstep_nodes::message::ToolCall;
use superstep_nodes::tool::{ToolContext, ToolOutcome, ToolRegistry, ToolResult, ToolSession};

use super::Workspace;

/// A folder, tools that work in it, and what they remember.
pub(super) struct Session {
    folder: tempfile::TempDir,
    tools: ToolRegistry,
    session: ToolSession,
}

impl Session {
    /// With all tools for files, in a folder with these files.
    pub(super) fn with(files: &[(&str, &str)]) -> Self {
        Self::of(super::workspace(Workspace::of_session()), files)
    }

    pub(super) fn of(tools: ToolRegistry, files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let session = Self { session: ToolSession::in_workspace(folder.path()), folder, tools };
        files.iter().for_each(|(path, content)| session.put(path, content));
        session
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(super) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(super) fn get(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// The names of what is in a folder, in order.
    pub(super) fn list(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(path)).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(super) async fn call(&self, tool: &str, input: Value) -> ToolResult {
        let call = ToolCall::new("c", tool, input);
        self.tools.call(&call, &ToolContext::new(&call, self.session.clone())).await
    }

    /// Makes a call that must succeed, and returns its text.
    pub(super) async fn done(&self, tool: &str, input: Value) -> String {
        let result = self.call(tool, input).await;
        let text = result.content.to_text().into_owned();
        assert_eq!(result.outcome(), ToolOutcome::Ok, "{text}");
        text
    }

    /// Makes a call that must not succeed, and returns its outcome and its text.
    pub(super) async fn refused(&self, tool: &str, input: Value) -> (ToolOutcome, String) {
        let result = self.call(tool, input).await;
        let text = result.content.to_text().into_owned();
        assert_ne!(result.outcome(), ToolOutcome::Ok, "{text}");
        (result.outcome(), text)
    }

    /// The same tools and the same folder, in a session that knows of nothing.
    pub(super) fn forget(&mut self) {
        self.session = ToolSession::in_workspace(self.folder.path());
    }
}

/// A link of the file system.
#[cfg(unix)]
pub(super) fn link(target: impl AsRef<Path>, at: &Path) {
    std::os::unix::fs::symlink(target, at).unwrap();
}
