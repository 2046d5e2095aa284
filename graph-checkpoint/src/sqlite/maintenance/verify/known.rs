//! The rows to which others refer, read before any of them is checked.

use std::collections::{BTreeMap, HashMap, HashSet};

use rusqlite::Row;
use superstep_core::checkpoint::StoreError;
use superstep_core::id::{CheckpointId, NodeName, ThreadId};
use superstep_core::state::Schema;
use uuid::Uuid;

use super::Findings;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;

/// The rows that exist.
pub(super) struct Known {
    pub(super) checkpoints: BTreeMap<i64, Outlined>,
    /// The names of threads, from before they were deleted.
    pub(super) threads: HashMap<i64, ThreadId>,
    /// The long texts.
    pub(super) bodies: HashSet<i64>,
    /// The segments.
    pub(super) segments: HashMap<i64, SegmentState>,
    /// The schemas that are valid.
    pub(super) schemas: HashMap<i64, Schema>,
    /// The nodes of the topologies that are valid.
    pub(super) topologies: HashMap<i64, HashSet<NodeName>>,
}

/// The findings about a segment so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SegmentState {
    pub(super) is_sound: bool,
    pub(super) is_used: bool,
    pub(super) bytes: u64,
}

/// The columns of a checkpoint's row, unchecked.
pub(super) struct Outlined {
    pub(super) id: CheckpointId,
    pub(super) parent: Option<i64>,
    pub(super) thread: i64,
    pub(super) schema: i64,
    pub(super) topology: i64,
    /// `true` if the checkpoint was reduced to its state.
    pub(super) pruned: bool,
}

impl Known {
    pub(super) fn of(connection: &Connection, findings: &mut Findings) -> Self {
        let checkpoints = findings.guard("checkpoint", || {
            read(
                connection,
                "SELECT seq, id, parent, thread, schema, topology, source = 4 FROM checkpoint",
                |row| {
                    // A damaged id identifies no checkpoint.
                    let id = CheckpointId(row.get(1).map_or(Uuid::nil(), Uuid::from_bytes));
                    let outlined = Outlined {
                        id,
                        parent: row.get(2)?,
                        thread: row.get(3)?,
                        schema: row.get(4)?,
                        topology: row.get(5)?,
                        pruned: row.get(6)?,
                    };
                    Ok((row.get(0)?, outlined))
                },
            )
        });
        let threads = findings.guard("thread", || {
            read(connection, "SELECT id, name FROM thread", |row| {
                let name: String = row.get(1)?;
                Ok((row.get(0)?, ThreadId::from(name).before_deletion()))
            })
        });
        let bodies = findings.guard("body", || read(connection, "SELECT id FROM body", |row| row.get(0)));
        Self {
            checkpoints: checkpoints.into_iter().collect(),
            threads: threads.into_iter().collect(),
            bodies: bodies.into_iter().collect(),
            segments: HashMap::new(),
            schemas: HashMap::new(),
            topologies: HashMap::new(),
        }
    }
}

/// Reads all rows of the query `sql`.
pub(super) fn read<T>(
    connection: &Connection,
    sql: &str,
    row: impl FnMut(&Row<'_>) -> Result<T, rusqlite::Error>,
) -> Result<Vec<T>, StoreError> {
    let mut all = connection.prepare_cached(sql).map_err(sqlite)?;
    let rows = all.query_map([], row).map_err(sqlite)?;
    rows.map(|row| row.map_err(sqlite)).collect()
}
