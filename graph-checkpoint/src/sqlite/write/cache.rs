//! The writer's cache of the file's contents.

use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};
use rusqlite::OptionalExtension;
use superstep_core::checkpoint::{
    Checkpoint, Commit, GraphDescription, Recorded, StateSize, StoreError, TaskResult,
};
use superstep_core::id::{CheckpointId, Fingerprint, NodeName, ThreadId};
use superstep_core::state::{Json, Schema};
use uuid::Uuid;

use crate::history::rows::ThreadRow;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::history::changes::Fields;
use crate::sqlite::history::described::{Described, Key, schema, topology};
use crate::sqlite::history::gather::Tails;
use crate::sqlite::history::rows::CheckpointRow;
use crate::sqlite::pending::key::WorkKey;
use crate::sqlite::pending::results::{self, Kept};
use crate::sqlite::read::reader;
use crate::sqlite::write::insert::Versions;

/// The connection that writes, with a cache of the file's contents.
///
/// The cache is dropped with every transaction that fails, and when another connection has deleted something. When
/// another connection has written anything else, each thread is checked before it is used: cached data of unchanged
/// threads stays valid.
pub(crate) struct WriteCache {
    pub(crate) connection: Connection,
    pub(crate) threads: HashMap<ThreadId, Known>,
    /// The sequence number of the latest checkpoint; negative if it is unknown.
    pub(crate) last_seq: i64,
    /// The greatest known id: a greater one is new.
    pub(crate) newest: Option<CheckpointId>,
    /// SQLite's counter of commits by other connections; negative if it is unknown.
    version: i64,
    /// The number of changes that were rolled back although their transaction continued.
    pub(crate) undone: u64,
    /// The number of times that commits by other connections were detected.
    seen: u64,
    /// `false` while commits do not wait for the disk, although the options say so.
    is_synced: bool,
    schemas: HashMap<Fingerprint, (i64, Arc<Schema>)>,
    topologies: HashMap<Fingerprint, i64>,
    pub(crate) changes: String,
    pub(crate) fields: String,
    pub(crate) manifest: String,
}

/// The largest number of threads in the cache.
pub(crate) const THREADS: usize = 8192;

/// The maximum number of checkpoints by other connections that the cache reads to catch up. After more, the cache is
/// cleared.
const FOLLOWED: i64 = 4096;

/// The cached state of a thread.
pub(crate) struct Known {
    pub(crate) row: i64,
    pub(crate) graph: NodeName,
    pub(crate) head: i64,
    pub(crate) head_id: CheckpointId,
    pub(crate) schema: Fingerprint,
    pub(crate) fields: Fields,
    /// The number of checkpoints since the last whole map.
    pub(crate) since_map: u32,
    pub(crate) tails: Tails,
    /// The size of its state, if it is known.
    pub(crate) size: Option<StateSize>,
    pub(crate) work: OnTop,
    /// The value of `WriteCache::seen` when the head and the work on it were last checked.
    seen: u64,
}

/// The known work on top of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnTop {
    /// There is no work.
    Nothing,
    /// There may be work, of which only these records matter to a commit.
    Results(Recorded),
    /// There may be any work.
    Unread,
}

impl OnTop {
    /// Records that work was added that does not matter to a commit.
    pub(crate) fn touch(&mut self) {
        if *self == Self::Nothing {
            *self = Self::Results(Recorded::default());
        }
    }

    /// Records that a result was added.
    pub(crate) fn add(&mut self, result: &TaskResult) {
        self.touch();
        if let Self::Results(all) = self {
            all.add_result(result);
        }
    }
}

impl Known {
    /// Returns `true` if the thread still has its head, whatever other connections have written. The work on the head
    /// may have changed.
    fn is_as_before(&mut self, connection: &Connection) -> Result<bool, StoreError> {
        let mut look = connection
            .prepare_cached(
                "SELECT head, EXISTS(SELECT 1 FROM pending WHERE thread = t.id AND base = t.head) \
                 OR EXISTS(SELECT 1 FROM effect WHERE thread = t.id AND base = t.head) \
                 OR EXISTS(SELECT 1 FROM ask WHERE thread = t.id AND base = t.head) \
                 FROM thread AS t WHERE id = ?",
            )
            .map_err(sqlite)?;
        let found = look.query_row([self.row], |row| Ok((row.get(0)?, row.get(1)?))).optional();
        let Some((head, has_work)): Option<(i64, bool)> = found.map_err(sqlite)? else { return Ok(false) };
        self.work = if has_work { OnTop::Unread } else { OnTop::Nothing };
        Ok(head == self.head)
    }
}

impl WriteCache {
    pub(crate) fn new(connection: Connection) -> Self {
        Self {
            connection,
            threads: HashMap::new(),
            last_seq: -1,
            newest: None,
            version: -1,
            undone: 0,
            is_synced: true,
            seen: 0,
            schemas: HashMap::new(),
            topologies: HashMap::new(),
            changes: String::new(),
            fields: String::new(),
            manifest: String::new(),
        }
    }

    /// Sets if the next commits wait for the disk. Between transactions only.
    pub(crate) fn sync_commits(&mut self, is_synced: bool) -> Result<(), StoreError> {
        if self.is_synced != is_synced {
            let synchronous = if is_synced { "FULL" } else { "NORMAL" };
            self.connection.pragma_update(None, "synchronous", synchronous).map_err(sqlite)?;
            self.is_synced = is_synced;
        }
        Ok(())
    }

    /// Returns the number of changes that the connection has made. A request that does not increase it has written
    /// nothing.
    pub(crate) fn written(&self) -> u64 {
        self.connection.total_changes() - self.undone
    }

    pub(crate) fn forget(&mut self) {
        self.threads.clear();
        self.schemas.clear();
        self.topologies.clear();
        self.last_seq = -1;
    }

    /// Detects commits by other connections. Each transaction calls this before it uses the cache.
    pub(crate) fn catch_up(&mut self) -> Result<(), StoreError> {
        let number = |sql| -> Result<Option<i64>, StoreError> {
            let found =
                self.connection.prepare_cached(sql).and_then(|mut sql| sql.query_row([], |row| row.get(0)));
            found.map_err(sqlite)
        };
        let version = number("PRAGMA data_version")?.unwrap_or(-1);
        if version == self.version && self.last_seq >= 0 {
            return Ok(());
        }
        let last = number("SELECT max(seq) FROM checkpoint")?.unwrap_or(0);
        self.version = version;
        self.seen += 1;
        if last == self.last_seq {
            return Ok(());
        }
        if self.threads.is_empty() || !(0..=FOLLOWED).contains(&(last - self.last_seq)) || !self.follow()? {
            self.threads.clear();
            self.newest = CheckpointRow::newest_id(&self.connection, last)?;
        }
        self.last_seq = last;
        Ok(())
    }

    /// Reads the checkpoints that other connections have added. Returns `false` if they have also deleted some.
    fn follow(&mut self) -> Result<bool, StoreError> {
        // A deletion adds an empty row. The last checkpoint is also looked up: it is only missing after a deletion.
        let mut added = self
            .connection
            .prepare_cached("SELECT min(seq), max(id), min(thread) FROM checkpoint WHERE seq >= ?")
            .map_err(sqlite)?;
        let (first, newest, thread): (i64, Vec<u8>, i64) = added
            .query_row([self.last_seq], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .map_err(sqlite)?;
        if let Ok(newest) = Uuid::from_slice(&newest) {
            self.newest = self.newest.max(Some(CheckpointId(newest)));
        }
        Ok(first == self.last_seq && thread != 0)
    }

    pub(crate) fn know(&mut self, thread: &ThreadId) -> Result<bool, StoreError> {
        if let Some(known) = self.threads.get_mut(thread) {
            if known.seen == self.seen || known.is_as_before(&self.connection)? {
                known.seen = self.seen;
                return Ok(true);
            }
            self.threads.remove(thread);
        }
        let Some(row) = ThreadRow::find(&self.connection, thread)? else {
            return Ok(false);
        };
        let head = CheckpointRow::get(&self.connection, row.head)?.row;
        let (fields, since_map) = reader::fields_at(&self.connection, row.head)?;
        let (_, schema, _) = schema(&self.connection, Key::Row(head.schema))?
            .ok_or_else(|| crate::error::corrupt("the schemas", "one is missing"))?;
        let known = Known {
            row: row.id,
            graph: row.graph.into(),
            head: row.head,
            head_id: head.id,
            schema,
            fields,
            since_map,
            tails: Tails::default(),
            size: None,
            work: OnTop::Unread,
            seen: self.seen,
        };
        self.threads.insert(row.name, known);
        Ok(true)
    }

    /// Returns the key of work on `base`; an error unless `base` is the head of `thread`.
    pub(crate) fn place(&mut self, thread: &ThreadId, base: CheckpointId) -> Result<WorkKey, StoreError> {
        self.know(thread)?;
        let superseded = || StoreError::Superseded { thread: thread.clone(), base };
        // A thread that does not exist was deleted.
        let known = self.threads.get_mut(thread).ok_or_else(superseded)?;
        if known.head_id == base {
            known.work.touch();
            return Ok(WorkKey { thread: known.row, base: known.head });
        }
        match CheckpointRow::seq_of(&self.connection, base)? {
            None => Err(StoreError::NoCheckpoint { thread: thread.clone(), checkpoint: base.to_string() }),
            Some(_) => Err(superseded()),
        }
    }

    /// Stores a result on `base`; returns `true` if it is the one that counts.
    pub(crate) fn record(
        &mut self,
        thread: &ThreadId,
        base: CheckpointId,
        result: &TaskResult,
    ) -> Result<bool, StoreError> {
        let place = self.place(thread, base)?;
        let kept = results::record(&self.connection, place, result)?;
        if let Some(known) = self.threads.get_mut(thread) {
            match kept {
                Kept::New => known.work.add(result),
                Kept::Completed => known.work = OnTop::Unread,
                Kept::Already | Kept::Another => {}
            }
        }
        Ok(kept != Kept::Another)
    }

    /// Returns `true` if a commit on the thread's head expects exactly the known work and these further `results`,
    /// which are not stored. The commit then finds them in the known work.
    pub(crate) fn expects<'r>(
        &mut self,
        thread: &ThreadId,
        base: Option<CheckpointId>,
        recorded: Option<Recorded>,
        results: impl Iterator<Item = &'r TaskResult>,
    ) -> Result<bool, StoreError> {
        self.know(thread)?;
        let Some(known) = self.threads.get_mut(thread).filter(|known| Some(known.head_id) == base) else {
            return Ok(false);
        };
        let mut work = known.work;
        results.for_each(|result| work.add(result));
        let is_expected = matches!(work, OnTop::Results(all) if Some(all) == recorded);
        if is_expected {
            known.work = work;
        }
        Ok(is_expected)
    }

    /// Returns `true` if the thread's head is known to be this checkpoint.
    pub(crate) fn is_head(&self, thread: &ThreadId, id: CheckpointId) -> bool {
        self.threads.get(thread).is_some_and(|known| known.head_id == id)
    }

    /// Forgets the known work on the thread's head.
    pub(crate) fn distrust_work(&mut self, thread: &ThreadId) {
        if let Some(known) = self.threads.get_mut(thread) {
            known.work = OnTop::Unread;
        }
    }

    /// Returns the key of work that changes which effects have succeeded, like [`place`](Self::place).
    pub(crate) fn place_of_effect(
        &mut self,
        thread: &ThreadId,
        base: CheckpointId,
    ) -> Result<WorkKey, StoreError> {
        let place = self.place(thread, base)?;
        if let Some(known) = self.threads.get_mut(thread) {
            known.work = OnTop::Unread;
        }
        Ok(place)
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

    /// Updates the cache after a commit was stored in the row `seq`, with `work` on top.
    pub(crate) fn remember(
        &mut self,
        commit: &Commit,
        thread: i64,
        seq: i64,
        versions: Versions,
        work: OnTop,
    ) {
        let Checkpoint { id, schema, .. } = *commit.checkpoint;
        let Versions { fields, since_map, tails, size, .. } = versions;
        if let Some(known) = self.threads.get_mut(&commit.thread) {
            known.head = seq;
            known.head_id = id;
            known.schema = schema;
            known.fields = fields;
            known.since_map = since_map;
            known.tails = tails;
            known.size = size;
            known.work = work;
            return;
        }
        let known = Known {
            row: thread,
            graph: commit.graph.clone(),
            head: seq,
            head_id: id,
            schema,
            fields,
            since_map,
            tails,
            size,
            work,
            seen: self.seen,
        };
        self.threads.insert(commit.thread.clone(), known);
    }
}

#[cfg(test)]
mod tests;
