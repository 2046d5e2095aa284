//! The threads of the subgraphs that the tasks of a thread ran.

use std::collections::{BTreeSet, HashMap};

use superstep_core::checkpoint::{EffectRecord, StoreError};
use superstep_core::id::{TaskId, ThreadId};

use crate::history::decode;
use crate::history::rows::ThreadRow;
use crate::pending::Seen;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::history::rows::CheckpointRow;
use crate::sqlite::pending;
use crate::subgraphs::{Finding, Subgraph};

/// Returns the subgraphs that tasks of a thread ran, in the order of their numbers, except those whose plans were
/// pruned.
pub(crate) fn subgraphs(connection: &Connection, thread: &ThreadId) -> Result<Vec<Subgraph>, StoreError> {
    // The remains of a deleted thread of this name also belong to its past.
    let all = ThreadRow::on_or_below(connection, thread)?;
    let (own, mut below): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|row| row.name.before_deletion() == *thread);
    below.retain(|row| row.name.above().as_ref() == Some(thread));
    if below.is_empty() {
        return Ok(Vec::new());
    }
    let mut bases = BTreeSet::new();
    let mut links = HashMap::new();
    for row in &own {
        add_bases(connection, row, &mut bases)?;
        add_links(connection, row, &mut links)?;
    }
    let mut finding = Finding::new(thread, below.into_iter().map(|row| row.name).collect(), links);
    for seq in bases {
        CheckpointRow::visit(connection, seq, |row, manifest| {
            finding.learn(row.id, row.step, decode::planned(manifest)?);
            Ok(())
        })?;
    }
    Ok(finding.found())
}

/// Adds the checkpoints on which the thread may have planned tasks: its own, those that they continue, and its head.
fn add_bases(
    connection: &Connection,
    thread: &ThreadRow,
    bases: &mut BTreeSet<i64>,
) -> Result<(), StoreError> {
    let mut own = connection
        .prepare_cached("SELECT seq, parent FROM checkpoint WHERE thread = ? ORDER BY seq")
        .map_err(sqlite)?;
    let mut rows = own.query([thread.id]).map_err(sqlite)?;
    bases.insert(thread.head);
    while let Some(row) = rows.next().map_err(sqlite)? {
        bases.insert(row.get(0).map_err(sqlite)?);
        bases.extend(row.get::<_, Option<i64>>(1).map_err(sqlite)?);
    }
    Ok(())
}

/// Adds the threads of the subgraphs of tasks that edits planned again.
fn add_links(
    connection: &Connection,
    thread: &ThreadRow,
    links: &mut HashMap<TaskId, ThreadId>,
) -> Result<(), StoreError> {
    let mut all = connection
        .prepare_cached("SELECT DISTINCT base FROM effect WHERE thread = ? AND substr(name, 1, 1) = char(31)")
        .map_err(sqlite)?;
    let linking = all.query_map([thread.id], |row| row.get(0)).map_err(sqlite)?;
    for seq in linking {
        let seq = seq.map_err(sqlite)?;
        let effects = pending::effect::on(connection, Seen { seq, worker: thread.id, head: true })?;
        let named = |effect: &EffectRecord| Some((effect.id.task, effect.subgraph()?));
        links.extend(effects.iter().filter_map(named));
    }
    Ok(())
}
