//! A folder of documents that can be searched.
//!
//! ```text
//! folder ──walk──▶ files ──split──▶ passages ──▶ SQLite FTS5 (in memory) ──bm25──▶ SearchHits
//!                    └─▶ skipped, with reasons
//! ```
//!
//! [`DocIndex::build`] reads the Markdown, text and source files below a folder, without what
//! `.gitignore` files exclude, and cuts them into passages: a paragraph, list, table or code block with
//! the headings above it and its lines in the file. [`DocIndex::search`] ranks the passages by their words;
//! there is no meaning involved, so a question in other words than the documents' finds nothing. The same
//! folder and the same question give the same passages in the same order.
//!
//! [`SearchDocs`] is the index as a tool for a model.
//!
//! ```
//! use superstep_nodes::docs::{DocIndex, IndexOptions};
//!
//! let folder = tempfile::tempdir().unwrap();
//! std::fs::write(folder.path().join("guide.md"), "# Guide\n\n## Forks\n\nA fork copies nothing.\n").unwrap();
//!
//! let index = DocIndex::build(folder.path(), &IndexOptions::default()).unwrap();
//! let hits = index.search("what does a fork copy?", 3).unwrap();
//! assert_eq!(hits[0].text, "A fork copies nothing.");
//! assert_eq!((hits[0].path.as_str(), hits[0].line_start), ("guide.md", 5));
//! assert_eq!(hits[0].heading, "Guide > Forks");
//! ```

mod error;
mod hits;
mod index;
mod lines;
mod markdown;
mod options;
mod passage;
mod prose;
mod report;
mod search_docs;
mod source;
pub(crate) mod walk;

pub use error::{IndexError, SearchError};
pub use hits::{SearchHits, WordCount};
pub use index::DocIndex;
pub use options::{FileKinds, IndexOptions};
pub use passage::{Passage, PassageKind};
pub use report::{IndexReport, SkipReason, Skipped};
pub use search_docs::{SearchDocs, SearchDocsInput};
