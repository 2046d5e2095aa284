//! The contents of an index.

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
