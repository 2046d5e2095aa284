//! Bringing a folder of documents into a knowledge base.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use superstep_nodes::__private::blocking;

use super::{Chunk, Chunker, KnowledgeBase, KnowledgeError};
use crate::docs::walk::{Language, TextFile, Walk};
use crate::docs::{FileKinds, IndexOptions, SkipReason, Skipped};

/// Brings the documents of a folder into a knowledge base: see [`KnowledgeBase::ingest`].
///
/// Documents that have not changed since they were ingested are left alone, so an interrupted ingestion continues
/// where it was, and one that is repeated costs next to nothing.
///
/// ```
/// use superstep_knowledge::rag::{HashEmbedder, KnowledgeBase};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # let folder = tempfile::tempdir().unwrap();
/// # std::fs::write(folder.path().join("light.md"), "Soft light suits landscapes.").unwrap();
/// # let file = tempfile::tempdir().unwrap();
/// # let file = file.path().join("knowledge.db");
/// # let guides = folder.path();
/// let base = KnowledgeBase::open(file, "guides", HashEmbedder::default())?;
/// let report = base.ingest(guides).remove_missing().progress(|progress| eprintln!("{progress}")).run().await?;
/// assert_eq!(report.added, 1);
/// # Ok::<(), superstep_knowledge::rag::KnowledgeError>(())
/// # }).unwrap();
/// ```
#[must_use = "nothing is ingested before it runs"]
pub struct Ingestion<'b> {
    base: &'b KnowledgeBase,
    folder: PathBuf,
    files: IndexOptions,
    chunker: Chunker,
    remove_missing: bool,
    progress: Box<dyn Fn(&IngestProgress<'_>) + Send + Sync + 'b>,
}

/// The progress of an ingestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IngestProgress<'i> {
    /// The number of documents that are done.
    pub done: usize,
    /// The number of documents.
    pub total: usize,
    /// The number of chunks embedded so far.
    pub chunks: usize,
    /// The document that comes next; nothing at the end.
    pub next: Option<&'i str>,
}

/// The result of an ingestion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IngestReport {
    /// The number of new documents.
    pub added: usize,
    /// The number of documents that have changed and were replaced.
    pub replaced: usize,
    /// The number of documents that have not changed.
    pub unchanged: usize,
    /// The documents that are no longer in the folder, and were removed.
    pub removed: Vec<String>,
    /// The number of chunks embedded.
    pub chunks: usize,
    /// The files that were not ingested, in order of their paths. Files that are hidden or excluded by a `.gitignore`
    /// are not among them.
    pub skipped: Vec<Skipped>,
}

impl<'b> Ingestion<'b> {
    pub(super) fn new(base: &'b KnowledgeBase, folder: &Path) -> Self {
        Self {
            base,
            folder: folder.to_owned(),
            files: IndexOptions::default(),
            chunker: Chunker::default(),
            remove_missing: false,
            progress: Box::new(|_| {}),
        }
    }

    /// Cuts documents with this chunker. Documents that were cut with another are ingested again.
    pub fn chunker(mut self, chunker: Chunker) -> Self {
        self.chunker = chunker;
        self
    }

    /// Takes these kinds of files in.
    pub fn files(mut self, kinds: FileKinds) -> Self {
        self.files.files = kinds;
        self
    }

    /// Skips files of more bytes than this; one mebibyte if nothing is said.
    pub fn max_file_bytes(mut self, bytes: u64) -> Self {
        self.files.max_file_bytes = bytes;
        self
    }

    /// Removes the documents of the collection that are not in the folder: all that do not come from it, too. A file
    /// that cannot be read keeps its document, and while a folder cannot be read, nothing is removed.
    pub fn remove_missing(mut self) -> Self {
        self.remove_missing = true;
        self
    }

    /// Tells this function how far it is, before each document and at the end.
    pub fn progress(mut self, tell: impl Fn(&IngestProgress<'_>) + Send + Sync + 'b) -> Self {
        self.progress = Box::new(tell);
        self
    }

    /// Ingests the documents, in order of their paths. Each is kept when it is embedded, all of it or nothing.
    ///
    /// # Errors
    /// When the folder cannot be read, a document cannot be embedded, or the file cannot be written. The documents
    /// before are kept. A file that cannot be read is no error: it is listed in the report.
    pub async fn run(self) -> Result<IngestReport, KnowledgeError> {
        let (folder, options) = (self.folder.clone(), self.files.clone());
        let walk = blocking(move || Walk::read(&folder, &options)).await.ok_or(KnowledgeError::Stopped)??;
        let (total, mut report) =
            (walk.files.len(), IngestReport { skipped: walk.skipped, ..IngestReport::default() });
        for (done, file) in walk.files.iter().enumerate() {
            let progress = IngestProgress { done, total, chunks: report.chunks, next: Some(&file.path) };
            (self.progress)(&progress);
            self.take(file, &mut report).await?;
        }
        if self.remove_missing {
            for source in gone(self.base.sources().await?, &walk.files, &report.skipped) {
                self.base.remove(&source).await?;
                report.removed.push(source);
            }
        }
        (self.progress)(&IngestProgress { done: total, total, chunks: report.chunks, next: None });
        Ok(report)
    }

    async fn take(&self, file: &TextFile, report: &mut IngestReport) -> Result<(), KnowledgeError> {
        let digest = self.digest(file);
        let source = file.path.clone();
        match self.base.in_store(move |store| store.digest(&source)).await? {
            Some(stored) if stored == digest => {
                report.unchanged += 1;
                return Ok(());
            }
            Some(_) => report.replaced += 1,
            None => report.added += 1,
        }
        let chunks = self.split(file);
        report.chunks += chunks.len();
        self.base.put(&file.path, digest, chunks).await
    }

    fn split(&self, file: &TextFile) -> Vec<Chunk> {
        match file.language {
            Language::Markdown => self.chunker.split_markdown(&file.text),
            Language::Prose | Language::Source(_) => self.chunker.split(&file.text),
        }
    }

    /// Returns a digest of a document's text and of the way in which it is cut.
    fn digest(&self, file: &TextFile) -> [u8; 32] {
        let cut = format!("{} {} ", self.chunker.size(), self.chunker.overlap());
        *blake3::Hasher::new().update(cut.as_bytes()).update(file.text.as_bytes()).finalize().as_bytes()
    }
}

/// The documents that are not in the folder any more. That is not known of files that cannot be read; below a folder
/// that cannot be read, which has no path here, may be anything.
fn gone(mut sources: Vec<String>, files: &[TextFile], skipped: &[Skipped]) -> Vec<String> {
    let unreadable = |skipped: &&Skipped| matches!(skipped.reason, SkipReason::Unreadable { .. });
    let unknown: BTreeSet<&str> = skipped.iter().filter(unreadable).map(|skipped| &*skipped.path).collect();
    if unknown.contains("") {
        return Vec::new();
    }
    let there: BTreeSet<&str> = files.iter().map(|file| &*file.path).chain(unknown).collect();
    sources.retain(|source| !there.contains(&**source));
    sources
}

impl fmt::Display for IngestProgress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { done, total, chunks, next } = self;
        write!(f, "{done} of {total} documents, {chunks} chunks")?;
        next.map_or(Ok(()), |next| write!(f, ": {next}"))
    }
}

impl fmt::Debug for Ingestion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ingestion = f.debug_struct("Ingestion");
        ingestion.field("folder", &self.folder).field("chunker", &self.chunker).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
