//! The file of a knowledge base.

mod embedding;
mod schema;

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use self::embedding::{similarity_of_bytes, to_bytes};
use super::{Chunk, EmbedError, Embedding, FoundChunk, KnowledgeError};
use crate::text::Query;

/// One collection of a file.
pub(super) struct Store {
    db: Connection,
    collection: i64,
    name: String,
}

/// A document that is to be kept.
pub(super) struct NewDocument<'d> {
    pub(super) source: &'d str,
    /// The digest that shows whether the document has changed.
    pub(super) digest: &'d [u8; 32],
    pub(super) chunks: &'d [(Chunk, Embedding)],
}

/// A chunk that a search came upon.
pub(super) struct Candidate {
    pub(super) chunk: i64,
    /// The relevance; larger is better, within one search only.
    pub(super) score: f64,
}

impl Store {
    /// Opens a collection, and makes the file or the collection if it is not there.
    pub(super) fn open(path: &Path, name: &str, embedder: &str) -> Result<Self, KnowledgeError> {
        let db = schema::open(path)?;
        db.execute(
            "insert into collection (name, embedder) values (?1, ?2) on conflict (name) do nothing",
            [name, embedder],
        )?;
        // An embedder by which no document was embedded can be replaced.
        db.execute(
            "update collection set embedder = ?2 where name = ?1
             and not exists (select 1 from document where document.collection = collection.id)",
            [name, embedder],
        )?;
        let there = Self::of(db, name, embedder)?;
        Ok(there.expect("a collection is there that was just made, as nothing removes one"))
    }

    /// Opens a collection that documents were ingested into.
    pub(super) fn open_existing(path: &Path, name: &str, embedder: &str) -> Result<Self, KnowledgeError> {
        let not_ingested =
            || KnowledgeError::NotIngested { path: path.to_owned(), collection: name.to_owned() };
        let db = schema::open_existing(path)?.ok_or_else(not_ingested)?;
        let select = "select exists (
            select 1 from document join collection on collection.id = document.collection where collection.name = ?1
        )";
        let has_documents: bool = db.query_row(select, [name], |row| row.get(0))?;
        let store = if has_documents { Self::of(db, name, embedder)? } else { None };
        store.ok_or_else(not_ingested)
    }

    fn of(db: Connection, name: &str, embedder: &str) -> Result<Option<Self>, KnowledgeError> {
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get::<_, String>(1)?));
        let select = "select id, embedder from collection where name = ?1";
        let Some((collection, stored)) = db.query_row(select, [name], row).optional()? else {
            return Ok(None);
        };
        let name = name.to_owned();
        if embedder != stored {
            return Err(KnowledgeError::Embedder { collection: name, stored, given: embedder.to_owned() });
        }
        Ok(Some(Self { db, collection, name }))
    }

    /// The collection's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the digest that shows whether a document has changed; `None` if there is no such document.
    pub(super) fn digest(&self, source: &str) -> Result<Option<Vec<u8>>, KnowledgeError> {
        let select = "select digest from document where collection = ?1 and source = ?2";
        let mut select = self.db.prepare_cached(select)?;
        Ok(select.query_row(params![self.collection, source], |row| row.get(0)).optional()?)
    }

    /// The sources of all documents, in order.
    pub(super) fn sources(&self) -> Result<Vec<String>, KnowledgeError> {
        let select = "select source from document where collection = ?1 order by source";
        let mut select = self.db.prepare_cached(select)?;
        let rows = select.query_map([self.collection], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the number of chunks.
    pub(super) fn count(&self) -> Result<u64, KnowledgeError> {
        let select = "select count(*) from embedding where collection = ?1";
        Ok(self.db.query_row(select, [self.collection], |row| row.get::<_, i64>(0))?.unsigned_abs())
    }

    /// Keeps a document, in place of the one from the same source: all of it or nothing.
    pub(super) fn put(&mut self, document: &NewDocument<'_>) -> Result<(), KnowledgeError> {
        let collection = self.collection;
        let change = self.change()?;
        remove(&change, collection, document.source)?;
        if let Some((_, embedding)) = document.chunks.first() {
            let others = "select length(numbers) from embedding where collection = ?1 limit 1";
            let others: Option<i64> =
                change.prepare_cached(others)?.query_row([collection], |row| row.get(0)).optional()?;
            let (expected, given) = (others.map(dimensions), embedding.dimensions());
            if let Some(expected) = expected.filter(|expected| *expected != given) {
                return Err(EmbedError::Dimensions { expected, given }.into());
            }
        }
        change
            .prepare_cached("insert into document (collection, source, digest) values (?1, ?2, ?3)")?
            .execute(params![collection, document.source, document.digest])?;
        let id = change.last_insert_rowid();
        for (chunk, embedding) in document.chunks {
            change
                .prepare_cached(
                    "insert into chunk (document, heading, line_start, line_end, text) values (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute(params![id, chunk.heading, chunk.line_start, chunk.line_end, chunk.text])?;
            let chunk = change.last_insert_rowid();
            change
                .prepare_cached("insert into embedding (collection, chunk, numbers) values (?1, ?2, ?3)")?
                .execute(params![collection, chunk, to_bytes(embedding)])?;
        }
        Ok(change.commit()?)
    }

    /// Removes a document; tells whether it was there.
    pub(super) fn remove(&mut self, source: &str) -> Result<bool, KnowledgeError> {
        let collection = self.collection;
        let change = self.change()?;
        let removed = remove(&change, collection, source)?;
        change.commit()?;
        Ok(removed)
    }

    /// Begins a transaction: all reads while it is held see the same state.
    pub(super) fn moment(&self) -> Result<Transaction<'_>, KnowledgeError> {
        Ok(self.db.unchecked_transaction()?)
    }

    fn change(&mut self) -> Result<Transaction<'_>, KnowledgeError> {
        Ok(self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?)
    }

    /// The chunks that have words of a question, best first.
    pub(super) fn with_words(&self, question: &str, limit: usize) -> Result<Vec<Candidate>, KnowledgeError> {
        let Some(words) = Query::new(question).full_text() else { return Ok(Vec::new()) };
        let mut select = self.db.prepare_cached(
            "select words.rowid, -bm25(words, 2.0, 1.0) as score from words
             join embedding on embedding.chunk = words.rowid and embedding.collection = ?1
             where words match ?2 order by score desc, words.rowid limit ?3",
        )?;
        let row = |row: &rusqlite::Row<'_>| Ok(Candidate { chunk: row.get(0)?, score: row.get(1)? });
        let rows = select.query_map(params![self.collection, words, count(limit)], row)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The chunks whose meaning is most similar, most similar first; those that have nothing in common are left out.
    /// All embeddings of the collection are compared.
    pub(super) fn with_meaning(
        &self,
        meaning: &Embedding,
        limit: usize,
    ) -> Result<Vec<Candidate>, KnowledgeError> {
        let select = "select chunk, numbers from embedding where collection = ?1";
        let mut select = self.db.prepare_cached(select)?;
        let mut rows = select.query([self.collection])?;
        let mut best = Vec::new();
        while let Some(row) = rows.next()? {
            let numbers = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            let score = similarity_of_bytes(meaning, numbers).map(f64::from);
            let score = score.ok_or_else(|| EmbedError::Dimensions {
                expected: numbers.len() / size_of::<f32>(),
                given: meaning.dimensions(),
            })?;
            if score > 0.0 {
                best.push(Candidate { chunk: row.get(0)?, score });
            }
        }
        // Of equals the first, whatever order they are read in.
        best.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk.cmp(&b.chunk)));
        best.truncate(limit);
        Ok(best)
    }

    /// Returns a chunk with its place.
    pub(super) fn found(&self, chunk: i64) -> Result<Option<FoundChunk>, KnowledgeError> {
        let mut select = self.db.prepare_cached(
            "select document.source, heading, line_start, line_end, text
             from chunk join document on document.id = chunk.document where chunk.id = ?1",
        )?;
        let row = |row: &rusqlite::Row<'_>| {
            let chunk = Chunk {
                heading: row.get(1)?,
                line_start: row.get(2)?,
                line_end: row.get(3)?,
                text: row.get(4)?,
            };
            Ok(FoundChunk { source: row.get(0)?, chunk, similarity: None, score: 0.0 })
        };
        Ok(select.query_row([chunk], row).optional()?)
    }
}

/// Removes a document with all that belongs to it.
fn remove(change: &Transaction<'_>, collection: i64, source: &str) -> Result<bool, KnowledgeError> {
    let removed = change
        .prepare_cached("delete from document where collection = ?1 and source = ?2")?
        .execute(params![collection, source])?;
    Ok(removed > 0)
}

/// Returns the number of dimensions of an embedding of this many bytes.
fn dimensions(bytes: i64) -> usize {
    usize::try_from(bytes).unwrap_or_default() / size_of::<f32>()
}

/// A limit, as SQLite counts.
fn count(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
