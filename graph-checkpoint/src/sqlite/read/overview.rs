//! Overviews of a file: sizes of threads, schemas, graphs, and checkpoints by their ids.

use std::collections::{BTreeMap, HashSet};

use superstep_core::checkpoint::{At, GraphDescription, StoreError};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::state::{Json, Schema};
use uuid::Uuid;

use crate::checkpoint_reader::{Located, ThreadSize};
use crate::error::corrupt;
use crate::history::rows::ThreadRow;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::history::described::{self, Key};
use crate::sqlite::history::rows::CheckpointRow;
use crate::sqlite::read::reader;

/// The number of last digits of an id that are usually displayed.
const SHOWN: usize = 8;

/// Returns the graph under which a checkpoint was planned.
pub(crate) fn topology(
    connection: &Connection,
    thread: &ThreadId,
    at: &At,
) -> Result<Option<Json>, StoreError> {
    let Some(row) = ThreadRow::find(connection, thread)? else { return Ok(None) };
    let place = reader::place(connection, &row, at)?;
    let topology = CheckpointRow::visit(connection, place.seq, |row, _| Ok(row.topology))?;
    let text = described::topology_text(connection, Key::Row(topology))?;
    text.ok_or_else(|| corrupt("the topologies", "one is missing")).map(Some)
}

/// Returns the graphs of all threads, by name, as their latest readable checkpoints have them; without those of subgraphs.
pub(crate) fn graphs(connection: &Connection) -> Result<Vec<GraphDescription>, StoreError> {
    let mut heads: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for row in ThreadRow::readable(connection)?.into_iter().filter(|row| !row.name.is_below()) {
        heads.entry(row.graph).or_default().push(row.head);
    }
    let mut graphs = Vec::new();
    for (name, mut heads) in heads {
        heads.sort_unstable_by(|one, other| other.cmp(one));
        for head in heads {
            match graph(connection, &name, head) {
                Err(StoreError::Corrupt { .. } | StoreError::TooLarge { .. }) => {}
                found => {
                    graphs.push(found?);
                    break;
                }
            }
        }
    }
    Ok(graphs)
}

/// Returns a graph as a checkpoint has it.
fn graph(connection: &Connection, name: &str, seq: i64) -> Result<GraphDescription, StoreError> {
    let described = |row: CheckpointRow, _: &str| Ok((row.schema, row.topology));
    let (schema, topology) = CheckpointRow::visit(connection, seq, described)?;
    let missing = || corrupt(format_args!("the description of graph {name:?}"), "it is missing");
    let (_, _, schema) = described::schema(connection, Key::Row(schema))?.ok_or_else(missing)?;
    let key = Key::Row(topology);
    let (_, topology_fingerprint) = described::topology(connection, key)?.ok_or_else(missing)?;
    let topology = described::topology_text(connection, key)?.ok_or_else(missing)?;
    Ok(GraphDescription { name: name.to_owned(), schema, topology, topology_fingerprint })
}

/// Returns the schemas of all states in the file.
pub(crate) fn schemas(connection: &Connection) -> Result<Vec<Schema>, StoreError> {
    let mut all = connection.prepare_cached("SELECT id FROM schema ORDER BY id").map_err(sqlite)?;
    let rows = all.query_map([], |row| row.get(0)).map_err(sqlite)?;
    let mut schemas = Vec::new();
    for row in rows {
        let found = described::schema(connection, Key::Row(row.map_err(sqlite)?))?;
        schemas.extend(found.map(|(_, _, schema)| schema));
    }
    Ok(schemas)
}

/// Returns the checkpoints whose ids have these digits.
pub(crate) fn locate(
    connection: &Connection,
    digits: &str,
    limit: usize,
) -> Result<Vec<Located>, StoreError> {
    let digits = digits.replace('-', "").to_ascii_lowercase();
    let mut all = connection
        .prepare_cached("SELECT seq, id FROM checkpoint WHERE thread <> 0 ORDER BY seq")
        .map_err(sqlite)?;
    let mut rows = all.query([]).map_err(sqlite)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(sqlite)? {
        let id = CheckpointId(Uuid::from_bytes(row.get(1).map_err(sqlite)?));
        let mut text = Uuid::encode_buffer();
        let text = &*id.0.as_simple().encode_lower(&mut text);
        let end = &text[text.len() - SHOWN..];
        let is_meant = text.starts_with(&digits) || text.ends_with(&digits) || end.starts_with(&digits);
        if is_meant && found.len() < limit {
            let writer =
                CheckpointRow::visit(connection, row.get(0).map_err(sqlite)?, |row, _| Ok(row.thread))?;
            found.push(Located { id, thread: ThreadRow::get(connection, writer)?.name });
        }
    }
    Ok(found)
}

/// Returns the size of each thread's own data.
pub(crate) fn sizes(connection: &Connection) -> Result<BTreeMap<ThreadId, ThreadSize>, StoreError> {
    let mut of_rows: BTreeMap<i64, ThreadSize> = BTreeMap::new();
    let mut all = connection
        .prepare_cached(
            "SELECT seq, parent, thread, octet_length(changes) + octet_length(manifest) + \
             coalesce(octet_length(fields), 0) FROM checkpoint ORDER BY seq DESC",
        )
        .map_err(sqlite)?;
    let mut rows = all.query([]).map_err(sqlite)?;
    let mut continued = HashSet::new();
    while let Some(row) = rows.next().map_err(sqlite)? {
        let seq: i64 = row.get(0).map_err(sqlite)?;
        let parent: Option<i64> = row.get(1).map_err(sqlite)?;
        let size = of_rows.entry(row.get(2).map_err(sqlite)?).or_default();
        size.checkpoints += 1;
        size.branches += u64::from(!continued.remove(&seq));
        size.bytes += row.get::<_, i64>(3).map_err(sqlite)?.cast_unsigned();
        continued.extend(parent);
    }
    let mut segments = connection
        .prepare_cached("SELECT thread, sum(octet_length(text)) FROM segment GROUP BY thread")
        .map_err(sqlite)?;
    let mut rows = segments.query([]).map_err(sqlite)?;
    while let Some(row) = rows.next().map_err(sqlite)? {
        let size = of_rows.entry(row.get(0).map_err(sqlite)?).or_default();
        size.bytes += row.get::<_, i64>(1).map_err(sqlite)?.cast_unsigned();
    }
    let threads = ThreadRow::readable(connection)?.into_iter();
    Ok(threads.map(|row| (row.name, of_rows.get(&row.id).copied().unwrap_or_default())).collect())
}
