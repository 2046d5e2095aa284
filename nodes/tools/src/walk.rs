//! The files below a folder of the workspace.

use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder};
use superstep_core::run::CancellationToken;
use superstep_nodes::tool::ToolFailure;

use super::workspace::{Folder, display};

/// The files to find.
pub(super) struct Walk<'a> {
    pub(super) folder: &'a Folder,
    /// The folder to begin in, relative to the workspace and without links.
    pub(super) from: &'a Path,
    /// `true` to visit hidden files, too.
    pub(super) hidden: bool,
    pub(super) stop: &'a CancellationToken,
}

/// The decision of a visitor to continue or to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Go {
    On,
    NoFurther,
}

impl Walk<'_> {
    /// Visits the files in order of their paths, which are relative to the workspace. What a `.gitignore` excludes is
    /// not among them, nor is what is below `.git`; links are not followed. Returns how many entries could not be read.
    ///
    /// # Errors
    ///
    /// Fails if the call is cancelled, and if a visit fails.
    pub(super) fn each(
        &self,
        mut visit: impl FnMut(PathBuf) -> Result<Go, ToolFailure>,
    ) -> Result<usize, ToolFailure> {
        let from = self.folder.path().join(self.from);
        let mut unreadable = 0;
        let mut walk = WalkBuilder::new(&from);
        walk.hidden(!self.hidden).require_git(false).follow_links(false).filter_entry(|entry| !is_git(entry));
        walk.sort_by_file_path(|a, b| a.cmp(b));
        for entry in walk.build() {
            if self.stop.is_cancelled() {
                return Err(ToolFailure::new("stopped"));
            }
            let Ok(entry) = entry else {
                unreadable += 1;
                continue;
            };
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                continue;
            }
            let path = entry.path().strip_prefix(self.folder.path()).unwrap_or(entry.path());
            if visit(path.to_owned())? == Go::NoFurther {
                break;
            }
        }
        Ok(unreadable)
    }
}

fn is_git(entry: &DirEntry) -> bool {
    entry.depth() > 0 && entry.file_name() == ".git"
}

/// Says which files a pattern is about: of the name, at any depth, if it has no `/`, and else of the path below the
/// folder that is searched.
pub(super) struct Pattern(globset::GlobMatcher);

impl Pattern {
    pub(super) fn parse(text: &str) -> Result<Self, ToolFailure> {
        let text = text.strip_prefix("./").unwrap_or(text);
        let whole = if text.contains('/') { text.to_owned() } else { format!("**/{text}") };
        let glob = globset::GlobBuilder::new(&whole).literal_separator(true).build();
        Ok(Self(
            glob.map_err(|error| ToolFailure::new(format!("`{text}` is no pattern: {error}")))?
                .compile_matcher(),
        ))
    }

    /// Returns `true` if the pattern matches a path of the workspace when the folder `from` is searched.
    pub(super) fn is_about(&self, from: &Path, path: &Path) -> bool {
        let below = path.strip_prefix(from).unwrap_or(path);
        // Where a file is searched and no folder, nothing is left of its path.
        let below =
            if below.as_os_str().is_empty() { path.file_name().map_or(path, Path::new) } else { below };
        self.0.is_match(display(below))
    }
}
