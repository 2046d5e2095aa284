//! The files that were indexed, and those that were not.

use std::fmt;

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
