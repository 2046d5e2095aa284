//! A folder of documents that can be searched.
//!
//! ```text
//! folder ──walk──▶ files ──split──▶ passages ──▶ sections and pages ──BM25──▶ sections ──sentences──▶ SearchHits
//!                    └─▶ skipped, with reasons
//! ```
//!
//! [`DocIndex::build`] reads the Markdown, text and source files below a folder, without what
//! `.gitignore` files exclude, and cuts them into passages: a paragraph, list, table or code block with the headings
//! above it and its lines in the file. [`DocIndex::search`] ranks the sections by their words and those of their page:
//! words in headings, in first sentences and in tables of contents count more than others, and rare words more than
//! common ones. Within the best sections it looks for the sentences that have most of the question's words. There is no
//! meaning involved, but a table of words that are used for one another: a question in quite other words than the
//! documents' finds nothing. The same folder and the same question give the same passages in the same order.
//!
//! [`SearchDocs`] is the index as a tool for a model.
//!
//! ```
//! use superstep_knowledge::docs::{DocIndex, IndexOptions};
//!
//! let folder = tempfile::tempdir().unwrap();
//! std::fs::write(folder.path().join("guide.md"), "# Guide\n\n## Forks\n\nA fork copies nothing.\n").unwrap();
//!
//! let index = DocIndex::build(folder.path(), &IndexOptions::default()).unwrap();
//! let hits = index.search("what does a fork copy?", 3);
//! assert_eq!(hits[0].text, "A fork copies nothing.");
//! assert_eq!((hits[0].path.as_str(), hits[0].line_start), ("guide.md", 5));
//! assert_eq!(hits[0].heading, "Guide > Forks");
//! ```

mod bm25;
mod index;
mod indexing;
mod markdown;
mod outline;
mod passage;
mod prose;
mod ranking;
mod search_docs;
mod source;
pub(crate) mod walk;

pub use index::DocIndex;
pub(crate) use index::frequency;
pub use indexing::{FileKinds, IndexError, IndexOptions, IndexReport, SkipReason, Skipped};
pub use passage::{Passage, PassageKind, SearchHits, WordCount};
pub use search_docs::{SearchDocs, SearchDocsInput};
