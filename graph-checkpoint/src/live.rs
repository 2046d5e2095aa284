//! What the writer remembers of the file.

use std::collections::HashMap;
use std::sync::Arc;

use superstep_core::checkpoint::{Commit, GraphDescription, StoreError};
use superstep_core::id::{CheckpointId, Fingerprint, NodeName, ThreadId};
use superstep_core::state::{Json, Schema};

use crate::connection::Connection;
use crate::described::{Described, Key, schema, topology};
use crate::fault::sqlite;
use crate::gather::Tails;
use crate::manifest::Fields;
use crate::place::Place;
use crate::put::Versions;
use crate::reader;
use crate::rows::{CheckpointRow, ThreadRow};

/// The writing connection with what it remembers of the file.
///
/// What it remembers is a cache: it is dropped when another connection turns out to have committed a
/// checkpoint, and with every transaction that fails.
pub(crate) struct Live {
    pub(crate) connection: Connection,
    pub(crate) threads: HashMap<ThreadId, Known>,
    /// The latest checkpoint's; negative when it is not known.
    pub(crate) last_seq: i64,
    /// A greater id is a new one.
    pub(crate) newest: Option<CheckpointId>,
    schemas: HashMap<Fingerprint, (i64, Arc<Schema>)>,
    topologies: HashMap<Fingerprint, i64>,
    pub(crate) changes: String,
    pub(crate) fields: String,
    pub(crate) manifest: String,
}

/// How many threads are remembered.
pub(crate) const THREADS: usize = 8192;

/// What is remembered of a thread.
pub(crate) struct Known {
    pub(crate) row: i64,
    pub(crate) graph: NodeName,
    pub(crate) head: i64,
    pub(crate) head_id: CheckpointId,
    pub(crate) schema: Fingerprint,
    pub(crate) fields: Fields,
    /// Checkpoints since the last whole map.
    pub(crate) since_map: u32,
    pub(crate) tails: Tails,
    /// Whether there may be work on top of the head.
    pub(crate) work: bool,
}

impl Live {
    pub(crate) fn new(connection: Connection) -> Self {
        Self {
            connection,
            threads: HashMap::new(),
            last_seq: -1,
            newest: None,
            schemas: HashMap::new(),
            topologies: HashMap::new(),
            changes: String::new(),
            fields: String::new(),
            manifest: String::new(),
        }
    }

    pub(crate) fn forget(&mut self) {
        self.threads.clear();
        self.schemas.clear();
        self.topologies.clear();
        self.last_seq = -1;
    }

    /// Forgets everything if somebody else has committed a checkpoint.
    pub(crate) fn catch_up(&mut self) -> Result<(), StoreError> {
        let mut last = self.connection.prepare_cached("SELECT max(seq) FROM checkpoint").map_err(sqlite)?;
        let last: Option<i64> = last.query_row([], |row| row.get(0)).map_err(sqlite)?;
        let last = last.unwrap_or(0);
        if last != self.last_seq {
            self.threads.clear();
            self.last_seq = last;
            self.newest = CheckpointRow::newest_id(&self.connection, last)?;
        }
        Ok(())
    }

    pub(crate) fn know(&mut self, thread: &ThreadId) -> Result<bool, StoreError> {
        if self.threads.contains_key(thread) {
            return Ok(true);
        }
        let Some(row) = ThreadRow::find(&self.connection, thread)? else {
            return Ok(false);
        };
        let head = CheckpointRow::get(&self.connection, row.head)?.row;
        let (fields, since_map) = reader::fields_at(&self.connection, row.head)?;
        let (_, schema, _) = schema(&self.connection, Key::Row(head.schema))?
            .ok_or_else(|| crate::fault::corrupt("the schemas", "one is missing"))?;
        let known = Known {
            row: row.id,
            graph: row.graph.into(),
            head: row.head,
            head_id: head.id,
            schema,
            fields,
            since_map,
            tails: Tails::default(),
            work: true,
        };
        self.threads.insert(row.name, known);
        Ok(true)
    }

    /// Where work on `base` belongs; an error unless `base` is the head of `thread`.
    pub(crate) fn place(&mut self, thread: &ThreadId, base: CheckpointId) -> Result<Place, StoreError> {
        self.know(thread)?;
        let superseded = || StoreError::Superseded { thread: thread.clone(), base };
        // A thread that is not there has been deleted.
        let known = self.threads.get_mut(thread).ok_or_else(superseded)?;
        if known.head_id == base {
            known.work = true;
            return Ok(Place { thread: known.row, base: known.head });
        }
        match CheckpointRow::seq_of(&self.connection, base)? {
            None => Err(StoreError::NoCheckpoint { thread: thread.clone(), checkpoint: base.to_string() }),
            Some(_) => Err(superseded()),
        }
    }

    pub(crate) fn schema(&mut self, fingerprint: Fingerprint) -> Result<(i64, Arc<Schema>), StoreError> {
        if let Some(known) = self.schemas.get(&fingerprint) {
            return Ok(known.clone());
        }
        let (row, _, schema) = schema(&self.connection, Key::Fingerprint(fingerprint))?
            .ok_or(StoreError::NotRegistered(fingerprint))?;
        let known = (row, Arc::new(schema));
        self.schemas.insert(fingerprint, known.clone());
        Ok(known)
    }

    pub(crate) fn topology(&mut self, fingerprint: Fingerprint) -> Result<i64, StoreError> {
        if let Some(row) = self.topologies.get(&fingerprint) {
            return Ok(*row);
        }
        let (row, _) = topology(&self.connection, Key::Fingerprint(fingerprint))?
            .ok_or(StoreError::NotRegistered(fingerprint))?;
        self.topologies.insert(fingerprint, row);
        Ok(row)
    }

    pub(crate) fn register(&mut self, graph: &GraphDescription) -> Result<(), StoreError> {
        let text = Json::encode(&graph.schema).map_err(|error| StoreError::Io(Box::new(error)))?;
        let schema = Described::Schema { text: text.as_str() };
        schema.keep(&self.connection, graph.schema.fingerprint())?;
        let topology = Described::Topology { graph: &graph.name, text: graph.topology.as_str() };
        topology.keep(&self.connection, graph.topology_fingerprint)
    }

    pub(crate) fn remember(&mut self, commit: &Commit, thread: i64, seq: i64, versions: Versions) {
        let checkpoint = &commit.checkpoint;
        let Versions { fields, since_map, tails, .. } = versions;
        if let Some(known) = self.threads.get_mut(&commit.thread) {
            known.head = seq;
            known.head_id = checkpoint.id;
            known.schema = checkpoint.schema;
            known.fields = fields;
            known.since_map = since_map;
            known.tails = tails;
            known.work = false;
            return;
        }
        let known = Known {
            row: thread,
            graph: commit.graph.clone(),
            head: seq,
            head_id: checkpoint.id,
            schema: checkpoint.schema,
            fields,
            since_map,
            tails,
            work: false,
        };
        self.threads.insert(commit.thread.clone(), known);
    }
}
