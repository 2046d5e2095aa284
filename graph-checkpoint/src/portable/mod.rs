//! Threads as documents: exports a thread with all its data as one JSON text, and imports it.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use superstep_checkpoint::portable::{Export, export, import};
//! use superstep_checkpoint::{SqliteReader, SqliteSaver};
//!
//! # let folder = tempfile::tempdir()?;
//! # let (here, there) = (folder.path().join("here.db"), folder.path().join("there.db"));
//! # drop(SqliteSaver::open(&here).await?);
//! let found = export(&SqliteReader::open(&here)?, &"rust".into())?;
//! if let Some(found) = found {
//!     let text = found.to_text();
//!     let read = Export::parse(&text)?;
//!     import(&SqliteSaver::open(&there).await?, read, &"rust".into()).await?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! An export contains the thread's checkpoints with all its branches, the past that it shares with other threads, the
//! threads of its subgraphs, and the work on top of them: results, failures, questions, answers, effects. Ids, times,
//! steps and sources are preserved, so an export of an imported thread is the same text.

pub(crate) mod document;
pub(crate) mod plan;
pub(crate) mod read;
mod redact;
mod verify;

use std::fmt;

use async_trait::async_trait;
use superstep_core::checkpoint::StoreError;
use superstep_core::id::ThreadId;
use superstep_core::state::{Excess, SizeLimits};

pub(crate) use self::document::Document;
use crate::checkpoint_reader::CheckpointReader;
use crate::limited::too_large;

/// A thread as a document.
#[derive(Clone)]
pub struct Export {
    pub(crate) document: Document,
}

/// An error for a text that is not a usable export.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoExport {
    /// The text is not an export.
    #[error("it is not an export of a thread: {0}")]
    Unreadable(String),
    /// A newer version of the program has written it. Upgrade.
    #[error("the export has format {found}; this program reads up to {supported}")]
    Newer {
        /// The export's format.
        found: u32,
        /// The newest format known here.
        supported: u32,
    },
    /// The text differs from what was exported: it was edited or damaged. Export it again.
    #[error("the export was damaged, or changed after it was made: its digest does not match")]
    Changed,
    /// Its parts do not fit together, though its digest matches.
    #[error("the parts of the export do not fit together: {0}")]
    Inconsistent(String),
    /// The document, or a state in it, exceeds the size limits. If you trust its source, set larger limits: see
    /// [`Export::parse_within`].
    #[error("the export has {0}, which the limits do not allow")]
    TooLarge(Excess),
}

impl Export {
    /// The newest format of an export that can be read. Exports are written in this format.
    pub const FORMAT: u32 = document::FORMAT;

    /// Parses an export, and checks all of it.
    ///
    /// # Errors
    /// Returns an error if the text is not an export, has a newer format, was changed, is inconsistent, or exceeds the
    /// [`SizeLimits`]; a document as a whole may have four times the size of a state.
    pub fn parse(text: &str) -> Result<Self, NoExport> {
        Self::parse_within(text, SizeLimits::default())
    }

    /// Parses an export, like [`parse`](Self::parse), with the size limits of the file from which it comes.
    ///
    /// # Errors
    /// Returns the errors of [`parse`](Self::parse).
    pub fn parse_within(text: &str, limits: SizeLimits) -> Result<Self, NoExport> {
        let document = Document::parse(text, limits)?;
        verify::verify(&document, limits)?;
        Ok(Self { document })
    }

    /// Returns the export as text: one JSON document.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.document.to_text()
    }

    /// Returns the exported thread.
    #[must_use]
    pub fn thread(&self) -> &ThreadId {
        &self.document.root().name
    }

    /// Returns the number of checkpoints, including those of subgraphs.
    #[must_use]
    pub fn checkpoints(&self) -> usize {
        self.document.checkpoints.len()
    }

    /// Returns the threads of which the export only has a past, because the exported thread shares it.
    pub fn shared_with(&self) -> impl Iterator<Item = &ThreadId> {
        self.document.threads.iter().filter(|thread| thread.head.is_none()).map(|thread| &thread.name)
    }

    /// Returns `true` if both have the same content, whatever the order of their checkpoints.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.document.in_order() == other.document.in_order()
    }

    /// Returns `true` if the secrets are redacted.
    #[must_use]
    pub fn is_redacted(&self) -> bool {
        self.document.redacted
    }

    /// Redacts the secrets: `"<secret>"` replaces every value of a secret field, and occurrences of its text in all
    /// other values. [`SecretTexts`](superstep_core::state::SecretTexts) lists the texts that are not replaced. A
    /// program may be unable to continue from a redacted export.
    #[must_use]
    pub fn redacted(mut self) -> Self {
        redact::redact(&mut self.document);
        self
    }
}

impl fmt::Debug for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Export");
        shown.field("thread", self.thread()).field("checkpoints", &self.checkpoints()).finish_non_exhaustive()
    }
}

/// Reads one consistent state of a thread as a document; `None` if there is no such thread. The threads of subgraphs
/// are exported with the thread above them, and cannot be exported alone.
///
/// # Errors
/// Returns [`StoreError::Corrupt`] if a row that was read is damaged, [`StoreError::TooLarge`] if the document would
/// exceed the size limits of the reader, and [`StoreError::Io`].
pub fn export<R: CheckpointReader + ?Sized>(
    reader: &R,
    thread: &ThreadId,
) -> Result<Option<Export>, StoreError> {
    reader.export(thread)
}

/// Returns the document as an export, if it does not exceed the limits.
pub(crate) fn within(
    limits: SizeLimits,
    thread: &ThreadId,
    document: Option<Document>,
) -> Result<Option<Export>, StoreError> {
    let checked = document.iter().try_for_each(|document| document.check(limits));
    checked.map_err(|excess| too_large(format_args!("the export of thread {thread}"), excess))?;
    Ok(document.map(|document| Export { document }))
}

/// A saver that stores exports.
#[async_trait]
pub trait ImportTarget: private::Sealed + Send + Sync {
    /// Stores an export as the thread `name`. See [`import`].
    ///
    /// # Errors
    /// Returns the errors of [`import`].
    async fn import(&self, export: Export, name: &ThreadId) -> Result<(), StoreError>;
}

mod private {
    pub trait Sealed {}

    #[cfg(feature = "sqlite")]
    impl Sealed for crate::sqlite::SqliteSaver {}

    #[cfg(feature = "postgres")]
    impl Sealed for crate::postgres::PostgresSaver {}
}

/// Stores an export as the thread `name`, in one transaction. Checkpoints that the thread shares with others are stored
/// like those of a deleted thread, unless they already exist.
///
/// # Errors
/// Returns [`StoreError::ThreadExists`] if the name is taken, [`StoreError::CheckpointExists`] if the thread itself
/// already exists, under any name, [`StoreError::CheckpointDiffers`] if a shared checkpoint already exists with other
/// contents, and [`StoreError::Io`]. After an error, nothing is stored.
pub async fn import<S: ImportTarget + ?Sized>(
    saver: &S,
    export: Export,
    name: &ThreadId,
) -> Result<(), StoreError> {
    saver.import(export, name).await
}

/// Returns a document as text, with the right digest.
#[cfg(any(fuzzing, test))]
pub(crate) fn signed(text: &str) -> Option<String> {
    serde_json::from_str::<Document>(text).ok().map(|document| document.to_text())
}
