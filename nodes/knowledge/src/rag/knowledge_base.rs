//! Documents that can be searched by words and by meaning.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use superstep_nodes::__private::blocking;

use super::embedder::{embed, embed_one};
use super::fusion::fuse;
use super::store::{Candidate, NewDocument, Store};
use super::{Chunk, Embedder, Embedding, FoundChunk, Ingestion, KnowledgeError};

/// A collection of documents in a SQLite file, cut into chunks that can be searched by their words and by what they
/// mean.
///
/// A file has any number of collections, each with documents that one [`Embedder`] has embedded. It can be shared: a
/// clone is of the same collection, and several processes may use a file at once. A document is replaced as a whole, so
/// a search never sees half of one.
///
/// ```
/// use superstep_knowledge::rag::{Chunker, HashEmbedder, KnowledgeBase};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # let folder = tempfile::tempdir().unwrap();
/// # let file = folder.path().join("knowledge.db");
/// let base = KnowledgeBase::open(&file, "guides", HashEmbedder::default())?;
/// base.add("light.md", &Chunker::default().split("Soft light of the evening suits landscapes.")).await?;
/// base.add("lines.md", &Chunker::default().split("Leading lines draw the eye.")).await?;
///
/// let found = base.search("when is light good for a landscape?", 1).await?;
/// assert_eq!(found[0].source, "light.md");
/// # Ok::<(), superstep_knowledge::rag::KnowledgeError>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct KnowledgeBase {
    embedder: Arc<dyn Embedder>,
    store: Arc<Mutex<Store>>,
}

/// By what chunks are searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SearchBy {
    /// By words and by meaning; what both find comes first.
    #[default]
    Both,
    /// By their words, their forms and some synonyms. Nothing is embedded.
    Words,
    /// By their meaning.
    Meaning,
}

/// The number of candidates requested from each way of searching: a factor for each chunk that is wanted, and a
/// minimum.
const CANDIDATES: (usize, usize) = (4, 50);

impl KnowledgeBase {
    /// Opens a collection of a file; makes either if it is not there.
    ///
    /// # Errors
    /// When the file is no knowledge base or cannot be written, or another embedder was used for the collection.
    pub fn open(
        file: impl AsRef<Path>,
        collection: &str,
        embedder: impl Embedder,
    ) -> Result<Self, KnowledgeError> {
        let store = Store::open(file.as_ref(), collection, embedder.name())?;
        Ok(Self { embedder: Arc::new(embedder), store: Arc::new(Mutex::new(store)) })
    }

    /// Opens a collection that documents were ingested into, and makes nothing.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`KnowledgeError::NotIngested`] when there is no file, or no such collection in it.
    pub fn open_existing(
        file: impl AsRef<Path>,
        collection: &str,
        embedder: impl Embedder,
    ) -> Result<Self, KnowledgeError> {
        let store = Store::open_existing(file.as_ref(), collection, embedder.name())?;
        Ok(Self { embedder: Arc::new(embedder), store: Arc::new(Mutex::new(store)) })
    }

    /// Prepares to ingest the documents of a folder.
    pub fn ingest(&self, folder: impl AsRef<Path>) -> Ingestion<'_> {
        Ingestion::new(self, folder.as_ref())
    }

    /// Adds a document of these chunks, in place of one from the same source.
    ///
    /// # Errors
    /// When the chunks cannot be embedded, or the file cannot be written. The document is then as it was.
    pub async fn add(&self, source: &str, chunks: &[Chunk]) -> Result<(), KnowledgeError> {
        let mut digest = blake3::Hasher::new();
        for chunk in chunks {
            digest.update(blake3::hash(chunk.text.as_bytes()).as_bytes());
        }
        self.put(source, *digest.finalize().as_bytes(), chunks.to_vec()).await
    }

    /// Embeds a document and keeps it.
    pub(super) async fn put(
        &self,
        source: &str,
        digest: [u8; 32],
        chunks: Vec<Chunk>,
    ) -> Result<(), KnowledgeError> {
        let texts: Vec<_> = chunks.iter().map(embedded_text).collect();
        let embeddings = embed(&*self.embedder, &texts).await?;
        let chunks: Vec<_> = chunks.into_iter().zip(embeddings).collect();
        let source = source.to_owned();
        self.in_store(move |store| {
            store.put(&NewDocument { source: &source, digest: &digest, chunks: &chunks })
        })
        .await
    }

    /// Removes a document; tells whether it was there.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub async fn remove(&self, source: &str) -> Result<bool, KnowledgeError> {
        let source = source.to_owned();
        self.in_store(move |store| store.remove(&source)).await
    }

    /// Returns the sources of the documents, in order.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub async fn sources(&self) -> Result<Vec<String>, KnowledgeError> {
        self.in_store(|store| store.sources()).await
    }

    /// Returns how many chunks the documents have.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub async fn chunks(&self) -> Result<u64, KnowledgeError> {
        self.in_store(|store| store.count()).await
    }

    /// Returns the chunks that fit a question best by words and meaning, best first.
    ///
    /// # Errors
    /// When the question cannot be embedded, or the file cannot be read.
    pub async fn search(&self, question: &str, limit: usize) -> Result<Vec<FoundChunk>, KnowledgeError> {
        self.search_by(SearchBy::Both, question, limit).await
    }

    /// Returns the chunks that fit a question best, best first; of equals the one that was added first. All chunks are
    /// looked at, so a search takes time in proportion to their number.
    ///
    /// # Errors
    /// As [`search`](Self::search).
    pub async fn search_by(
        &self,
        by: SearchBy,
        question: &str,
        limit: usize,
    ) -> Result<Vec<FoundChunk>, KnowledgeError> {
        let meaning = match by {
            SearchBy::Words => None,
            SearchBy::Both | SearchBy::Meaning => Some(embed_one(&*self.embedder, question).await?),
        };
        let words = (by != SearchBy::Meaning).then(|| question.to_owned());
        self.in_store(move |store| look_up(store, words.as_deref(), meaning.as_ref(), limit)).await
    }

    /// Works on the file on a thread for blocking work.
    pub(super) async fn in_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<T, KnowledgeError> + Send + 'static,
    ) -> Result<T, KnowledgeError> {
        let store = Arc::clone(&self.store);
        blocking(move || work(&mut lock(&store))).await.unwrap_or(Err(KnowledgeError::Stopped))
    }
}

/// A transaction that a panic leaves behind is rolled back.
fn lock(store: &Mutex<Store>) -> MutexGuard<'_, Store> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the text of a chunk that is embedded: its heading and its content.
fn embedded_text(chunk: &Chunk) -> String {
    if chunk.heading.is_empty() { chunk.text.clone() } else { format!("{}\n\n{}", chunk.heading, chunk.text) }
}

fn look_up(
    store: &Store,
    words: Option<&str>,
    meaning: Option<&Embedding>,
    limit: usize,
) -> Result<Vec<FoundChunk>, KnowledgeError> {
    let _moment = store.moment()?;
    let (each, least) = CANDIDATES;
    let candidates = limit.saturating_mul(each).max(least);
    let by_words = words.map_or(Ok(Vec::new()), |words| store.with_words(words, candidates))?;
    let by_meaning = meaning.map_or(Ok(Vec::new()), |meaning| store.with_meaning(meaning, candidates))?;
    let similar: HashMap<i64, f64> =
        by_meaning.iter().map(|Candidate { chunk, score }| (*chunk, *score)).collect();
    let mut found = Vec::new();
    for Candidate { chunk, score } in fuse([&by_words[..], &by_meaning]).into_iter().take(limit) {
        let chunk = store.found(chunk)?.map(|found| (found, similar.get(&chunk).copied()));
        found.extend(chunk.map(|(found, similarity)| FoundChunk { similarity, score, ..found }));
    }
    Ok(found)
}

impl fmt::Debug for KnowledgeBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let collection = lock(&self.store).name().to_owned();
        let mut base = f.debug_struct("KnowledgeBase");
        base.field("collection", &collection).field("embedder", &self.embedder.name()).finish()
    }
}

#[cfg(test)]
mod tests;
