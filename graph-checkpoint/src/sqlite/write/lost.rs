//! Commits that do not fit the head: another commit moved it, or an earlier attempt of the same one.

use superstep_core::checkpoint::{Checkpoint, Commit, Committed, StoreError, digest};

use crate::history::rows::ThreadRow;
use crate::pending::Seen;
use crate::sqlite::history::rows::CheckpointRow;
use crate::sqlite::read::reader::{self, Material};
use crate::sqlite::write::cache::WriteCache;

impl WriteCache {
    /// Returns the result of a commit that does not fit the head.
    pub(crate) fn lost(&self, commit: &Commit) -> Result<Committed, StoreError> {
        let connection = &self.connection;
        let thread = ThreadRow::find(connection, &commit.thread)?;
        let head = match &thread {
            None => None,
            Some(thread) => Some(CheckpointRow::get(connection, thread.head)?.row),
        };
        let conflict = Committed::Conflict { head: head.map(|head| head.id) };
        let Some(thread) = thread else {
            return Ok(conflict);
        };
        if let Some(seq) = CheckpointRow::seq_of(connection, commit.checkpoint.id)? {
            let own = CheckpointRow::get(connection, seq)?.row.thread == thread.id;
            let same = own && self.is_same(seq, &commit.checkpoint)?;
            return Ok(if same { Committed::Already } else { conflict });
        }
        let parent = match commit.first().parent {
            None => None,
            Some(parent) => match CheckpointRow::seq_of(connection, parent)? {
                None => return Ok(conflict),
                parent => parent,
            },
        };
        let winner = reader::walk(connection, thread.head, |row, _| {
            Ok(row.parent == parent || row.parent.is_some_and(|held| parent.is_some_and(|p| held < p)))
        })?;
        match winner {
            Some(row)
                if row.parent == parent && row.thread == thread.id && row.run == commit.checkpoint.run =>
            {
                let place = Seen { seq: row.seq, worker: thread.id, head: row.seq == thread.head };
                let loaded = reader::load_at(connection, &thread.graph, place)?;
                Ok(Committed::Adopt(Box::new(loaded)))
            }
            _ => Ok(conflict),
        }
    }

    /// Returns `true` if the checkpoint at `seq` has the content of `checkpoint`.
    pub(crate) fn is_same(&self, seq: i64, checkpoint: &Checkpoint) -> Result<bool, StoreError> {
        let stored = reader::checkpoint(&self.connection, seq, &mut Material::default())?.checkpoint;
        let digest = |checkpoint| digest(checkpoint).map_err(|error| StoreError::Io(Box::new(error)));
        Ok(digest(&stored)? == digest(checkpoint)?)
    }
}
