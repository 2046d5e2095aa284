//! The result of a check of a file or a database.

use serde::Serialize;
use superstep_core::id::{CheckpointId, ThreadId};

/// The result of a check: the number of rows, and the findings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// The file's format.
    pub format: u32,
    /// `true` if the file is encrypted and was read without its keys. Then only the checksums of texts were checked,
    /// and not their references.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub unopened: bool,
    /// The numbers of rows that were read.
    pub counts: Counts,
    /// Data that nothing refers to. It is no damage.
    pub unused: Unused,
    /// All problems, by table.
    pub findings: Vec<Finding>,
}

impl Verified {
    /// Returns `true` if there are no findings.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
}

/// The number of rows of each kind in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Threads, including those of subgraphs and the remains of deleted ones.
    pub threads: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Versions of fields.
    pub versions: u64,
    /// Schemas of states.
    pub schemas: u64,
    /// Topologies of graphs.
    pub topologies: u64,
    /// Long texts.
    pub bodies: u64,
    /// Segments: the operations of many versions in one row.
    pub segments: u64,
    /// Results and failures of unfinished supersteps.
    pub pending: u64,
    /// Questions.
    pub asks: u64,
    /// Effects in the journal.
    pub effects: u64,
    /// Tasks whose emitted events were kept.
    pub emitted: u64,
    /// Threads with a lease.
    pub leases: u64,
    /// Names of checkpoints.
    pub names: u64,
    /// Entries of the store.
    pub items: u64,
    /// Rows of a server.
    pub server: u64,
}

/// Data that nothing refers to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Unused {
    /// Long texts.
    pub bodies: u64,
    /// Segments.
    pub segments: u64,
    /// The size of both in bytes.
    pub bytes: u64,
}

/// A problem in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The table, or `file` for a problem that SQLite itself finds.
    pub table: &'static str,
    /// The row; `None` if the problem does not concern a single row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<i64>,
    /// The thread of the row, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// The checkpoint of the row, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointId>,
    /// A description of the problem.
    pub problem: String,
}
