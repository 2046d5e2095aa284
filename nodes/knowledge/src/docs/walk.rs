//! Finding and reading the files of a folder.

use std::fs;
use std::path::Path;

use ignore::{DirEntry, WalkBuilder};

use super::{FileKinds, IndexError, IndexOptions, SkipReason, Skipped};

/// The files of a folder, in order of their paths.
pub(crate) struct Walk {
    pub(crate) files: Vec<TextFile>,
    pub(crate) skipped: Vec<Skipped>,
}

/// A file that was read.
pub(crate) struct TextFile {
    pub(crate) path: String,
    pub(crate) language: Language,
    pub(crate) text: String,
}

/// The language of a file, which decides how it is cut into passages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Markdown,
    Prose,
    /// Source code whose line comments begin with this.
    Source(&'static str),
}

/// Folders that tools fill and that are not documents.
const GENERATED_FOLDERS: &[&str] = &["target", "node_modules"];

/// Folders of a project that hold its documentation.
const DOCUMENTATION_FOLDERS: &[&str] = &["doc", "docs"];

impl Walk {
    /// Reads the files below a folder that the options ask for.
    pub(crate) fn read(root: &Path, options: &IndexOptions) -> Result<Self, IndexError> {
        if !root.is_dir() {
            return Err(IndexError::NotAFolder { path: root.to_owned() });
        }
        let mut walk = Self { files: Vec::new(), skipped: Vec::new() };
        let kinds = options.files;
        for entry in
            WalkBuilder::new(root).require_git(false).filter_entry(move |entry| is_in(entry, kinds)).build()
        {
            match entry {
                Ok(entry) => walk.visit(root, &entry, options),
                Err(error) => walk.skipped.push(unreadable(root, &error)),
            }
        }
        walk.files.sort_by(|a, b| a.path.cmp(&b.path));
        walk.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(walk)
    }

    fn visit(&mut self, root: &Path, entry: &DirEntry, options: &IndexOptions) {
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            return;
        }
        let path = relative(root, entry.path());
        match read(entry, options) {
            Ok((language, text)) => self.files.push(TextFile { path, language, text }),
            Err(reason) => self.skipped.push(Skipped { path, reason }),
        }
    }
}

/// Tells whether a file is looked at, or a folder walked.
fn is_in(entry: &DirEntry, kinds: FileKinds) -> bool {
    let folder = entry.file_type().is_some_and(|kind| kind.is_dir());
    let is_one_of = |names: &[&str]| names.iter().any(|name| entry.file_name() == *name);
    match entry.depth() {
        0 => true,
        1 if kinds == FileKinds::ProjectDocumentation => match folder {
            true => is_one_of(DOCUMENTATION_FOLDERS),
            false => entry.path().file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case("readme")),
        },
        _ => !(folder && is_one_of(GENERATED_FOLDERS)),
    }
}

/// Reports a folder that could not be walked, or a file that could not be looked at.
fn unreadable(root: &Path, error: &ignore::Error) -> Skipped {
    let path = path_of(error).map_or_else(String::new, |path| relative(root, path));
    let reason = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
    Skipped { path, reason: SkipReason::Unreadable { reason } }
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        _ => None,
    }
}

fn relative(root: &Path, path: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

fn read(entry: &DirEntry, options: &IndexOptions) -> Result<(Language, String), SkipReason> {
    let unreadable = |reason: String| SkipReason::Unreadable { reason };
    let language = language(entry.path()).ok_or(SkipReason::Kind)?;
    if matches!(language, Language::Source(_)) && options.files != FileKinds::DocumentsAndSource {
        return Err(SkipReason::Kind);
    }
    let bytes = entry.metadata().map_err(|error| unreadable(error.to_string()))?.len();
    if bytes > options.max_file_bytes {
        return Err(SkipReason::TooLarge { bytes });
    }
    let content = fs::read(entry.path()).map_err(|error| unreadable(error.to_string()))?;
    let text = String::from_utf8(content).map_err(|_| SkipReason::Binary)?;
    if text.contains('\0') {
        return Err(SkipReason::Binary);
    }
    Ok((language, text))
}

fn language(path: &Path) -> Option<Language> {
    let Some(extension) = path.extension() else {
        return Some(Language::Prose);
    };
    Some(match extension.to_string_lossy().to_lowercase().as_str() {
        "md" | "markdown" => Language::Markdown,
        "txt" | "text" | "rst" | "adoc" => Language::Prose,
        "rs" | "c" | "h" | "cc" | "cpp" | "hpp" | "cs" | "go" | "java" | "js" | "jsx" | "kt" | "swift"
        | "ts" | "tsx" | "zig" => Language::Source("//"),
        "py" | "rb" | "sh" | "toml" | "yaml" | "yml" => Language::Source("#"),
        "lua" | "sql" => Language::Source("--"),
        _ => return None,
    })
}
