//! The index of a folder of documents.

use std::fmt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, params};

use super::walk::{Language, Walk};
use super::{
    IndexError, IndexOptions, IndexReport, Passage, SearchError, SearchHits, WordCount, markdown, prose,
    source,
};
use crate::text::{Query, Source, Term, parts, relevance};

/// The passages of a folder of documents, ready to be searched.
///
/// The index is in memory and does not change; files that change later are seen by the next index. It can
/// be shared between threads. A search is a matter of milliseconds and holds a lock for that time, so it
/// may be made from async code.
pub struct DocIndex {
    /// In order of path and line; the row of passage `n` in the full-text table is `n`.
    passages: Vec<Passage>,
    report: IndexReport,
    db: Mutex<Connection>,
}

/// The full-text table holds words only; what is found is looked up in `passages`.
const TABLE: &str = "create virtual table passages using fts5(
    heading, body, parts, path, content = '', tokenize = 'porter unicode61'
)";

/// How much a word counts in the heading, the text, as a part of an identifier and in the path.
const SEARCH: &str = "select rowid, -bm25(passages, 3.0, 1.0, 0.5, 2.0) as score
    from passages where passages match ?1 order by score desc, rowid limit ?2";

/// How many passages the full-text index is asked for, to be read closely.
const CANDIDATES: u32 = 100;

/// How much the rank in the full-text index counts, against a relevance of about 1.
const FOR_BM25: f64 = 0.25;

const COUNT: &str = "select count(*) from passages where passages match ?1";

impl DocIndex {
    /// Indexes the files below a folder.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be read. A file that cannot be indexed is no error: it is listed in the
    /// [`report`](Self::report).
    pub fn build(root: impl AsRef<Path>, options: &IndexOptions) -> Result<Self, IndexError> {
        let walk = Walk::read(root.as_ref(), options)?;
        let files = walk.files.len();
        let mut passages = Vec::new();
        for file in walk.files {
            passages.extend(match file.language {
                Language::Markdown => markdown::split(&file.path, &file.text),
                Language::Prose => prose::split(&file.path, &file.text),
                Language::Source(comment) => source::split(&file.path, &file.text, comment),
            });
        }
        let db = fill(&passages).map_err(IndexError::Store)?;
        let report = IndexReport { files, passages: passages.len(), skipped: walk.skipped };
        Ok(Self { passages, report, db: Mutex::new(db) })
    }

    /// Returns what was indexed and what was not.
    pub fn report(&self) -> &IndexReport {
        &self.report
    }

    /// Returns the passages that fit a query best, best first; of equals the first in the documents.
    ///
    /// The query is plain text: nothing in it has a special meaning.
    ///
    /// # Errors
    ///
    /// Fails only on a fault of the index itself. A query that nothing fits gets an empty list.
    pub fn search(&self, query: &str, limit: usize) -> Result<Vec<Passage>, SearchError> {
        Ok(self.lookup(query, limit)?.passages)
    }

    /// Searches, and counts how common the words of the query are.
    ///
    /// # Errors
    ///
    /// As [`search`](Self::search).
    pub fn lookup(&self, query: &str, limit: usize) -> Result<SearchHits, SearchError> {
        let terms = Query::new(query);
        // The connection is only read, so a panic elsewhere cannot have left it half changed.
        let db = self.db.lock().unwrap_or_else(PoisonError::into_inner);
        let words = count(&db, &terms)?;
        let searched = self.passages.len() as u64;
        let counted =
            |term: &Term| words.iter().find(|count| count.word == term.word).map(|count| count.passages);
        let terms = terms.weighed(searched, counted);
        let mut passages = self.find(&db, &terms)?;
        drop(db);
        for passage in &mut passages {
            passage.score += best_unit(&terms, passage);
        }
        // Stable, so equals stay in the order of the documents.
        passages.sort_by(|a, b| b.score.total_cmp(&a.score));
        passages.truncate(limit);
        Ok(SearchHits { query: query.to_owned(), passages, words, searched })
    }

    /// Finds the passages worth a closer look; their scores are from 0 to `FOR_BM25`.
    fn find(&self, db: &Connection, query: &Query) -> Result<Vec<Passage>, SearchError> {
        let Some(expression) = query.full_text() else { return Ok(Vec::new()) };
        let mut statement = db.prepare_cached(SEARCH)?;
        let mut rows = statement.query(params![expression, CANDIDATES])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let (number, score): (i64, f64) = (row.get(0)?, row.get(1)?);
            let passage = usize::try_from(number).ok().and_then(|number| self.passages.get(number));
            let passage = passage.expect("every row of the table is the number of a passage");
            found.push(Passage { score, ..passage.clone() });
        }
        let highest = found.first().map_or(1.0, |best| best.score).max(f64::MIN_POSITIVE);
        for passage in &mut found {
            passage.score *= FOR_BM25 / highest;
        }
        Ok(found)
    }
}

/// Returns the score of the piece of a passage that fits best.
fn best_unit(query: &Query, passage: &Passage) -> f64 {
    let source = Source { path: &passage.path, heading: &passage.heading, text: &passage.text };
    relevance(query, &source).into_iter().map(|unit| unit.score).fold(0.0, f64::max)
}

fn fill(passages: &[Passage]) -> Result<Connection, rusqlite::Error> {
    let mut db = Connection::open_in_memory()?;
    db.execute_batch(TABLE)?;
    let transaction = db.transaction()?;
    {
        let mut insert = transaction
            .prepare("insert into passages(rowid, heading, body, parts, path) values (?1, ?2, ?3, ?4, ?5)")?;
        for (number, passage) in (0_i64..).zip(passages) {
            let parts: Vec<_> = parts(&passage.text).collect();
            insert.execute(params![number, passage.heading, passage.text, parts.join(" "), passage.path])?;
        }
    }
    transaction.commit()?;
    Ok(db)
}

fn count(db: &Connection, query: &Query) -> Result<Vec<WordCount>, SearchError> {
    let mut statement = db.prepare_cached(COUNT)?;
    let mut words = Vec::with_capacity(query.terms().len());
    for term in query.terms() {
        let passages: i64 = statement.query_row([term.full_text()], |row| row.get(0))?;
        words.push(WordCount { word: term.word.clone(), passages: passages.unsigned_abs() });
    }
    Ok(words)
}

impl fmt::Debug for DocIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DocIndex").field("report", &self.report).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "index/tests.rs"]
mod tests;
