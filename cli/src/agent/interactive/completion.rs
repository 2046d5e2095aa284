//! Completions of commands and files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ignore::WalkBuilder;
use reedline::{Completer, CompletionResult, Span, Suggestion};

use super::commands::COMMANDS;

/// The maximum number of files that are looked at, and of suggestions.
const MOST_FILES: usize = 20_000;
const MOST_SUGGESTIONS: usize = 40;

/// Completes `/` and the name of a command at the beginning of a message, and `@` and a path anywhere.
pub(crate) struct Completions {
    workspace: PathBuf,
    /// The user's own commands: names with descriptions.
    own: BTreeMap<String, String>,
    /// The paths of the workspace, without those that `.gitignore` excludes; read when a line wants the first one.
    files: Option<Vec<String>>,
    /// Set for each new line.
    is_new_line: Arc<AtomicBool>,
}

impl Completions {
    pub(crate) fn new(workspace: &Path, own: BTreeMap<String, String>) -> Self {
        Self { workspace: workspace.to_owned(), own, files: None, is_new_line: Arc::default() }
    }

    /// Returns the sign of a new line, for which the files are read again.
    pub(crate) fn new_line(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_new_line)
    }

    fn commands(&self, typed: &str, span: Span) -> Vec<Suggestion> {
        let built_in = COMMANDS.iter().map(|command| (command.name.to_owned(), command.help.to_owned()));
        let all = built_in.chain(self.own.clone());
        let fitting = all.filter(|(name, _)| name.starts_with(typed));
        fitting.map(|(name, help)| suggestion(format!("/{name}"), Some(help), span)).collect()
    }

    fn files(&mut self, typed: &str, span: Span) -> Vec<Suggestion> {
        if self.is_new_line.swap(false, Ordering::Relaxed) {
            self.files = None;
        }
        let files = self.files.get_or_insert_with(|| walk(&self.workspace));
        let found = matching(files, typed);
        found.into_iter().map(|path| suggestion(format!("@{path}"), None, span)).collect()
    }
}

impl Completer for Completions {
    fn complete(&mut self, line: &str, position: usize) -> CompletionResult {
        let before = &line[..position];
        let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let (word, span) = (&before[start..], Span::new(start, position));
        let suggestions = match (word.strip_prefix('/'), word.strip_prefix('@')) {
            (Some(command), _) if start == 0 => self.commands(command, span),
            (_, Some(path)) => self.files(path, span),
            _ => Vec::new(),
        };
        CompletionResult::fresh(suggestions)
    }
}

fn suggestion(value: String, description: Option<String>, span: Span) -> Suggestion {
    // After a folder more may follow.
    let append_whitespace = !value.ends_with('/');
    Suggestion { value, description, span, append_whitespace, ..Suggestion::default() }
}

/// Returns the files and folders of a workspace, folders with a slash at the end.
fn walk(workspace: &Path) -> Vec<String> {
    let entries = WalkBuilder::new(workspace).require_git(false).sort_by_file_path(Ord::cmp).build();
    let paths = entries.flatten().filter_map(|entry| {
        let path = entry.path().strip_prefix(workspace).ok()?.to_str()?.to_owned();
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        (!path.is_empty()).then(|| if is_folder { path + "/" } else { path })
    });
    paths.take(MOST_FILES).collect()
}

/// Returns the paths that begin with a text, and then those that contain it.
fn matching(files: &[String], typed: &str) -> Vec<String> {
    let folded = typed.to_lowercase();
    let (beginning, others): (Vec<&String>, Vec<&String>) = files
        .iter()
        .filter(|path| path.to_lowercase().contains(&folded))
        .partition(|path| path.to_lowercase().starts_with(&folded));
    beginning.into_iter().chain(others).take(MOST_SUGGESTIONS).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(completions: &mut Completions, line: &str) -> Vec<String> {
        let found = completions.complete(line, line.len());
        found.suggestions().iter().map(|it| it.value.clone()).collect()
    }

    #[test]
    fn commands_are_completed_at_the_beginning_only() {
        let own = BTreeMap::from([("review".to_owned(), "Reviews a change.".to_owned())]);
        let mut completions = Completions::new(Path::new("nowhere"), own);
        assert_eq!(values(&mut completions, "/re"), ["/resume", "/rewind", "/review"]);
        assert_eq!(values(&mut completions, "see /re"), [""; 0]);
        assert_eq!(values(&mut completions, "re"), [""; 0]);
    }

    #[test]
    fn files_are_completed_without_those_that_gitignore_excludes() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("src")).unwrap();
        for (name, text) in
            [("src/main.rs", ""), ("src/old.rs", ""), ("notes.md", ""), (".gitignore", "old.rs\n")]
        {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let mut completions = Completions::new(folder.path(), BTreeMap::new());
        assert_eq!(values(&mut completions, "read @sr"), ["@src/", "@src/main.rs"]);
        assert_eq!(values(&mut completions, "read @MAIN"), ["@src/main.rs"]);
        assert_eq!(values(&mut completions, "@"), ["@notes.md", "@src/", "@src/main.rs"]);
    }
}
