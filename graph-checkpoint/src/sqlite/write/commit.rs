//! Commits: insert a checkpoint's row, and move the head of its thread.

use std::mem::take;
use std::sync::Arc;

use rusqlite::{ErrorCode, params};
use superstep_core::checkpoint::{Checkpoint, Commit, Committed, Recorded, Source, StoreError};
use superstep_core::id::{CheckpointId, Fingerprint, ThreadId};

use crate::history::rows::ThreadRow;
use crate::pending::Seen;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::{FileError, sqlite};
use crate::sqlite::history::branch;
use crate::sqlite::history::changes::{Fields, MAP_EVERY};
use crate::sqlite::history::described::{Key, schema};
use crate::sqlite::history::gather::Tails;
use crate::sqlite::history::rows::CheckpointRow;
use crate::sqlite::pending;
use crate::sqlite::pending::emitted;
use crate::sqlite::pending::key::WorkKey;
use crate::sqlite::read::reader;
use crate::sqlite::write::cache::{OnTop, THREADS, WriteCache};
use crate::sqlite::write::growth;
use crate::sqlite::write::insert::{Spot, Versions};

impl WriteCache {
    pub(crate) fn commit(&mut self, commit: &Commit) -> Result<Committed, StoreError> {
        commit.check(&self.connection.limits())?;
        if self.threads.len() > THREADS {
            self.threads.clear();
        }
        for _ in 0..2 {
            if self.last_seq < 0 {
                self.catch_up()?;
            }
            let done = match &commit.input {
                None => self.attempt(commit)?,
                Some(input) => self.attempt_both(input, commit)?,
            };
            if let Some(done) = done {
                return Ok(done);
            }
            // The cache may be out of date.
            self.forget();
        }
        self.lost(commit)
    }

    /// Stores an input's checkpoint and the one that continues it, or writes nothing.
    fn attempt_both(
        &mut self,
        input: &Arc<Checkpoint>,
        commit: &Commit,
    ) -> Result<Option<Committed>, StoreError> {
        let below = Commit {
            input: None,
            checkpoint: Arc::clone(input),
            carried: None,
            emitted: Vec::new(),
            ..commit.clone()
        };
        let above = Commit { input: None, expected: Some(input.id), recorded: None, ..commit.clone() };
        let before = self.connection.total_changes();
        execute(&self.connection, "SAVEPOINT both")?;
        let done = match self.attempt(&below) {
            Ok(Some(Committed::New)) => self.attempt(&above),
            done => done,
        };
        match done {
            // The whole transaction fails.
            Err(StoreError::Io(_)) => return done,
            Ok(Some(Committed::New)) => {}
            _ => {
                execute(&self.connection, "ROLLBACK TO both")?;
                self.undone += self.connection.total_changes() - before;
                self.forget();
            }
        }
        execute(&self.connection, "RELEASE both")?;
        done
    }

    /// Stores the checkpoint if it fits the cached data; otherwise writes nothing.
    fn attempt(&mut self, commit: &Commit) -> Result<Option<Committed>, StoreError> {
        let checkpoint = &commit.checkpoint;
        self.know(&commit.thread)?;
        let (schema_row, schema) = self.schema(checkpoint.schema)?;
        let topology = self.topology(checkpoint.topology)?;

        let known = self.threads.get(&commit.thread);
        if let Some(known) = known.filter(|known| known.graph != commit.graph) {
            return Err(StoreError::WrongGraph {
                thread: commit.thread.clone(),
                expected: commit.graph.to_string(),
                found: known.graph.to_string(),
            });
        }
        if known.map(|known| known.head_id) != commit.expected {
            return Ok(None);
        }
        if known.is_none() && is_orphan(&self.connection, &commit.thread)? {
            return Ok(None);
        }
        // Ids sort by time: usually a new one is greater than all others, and need not be looked up.
        let is_newest = self.newest.is_none_or(|newest| checkpoint.id > newest);
        if !is_newest && CheckpointRow::seq_of(&self.connection, checkpoint.id)?.is_some() {
            return Ok(None);
        }

        if let Some(outrun) = self.outrun(commit)? {
            return Ok(Some(outrun));
        }

        let base = self.base(commit)?;
        let known = self.threads.get_mut(&commit.thread);
        let seq = self.last_seq + 1;
        let parent = base.parent;
        let elsewhere = |fields| (fields, MAP_EVERY, Tails::default(), None);
        let (thread, (fields, since_map, tails, size)) = match (known, base.elsewhere) {
            (Some(known), None) => {
                let (fields, tails) = (take(&mut known.fields), take(&mut known.tails));
                (known.row, (fields, known.since_map, tails, known.size.take()))
            }
            (Some(known), Some(fields)) => (known.row, elsewhere(fields)),
            (None, fields) => (self.next_thread()?, elsewhere(fields.unwrap_or_default())),
        };
        let base = Versions { schema: base.schema, fields, since_map, tails, size };
        let mut base = self.carried(base, checkpoint.schema, &schema)?;
        base.size = growth::size_after(self, commit, &mut base)?;
        let at = Spot { seq, parent, thread, schema: schema_row, topology };
        let versions = match self.put(checkpoint, &at, base)? {
            Ok(versions) => versions,
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                // Another connection has used the number.
                return Ok(None);
            }
            Err(error) => return Err(sqlite(error)),
        };
        self.last_seq = seq;
        if is_newest {
            self.newest = Some(checkpoint.id);
        }
        self.move_head(commit, thread, parent, seq)?;
        emitted::keep(&self.connection, seq, &commit.emitted)?;
        let work = match &commit.carried {
            Some(carried) if pending::carry(&self.connection, WorkKey { thread, base: seq }, carried)? => {
                OnTop::Unread
            }
            _ => OnTop::Nothing,
        };
        CheckpointRow::locate(&self.connection, seq)?;
        self.remember(commit, thread, seq, versions, work);
        Ok(Some(Committed::New))
    }

    /// Returns the head with all its records, if they differ from those that the commit expects.
    fn outrun(&self, commit: &Commit) -> Result<Option<Committed>, StoreError> {
        let (Some(recorded), Some(known)) = (commit.recorded, self.threads.get(&commit.thread)) else {
            return Ok(None);
        };
        let on_head = Seen { seq: known.head, worker: known.row, head: true };
        let held = match known.work {
            OnTop::Nothing => Recorded::default(),
            OnTop::Results(held) => held,
            OnTop::Unread => pending::recorded(&self.connection, on_head)?,
        };
        if held == recorded {
            return Ok(None);
        }
        let loaded = reader::load_at(&self.connection, known.graph.as_str(), on_head)?;
        Ok(Some(Committed::Outrun(Box::new(loaded))))
    }

    /// Returns the state on which the checkpoint builds.
    fn base(&self, commit: &Commit) -> Result<Base, StoreError> {
        let known = self.threads.get(&commit.thread);
        match commit.checkpoint.parent {
            None => Ok(Base { parent: None, schema: None, elsewhere: Some(Fields::new()) }),
            parent if parent == commit.expected => Ok(Base {
                parent: known.map(|known| known.head),
                schema: known.map(|known| known.schema),
                elsewhere: None,
            }),
            Some(parent) => {
                let seq = CheckpointRow::seq_of(&self.connection, parent)?;
                let seq = seq.ok_or_else(|| StoreError::NoCheckpoint {
                    thread: commit.thread.clone(),
                    checkpoint: parent.to_string(),
                })?;
                let row = CheckpointRow::get(&self.connection, seq)?.row;
                // The content of a branch is copied from its parent.
                if commit.checkpoint.source != Source::Fork {
                    refuse_pruned(&row, &commit.thread)?;
                }
                let found = schema(&self.connection, Key::Row(row.schema))?;
                Ok(Base {
                    parent: Some(seq),
                    schema: found.map(|(_, fingerprint, _)| fingerprint),
                    elsewhere: Some(reader::fields_at(&self.connection, seq)?.0),
                })
            }
        }
    }

    pub(crate) fn next_thread(&self) -> Result<i64, StoreError> {
        let mut last =
            self.connection.prepare_cached("SELECT coalesce(max(id), 0) FROM thread").map_err(sqlite)?;
        last.query_row([], |row| row.get::<_, i64>(0)).map(|last| last + 1).map_err(sqlite)
    }

    /// Moves the head from its expected position, as a compare-and-swap, or fails the transaction.
    fn move_head(
        &self,
        commit: &Commit,
        thread: i64,
        parent: Option<i64>,
        seq: i64,
    ) -> Result<(), StoreError> {
        let graph = commit.graph.as_str();
        let sum = ThreadRow::sum(thread, &commit.thread, graph, seq);
        let Some(known) = self.threads.get(&commit.thread) else {
            return insert_thread(&self.connection, thread, &commit.thread, graph, seq);
        };
        let moved = self
            .connection
            .prepare_cached("UPDATE thread SET head = ?, sum = ? WHERE id = ? AND head = ?")
            .and_then(|mut update| update.execute(params![seq, sum, thread, known.head]))
            .map_err(sqlite)?;
        if moved != 1 {
            return Err(FileError::Raced.into());
        }
        let goes_on = commit.checkpoint.parent == commit.expected;
        if !goes_on {
            branch::leave(&self.connection, thread, known.head, parent)?;
        }
        if known.work != OnTop::Nothing {
            let place = WorkKey { thread, base: known.head };
            // An input discards the superstep, and so does a branch from another checkpoint.
            if goes_on && commit.checkpoint.source != Source::Input {
                pending::settle(&self.connection, place)?;
            } else {
                pending::discard(&self.connection, place)?;
            }
        }
        Ok(())
    }

    pub(crate) fn fork(
        &mut self,
        from: &ThreadId,
        at: CheckpointId,
        to: &ThreadId,
    ) -> Result<(), StoreError> {
        let source = ThreadRow::find(&self.connection, from)?
            .ok_or_else(|| StoreError::NoCheckpoint { thread: from.clone(), checkpoint: at.to_string() })?;
        let seen = reader::seen(&self.connection, &source, at)?;
        CheckpointRow::visit(&self.connection, seen.seq, |row, _| refuse_pruned(&row, from))?;
        if ThreadRow::find(&self.connection, to)?.is_some() {
            return Err(StoreError::ThreadExists(to.clone()));
        }
        if is_orphan(&self.connection, to)? {
            return Err(StoreError::Superseded { thread: to.clone(), base: at });
        }
        insert_thread(&self.connection, self.next_thread()?, to, &source.graph, seen.seq)
    }
}

fn execute(connection: &Connection, sql: &str) -> Result<(), StoreError> {
    connection.prepare_cached(sql).and_then(|mut sql| sql.execute([])).map(drop).map_err(sqlite)
}

/// Returns `true` if this is the thread of a subgraph, and the thread above it was deleted.
fn is_orphan(connection: &Connection, thread: &ThreadId) -> Result<bool, StoreError> {
    let Some(above) = thread.above() else { return Ok(false) };
    Ok(ThreadRow::find(connection, &above)?.is_none())
}

/// Returns an error for a checkpoint that was reduced to its state, from which nothing can continue.
fn refuse_pruned(row: &CheckpointRow, thread: &ThreadId) -> Result<(), StoreError> {
    match row.source {
        Source::Pruned => Err(StoreError::pruned(thread, row.id)),
        _ => Ok(()),
    }
}

/// The state on which a checkpoint builds.
struct Base {
    parent: Option<i64>,
    schema: Option<Fingerprint>,
    /// The versions at the parent, if it is not the thread's head.
    elsewhere: Option<Fields>,
}

pub(crate) fn insert_thread(
    connection: &Connection,
    id: i64,
    name: &ThreadId,
    graph: &str,
    head: i64,
) -> Result<(), StoreError> {
    let sum = ThreadRow::sum(id, name, graph, head);
    connection
        .prepare_cached("INSERT INTO thread(id, name, graph, head, sum) VALUES(?, ?, ?, ?, ?)")
        .and_then(|mut insert| insert.execute(params![id, name.as_str(), graph, head, sum]))
        .map(drop)
        .map_err(sqlite)
}
