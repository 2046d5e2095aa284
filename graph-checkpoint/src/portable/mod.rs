//! Threads as documents: a thread with all that belongs to it as one JSON text, and back.
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
//! An export holds the thread's checkpoints with all its branches, the past that it shares with other threads, the
//! threads of its subgraphs, and the work on top of them: results, failures, questions, answers, effects. Ids, times,
//! steps and sources are kept, and so an export of what was imported is the same text.

mod document;
mod read;
mod redact;
mod verify;
mod write;

use std::fmt;

use superstep_core::checkpoint::StoreError;
use superstep_core::id::ThreadId;
use superstep_core::state::{Excess, SizeLimits};

pub(crate) use self::document::Document;
use crate::limited::too_large;
use crate::saver::SqliteSaver;
use crate::sqlite_reader::SqliteReader;
use crate::write::queue::Kind;

/// A thread as a document.
#[derive(Clone)]
pub struct Export {
    document: Document,
}

/// A text is no export that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoExport {
    /// It is something else.
    #[error("it is no export of a thread: {0}")]
    Unreadable(String),
    /// A newer version of the program has made it. Upgrade.
    #[error("the export has format {found}; this program reads up to {supported}")]
    Newer {
        /// The export's format.
        found: u32,
        /// The newest format known here.
        supported: u32,
    },
    /// It is not what was exported: somebody has changed it, or something has damaged it. Export it again.
    #[error("the export was damaged, or changed after it was made: its digest does not match")]
    Changed,
    /// Its parts do not fit together, though its digest matches.
    #[error("the parts of the export do not fit together: {0}")]
    Inconsistent(String),
    /// It is larger than a document may be, or a state in it is larger than one may be. Give larger limits if it comes
    /// from somebody you know: see [`Export::parse_within`].
    #[error("the export has {0}, which the limits do not allow")]
    TooLarge(Excess),
}

impl Export {
    /// The newest format of an export that can be read, which is the one that is written.
    pub const FORMAT: u32 = document::FORMAT;

    /// Reads an export, and checks it as a whole.
    ///
    /// # Errors
    /// When it is none, is of a newer format, is not as it was written, does not fit together, or is beyond the
    /// [`SizeLimits`], of which a document as a whole may have four times as much.
    pub fn parse(text: &str) -> Result<Self, NoExport> {
        Self::parse_within(text, SizeLimits::default())
    }

    /// As [`parse`](Self::parse), with the limits of the file that it comes from.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse).
    pub fn parse_within(text: &str, limits: SizeLimits) -> Result<Self, NoExport> {
        let document = Document::parse(text, limits)?;
        verify::verify(&document, limits)?;
        Ok(Self { document })
    }

    /// The export as text: one JSON document.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.document.to_text()
    }

    /// The thread.
    #[must_use]
    pub fn thread(&self) -> &ThreadId {
        &self.document.root().name
    }

    /// Returns the number of checkpoints, those of subgraphs included.
    #[must_use]
    pub fn checkpoints(&self) -> usize {
        self.document.checkpoints.len()
    }

    /// Returns `true` if secrets are left out.
    #[must_use]
    pub fn is_redacted(&self) -> bool {
        self.document.redacted
    }

    /// The export without secrets: `"<secret>"` stands in the place of every value of a secret field, and their texts
    /// are hidden in all other values: see [`SecretTexts`](superstep_core::state::SecretTexts) for those that are not.
    /// A program may not be able to go on with it.
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

/// Reads a thread as a document, as it is at one moment; `None` when there is no such thread. The threads of subgraphs
/// go with the thread above them, and have no export of their own.
///
/// # Errors
/// [`StoreError::Corrupt`] when a row that was read is damaged, [`StoreError::TooLarge`] when the document would be
/// larger than one may be by the limits with which the file was opened, and [`StoreError::Io`].
pub fn export(reader: &SqliteReader, thread: &ThreadId) -> Result<Option<Export>, StoreError> {
    let document = reader.read(|connection| {
        let document = read::read(connection, thread)?;
        let checked = document.iter().try_for_each(|document| document.check(connection.limits()));
        checked.map_err(|excess| too_large(format_args!("the export of thread {thread}"), excess))?;
        Ok(document)
    })?;
    Ok(document.map(|document| Export { document }))
}

/// Stores an export as the thread `name`, in one transaction. Checkpoints that the thread shares with others are stored
/// as those of a deleted thread are kept, unless they are there.
///
/// # Errors
/// [`StoreError::ThreadExists`] when the name is taken, [`StoreError::CheckpointExists`] when the thread itself is
/// there already, under whatever name, [`StoreError::CheckpointDiffers`] when what it shares with another one is there
/// and is not the same, and [`StoreError::Io`]. Then nothing is stored.
pub async fn import(saver: &SqliteSaver, export: Export, name: &ThreadId) -> Result<(), StoreError> {
    let name = name.clone();
    saver.write(Kind::Long, move |turn| turn.cache.import(&export.document, &name).map(Ok)).await
}

/// A document as text, with the digest that it should have.
#[cfg(any(fuzzing, test))]
pub(crate) fn signed(text: &str) -> Option<String> {
    serde_json::from_str::<Document>(text).ok().map(|document| document.to_text())
}
