//! Schemas and topologies: stored once per fingerprint.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{OptionalExtension, Row, params};
use superstep_core::checkpoint::StoreError;
use superstep_core::id::Fingerprint;
use superstep_core::state::{Json, Schema};

use crate::checksum::Checksum;
use crate::error::{corrupt, mismatch};
use crate::limited::too_large;
use crate::sqlite::column::text;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::history::rows::CheckpointRow;

/// A description that is stored once per fingerprint.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Described<'a> {
    Schema { text: &'a str },
    Topology { graph: &'a str, text: &'a str },
}

impl Described<'_> {
    fn sum(&self, id: i64, fingerprint: &[u8; 16]) -> i64 {
        match self {
            Self::Schema { text } => Checksum::of("schema").int(id).bytes(fingerprint).text(text).finish(),
            Self::Topology { graph, text } => {
                let sum = Checksum::of("topology").int(id).bytes(fingerprint);
                sum.text(graph).text(text).finish()
            }
        }
    }

    /// Stores the description, unless one with this fingerprint is already stored.
    pub(crate) fn keep(&self, connection: &Connection, fingerprint: Fingerprint) -> Result<(), StoreError> {
        let (find, last) = match self {
            Self::Schema { .. } => {
                ("SELECT id FROM schema WHERE fingerprint = ?", "SELECT coalesce(max(id), 0) FROM schema")
            }
            Self::Topology { .. } => {
                ("SELECT id FROM topology WHERE fingerprint = ?", "SELECT coalesce(max(id), 0) FROM topology")
            }
        };
        let bytes = fingerprint.as_bytes();
        let held: Option<i64> =
            connection.query_row(find, [bytes], |row| row.get(0)).optional().map_err(sqlite)?;
        if held.is_some() {
            return Ok(());
        }
        let id = connection.query_row(last, [], |row| row.get::<_, i64>(0)).map_err(sqlite)? + 1;
        let sum = self.sum(id, bytes);
        let stored = match self {
            Self::Schema { text } => connection.execute(
                "INSERT INTO schema(id, fingerprint, text, sum) VALUES(?, ?, ?, ?)",
                params![id, bytes, text, sum],
            ),
            Self::Topology { graph, text } => connection.execute(
                "INSERT INTO topology(id, fingerprint, graph, text, sum) VALUES(?, ?, ?, ?, ?)",
                params![id, bytes, graph, text, sum],
            ),
        };
        stored.map(drop).map_err(sqlite)
    }
}

/// Selects a row of `schema` or `topology`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Key {
    Row(i64),
    Fingerprint(Fingerprint),
}

fn described<T>(
    connection: &Connection,
    key: Key,
    queries: [&str; 2],
    read: impl FnOnce(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let sql = match key {
        Key::Row(_) => queries[0],
        Key::Fingerprint(_) => queries[1],
    };
    let mut find = connection.prepare_cached(sql).map_err(sqlite)?;
    let mut rows = match key {
        Key::Row(id) => find.query([id]),
        Key::Fingerprint(fingerprint) => find.query([fingerprint.as_bytes()]),
    }
    .map_err(sqlite)?;
    rows.next().map_err(sqlite)?.map(read).transpose()
}

/// Returns the schema at `key`, with its row and fingerprint.
pub(crate) fn schema(
    connection: &Connection,
    key: Key,
) -> Result<Option<(i64, Fingerprint, Schema)>, StoreError> {
    schema_with(connection, key, |id, fingerprint, text| {
        let schema =
            serde_json::from_str(text).map_err(|error| corrupt(format_args!("schema row {id}"), error))?;
        Ok((id, fingerprint, schema))
    })
}

/// Returns the text of the schema at `key`.
pub(crate) fn schema_text(connection: &Connection, key: Key) -> Result<Option<Json>, StoreError> {
    schema_with(connection, key, |id, _, text| {
        Json::parse_within(text, connection.limits())
            .map_err(|error| corrupt(format_args!("schema row {id}"), error))
    })
}

fn schema_with<T>(
    connection: &Connection,
    key: Key,
    with: impl FnOnce(i64, Fingerprint, &str) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let queries = [
        "SELECT id, fingerprint, text, sum FROM schema WHERE id = ?",
        "SELECT id, fingerprint, text, sum FROM schema WHERE fingerprint = ?",
    ];
    described(connection, key, queries, |row| {
        let id: i64 = row.get(0).map_err(sqlite)?;
        let fingerprint: [u8; 16] = row.get(1).map_err(sqlite)?;
        let stored = text(row, 2)?;
        limited(connection, format_args!("schema row {id}"), stored)?;
        let sum: i64 = row.get(3).map_err(sqlite)?;
        if sum != (Described::Schema { text: stored }).sum(id, &fingerprint) {
            return Err(mismatch(format_args!("schema row {id}")));
        }
        with(id, Fingerprint::from_bytes(fingerprint), stored)
    })
}

/// Returns the row and the fingerprint of the topology at `key`.
pub(crate) fn topology(connection: &Connection, key: Key) -> Result<Option<(i64, Fingerprint)>, StoreError> {
    topology_with(connection, key, |id, fingerprint, _, _| Ok((id, fingerprint)))
}

/// Returns the text of the topology at `key`.
pub(crate) fn topology_text(connection: &Connection, key: Key) -> Result<Option<Json>, StoreError> {
    Ok(topology_part(connection, key)?.map(|(_, topology)| topology))
}

/// Returns the name of the graph of the topology at `key`, and its text.
pub(crate) fn topology_part(connection: &Connection, key: Key) -> Result<Option<(String, Json)>, StoreError> {
    topology_with(connection, key, |id, _, graph, text| {
        let topology = Json::parse_within(text, connection.limits())
            .map_err(|error| corrupt(format_args!("topology row {id}"), error))?;
        Ok((graph.to_owned(), topology))
    })
}

fn topology_with<T>(
    connection: &Connection,
    key: Key,
    with: impl FnOnce(i64, Fingerprint, &str, &str) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let queries = [
        "SELECT id, fingerprint, graph, text, sum FROM topology WHERE id = ?",
        "SELECT id, fingerprint, graph, text, sum FROM topology WHERE fingerprint = ?",
    ];
    described(connection, key, queries, |row| {
        let id: i64 = row.get(0).map_err(sqlite)?;
        let fingerprint: [u8; 16] = row.get(1).map_err(sqlite)?;
        let (graph, stored) = (text(row, 2)?, text(row, 3)?);
        limited(connection, format_args!("topology row {id}"), stored)?;
        let sum: i64 = row.get(4).map_err(sqlite)?;
        if sum != (Described::Topology { graph, text: stored }).sum(id, &fingerprint) {
            return Err(mismatch(format_args!("topology row {id}")));
        }
        with(id, Fingerprint::from_bytes(fingerprint), graph, stored)
    })
}

/// Checks that a description does not exceed the size limit of a value.
fn limited(connection: &Connection, place: impl core::fmt::Display, text: &str) -> Result<(), StoreError> {
    connection.limits().check(text).map_err(|excess| too_large(place, excess))
}

/// Descriptions that were read, by row, so that a walk over many checkpoints parses each only once.
#[derive(Default)]
pub(crate) struct Descriptions {
    schemas: HashMap<i64, (Fingerprint, Arc<Schema>)>,
    topologies: HashMap<i64, Fingerprint>,
}

/// The schema and the topology of a checkpoint.
pub(crate) struct Description {
    pub(crate) fingerprint: Fingerprint,
    pub(crate) schema: Arc<Schema>,
    pub(crate) topology: Fingerprint,
}

impl Descriptions {
    pub(crate) fn of(
        &mut self,
        connection: &Connection,
        row: &CheckpointRow,
    ) -> Result<Description, StoreError> {
        let absent =
            |what| corrupt(format_args!("checkpoint row {}", row.seq), format_args!("its {what} is missing"));
        let (fingerprint, schema) = match self.schemas.get(&row.schema) {
            Some((fingerprint, schema)) => (*fingerprint, Arc::clone(schema)),
            None => {
                let found = schema(connection, Key::Row(row.schema))?.ok_or_else(|| absent("schema"))?;
                let found = (found.1, Arc::new(found.2));
                self.schemas.insert(row.schema, found.clone());
                found
            }
        };
        let topology = match self.topologies.get(&row.topology) {
            Some(topology) => *topology,
            None => {
                let found =
                    topology(connection, Key::Row(row.topology))?.ok_or_else(|| absent("topology"))?;
                self.topologies.insert(row.topology, found.1);
                found.1
            }
        };
        Ok(Description { fingerprint, schema, topology })
    }
}
