//! The state that the clones of a saver share: the file, its writer, its readers, and open supersteps.

use superstep_core::checkpoint::StoreError;
use superstep_core::id::{CheckpointId, ThreadId};

use crate::durability::Durability;
use crate::history::rows::ThreadRow;
use crate::pending::Seen;
use crate::sqlite::connection::Connection;
use crate::sqlite::file::{File, snapshot};
use crate::sqlite::history::rows::CheckpointRow;
use crate::sqlite::pending::drawn::Drawn;
use crate::sqlite::pending::results::pending;
use crate::sqlite::read::reader::Readers;
use crate::sqlite::write::session::Sessions;
use crate::sqlite::write::writer::Writer;

pub(crate) struct Shared {
    pub(crate) file: File,
    pub(crate) writer: Writer,
    pub(super) readers: Readers,
    pub(super) sessions: Sessions,
    pub(super) drawn: Drawn,
}

impl Shared {
    /// Returns `true` if only the writer's connection sees the stored data.
    pub(crate) fn is_private(&self) -> bool {
        self.file.path.is_none() || self.file.options.durability == Durability::Exit
    }

    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if self.is_private() {
            self.writer.read(|connection| snapshot(connection, read))
        } else {
            self.readers.with(&self.file, |connection| snapshot(connection, read))
        }
    }

    /// Opens the superstep on `base`; returns `false` if `base` is no longer the thread's head.
    pub(super) fn begin_superstep(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        fence: Option<u64>,
    ) -> Result<bool, StoreError> {
        let stored = self.read(|connection| {
            // A thread that does not exist was deleted.
            let Some(row) = ThreadRow::find(connection, thread)? else { return Ok(None) };
            let missing =
                || StoreError::NoCheckpoint { thread: thread.clone(), checkpoint: base.to_string() };
            let seq = CheckpointRow::seq_of(connection, base)?.ok_or_else(missing)?;
            let head = row.head == seq;
            let (results, _) = pending(connection, Seen { seq, worker: row.id, head })?;
            Ok(head.then_some(results))
        })?;
        let Some(results) = stored else {
            return Ok(false);
        };
        self.sessions.begin(thread, base, fence, results);
        Ok(true)
    }
}
