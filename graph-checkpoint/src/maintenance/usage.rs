//! The sizes of the parts of a file or a database.

use serde::Serialize;
use superstep_core::id::ThreadId;

/// The sizes of the parts of a file or of a database, in bytes. In a file all but `log` add up to `size`; in a database,
/// which stores texts compressed, `size` is that of the tables with their indexes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// The size of the file, including everything that was committed to the log.
    pub size: u64,
    /// Free pages, which new content reuses and a vacuum returns to the file system.
    pub free: u64,
    /// The data that belongs to each thread alone, by name. Data that a deleted thread left for others is listed under
    /// its old name.
    pub threads: Vec<ThreadUsage>,
    /// Long texts and segments that several threads refer to, and versions that remain of pruned checkpoints.
    pub shared: u64,
    /// Long texts and segments that nothing refers to.
    pub unused: u64,
    /// Schemas of states and topologies of graphs.
    pub described: u64,
    /// The entries of the store.
    pub items: u64,
    /// The rows of a server.
    pub server: u64,
    /// The rest: identities, indexes, checksums, and unused space in pages.
    pub overhead: u64,
    /// The size of the log beside the file, whose contents are regularly moved into the file.
    pub log: u64,
    /// The tables of a database; none for a file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableUsage>,
}

/// The size of a table of a database, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableUsage {
    /// The table.
    pub table: String,
    /// Its rows, as they are stored.
    pub bytes: u64,
    /// Its indexes.
    pub indexes: u64,
}

/// The sizes of the data that belongs to one thread alone, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadUsage {
    /// The thread.
    pub thread: ThreadId,
    /// The number of checkpoints that were written on it.
    pub checkpoints: u64,
    /// The sum of the sizes below.
    pub bytes: u64,
    /// The sizes of its fields, by name.
    pub fields: Vec<FieldUsage>,
    /// The data of its checkpoints other than values: tasks, next tasks, and locations of versions.
    pub manifests: u64,
    /// Questions and effects.
    pub journal: u64,
    /// Results and failures of an unfinished superstep.
    pub pending: u64,
    /// The events that its tasks emitted.
    pub emitted: u64,
    /// Long texts that do not belong to one field alone.
    pub bodies: u64,
}

/// The size of the values of a field, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FieldUsage {
    /// The field.
    pub field: String,
    /// Its changes.
    pub changes: u64,
    /// Long texts that only it refers to.
    pub bodies: u64,
}

impl ThreadUsage {
    pub(crate) fn of(thread: ThreadId) -> Self {
        Self {
            thread,
            checkpoints: 0,
            bytes: 0,
            fields: Vec::new(),
            manifests: 0,
            journal: 0,
            pending: 0,
            emitted: 0,
            bodies: 0,
        }
    }
}
