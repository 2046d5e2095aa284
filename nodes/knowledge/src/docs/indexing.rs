//! Options, errors and the report of indexing a folder.

use std::fmt;
use std::path::PathBuf;

/// Options that decide what an index contains.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexOptions {
    /// The kinds of files that are read.
    pub files: FileKinds,
    /// The size in bytes above which a file is skipped.
    pub max_file_bytes: u64,
}

/// The kinds of files that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileKinds {
    /// Markdown and plain text.
    Documents,
    /// Markdown, plain text and source code.
    DocumentsAndSource,
    /// The documentation of a project, whose folder also has code, tests and licences: the Markdown and plain text
    /// below `docs` and `doc`, and the `README` beside these. The other files and folders are not looked at, and not
    /// reported as skipped.
    ProjectDocumentation,
}

impl Default for IndexOptions {
    /// Documents of up to one mebibyte.
    fn default() -> Self {
        Self { files: FileKinds::Documents, max_file_bytes: 1 << 20 }
    }
}

impl IndexOptions {
    /// Sets which kinds of files are read.
    pub fn with_files(mut self, files: FileKinds) -> Self {
        self.files = files;
        self
    }

    /// Sets the size in bytes above which a file is skipped.
    pub fn with_max_file_bytes(mut self, bytes: u64) -> Self {
        self.max_file_bytes = bytes;
        self
    }
}

/// An error of indexing a folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The path is not a folder that can be read. Give one that is.
    #[error("`{}` is not a folder that can be read", path.display())]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
}

/// The files that were indexed, and those that were not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexReport {
    /// The number of indexed files.
    pub files: usize,
    /// The number of passages in these files.
    pub passages: usize,
    /// The files that were not indexed, in order of their paths. Files that are hidden or excluded by a
    /// `.gitignore` are not among them.
    pub skipped: Vec<Skipped>,
}

impl IndexReport {
    /// Returns the files that are of a kind that is read, and were skipped all the same: someone who searches the
    /// folder does not expect them to be missing.
    pub fn unread(&self) -> impl Iterator<Item = &Skipped> {
        self.skipped.iter().filter(|skipped| skipped.reason != SkipReason::Kind)
    }
}

/// A file that was not indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The file, relative to the indexed folder.
    pub path: String,
    /// The reason why it was not indexed.
    pub reason: SkipReason,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}

/// The reason why a file was not indexed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SkipReason {
    /// It is of no kind that is read.
    #[error("not a kind of file that is read")]
    Kind,
    /// It is too large.
    #[error("too large ({bytes} bytes)")]
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// It is not text in UTF-8.
    #[error("not text in UTF-8")]
    Binary,
    /// It could not be read.
    #[error("could not be read: {reason}")]
    Unreadable {
        /// The error of the operating system.
        reason: String,
    },
}
