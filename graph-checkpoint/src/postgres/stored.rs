//! The stored form of texts.
//!
//! A plain text has its checksum before it, as 16 hexadecimal digits. The checksum covers the text and its [`Cell`]: the
//! identity of its row, and the columns that programs write. Programs compute and check it, so it also detects damage between
//! them and the server. Positions, which the server assigns, are not covered. The rows of a server have no checksums.
//!
//! In an encrypted schema a text is encrypted for its cell instead. Descriptions of states and graphs stay plain.

use std::borrow::Cow;
use std::fmt::Display;
use std::sync::Arc;

use superstep_core::checkpoint::{Checkpoint, KeyProblem, Recorded, Source, StoreError};
use superstep_core::id::{CheckpointId, Fingerprint, InterruptId, RunId, TaskId, ThreadId};
use superstep_core::state::SizeLimits;

use super::encryption::Encryption;
use crate::checksum::Checksum;
use crate::encryption::{Cell, is_sealed};
use crate::error::{keys, mismatch};
use crate::history::rows::source_code;

/// The number of digits of a checksum.
const DIGITS: usize = 16;

/// The manifest of a checkpoint that was reduced to its state, as the server writes it.
const PRUNED: &str = "{}";

/// The texts of a schema: their limits, and their stored form.
#[derive(Clone)]
pub(crate) struct Texts {
    pub(crate) limits: SizeLimits,
    /// Set for an encrypted schema.
    pub(crate) encryption: Option<Arc<Encryption>>,
}

impl Texts {
    /// Returns the stored form of a text.
    pub(crate) fn store(&self, cell: &Cell, text: &str) -> Result<String, StoreError> {
        match &self.encryption {
            Some(encryption) => encryption.encrypt(cell, text),
            None => Ok(with_checksum(cell, text)),
        }
    }

    /// Returns the text of a stored form; `what` it is, for the error.
    pub(crate) fn open<'t>(
        &self,
        cell: &Cell,
        stored: &'t str,
        what: impl Display,
    ) -> Result<Cow<'t, str>, StoreError> {
        match &self.encryption {
            Some(encryption) => encryption.decrypt(cell, stored, what).map(Cow::Owned),
            None => {
                refuse_sealed(stored)?;
                checked(cell, stored, what).map(Cow::Borrowed)
            }
        }
    }

    /// Returns the stored form of a text of a server's row.
    pub(crate) fn store_row(&self, cell: &Cell, text: String) -> Result<String, StoreError> {
        match &self.encryption {
            Some(encryption) => encryption.encrypt(cell, &text),
            None => Ok(text),
        }
    }

    /// Returns the text of a server's row.
    pub(crate) fn open_row<'t>(&self, cell: &Cell, stored: &'t str) -> Result<Cow<'t, str>, StoreError> {
        match &self.encryption {
            Some(encryption) => encryption.decrypt(cell, stored, cell.place()).map(Cow::Owned),
            None => refuse_sealed(stored).map(|()| Cow::Borrowed(stored)),
        }
    }

    /// Returns the hash by which a text is found.
    pub(crate) fn digest(&self, text: &str) -> blake3::Hash {
        match &self.encryption {
            Some(encryption) => encryption.digest(text),
            None => blake3::hash(text.as_bytes()),
        }
    }

    /// Returns the number by which a commit recognises a recorded result, in decimal digits: its digest. In an encrypted
    /// schema it is a random number instead, because a digest would show which results are the same.
    pub(crate) fn number(&self, recorded: Recorded) -> Result<String, StoreError> {
        Ok(match &self.encryption {
            Some(encryption) => encryption.number()?.to_string(),
            None => digits(recorded),
        })
    }
}

/// Returns a digest as the functions take it: a number in decimal digits.
pub(crate) fn digits(recorded: Recorded) -> String {
    u128::from_le_bytes(recorded.to_bytes()).to_string()
}

fn sum(cell: &Cell, text: &str) -> i64 {
    Checksum::of("").bytes(cell.as_bytes()).text(text).finish()
}

/// Returns the plain stored form of a text.
pub(crate) fn with_checksum(cell: &Cell, text: &str) -> String {
    format!("{:0width$x}{text}", sum(cell, text), width = DIGITS)
}

/// Returns the text of a plain stored form; `what` it is, for the error.
pub(crate) fn checked<'t>(cell: &Cell, stored: &'t str, what: impl Display) -> Result<&'t str, StoreError> {
    let (digits, text) = stored.split_at_checked(DIGITS).unwrap_or_default();
    match u64::from_str_radix(digits, 16) {
        Ok(found) if found == sum(cell, text).cast_unsigned() => Ok(text),
        _ => Err(mismatch(what)),
    }
}

/// Returns an error if a text is encrypted: the schema was encrypted after this program opened it.
fn refuse_sealed(stored: &str) -> Result<(), StoreError> {
    match stored.rsplit_once('.').filter(|_| is_sealed(stored)) {
        Some((key, _)) => Err(keys("the schema", KeyProblem::NoKeys { key: key[1..].to_owned() })),
        None => Ok(()),
    }
}

/// The columns of a checkpoint.
pub(crate) struct Columns {
    pub(crate) id: CheckpointId,
    pub(crate) run: RunId,
    pub(crate) step: i64,
    pub(crate) source: Source,
    pub(crate) state: Fingerprint,
    pub(crate) graph: Fingerprint,
}

impl Columns {
    pub(crate) fn of(checkpoint: &Checkpoint) -> Self {
        let Checkpoint { id, run, step, source, schema, topology, .. } = checkpoint;
        Self { id: *id, run: *run, step: *step, source: *source, state: *schema, graph: *topology }
    }

    fn cell(&self) -> Cell {
        let Self { id, run, step, source, state, graph } = self;
        let cell = Cell::of("checkpoint", "manifest").bytes(id.0.as_bytes()).bytes(run.0.as_bytes());
        let cell = cell.int(*step).int(i64::from(source_code(*source)));
        cell.bytes(state.as_bytes()).bytes(graph.as_bytes())
    }

    /// Returns the stored form of the manifest.
    pub(crate) fn store(&self, texts: &Texts, manifest: &str) -> Result<String, StoreError> {
        match self.source {
            Source::Pruned => Ok(PRUNED.into()),
            _ => texts.store(&self.cell(), manifest),
        }
    }

    /// Returns the manifest of a stored form.
    pub(crate) fn open<'t>(
        &self,
        texts: &Texts,
        stored: &'t str,
        what: impl Display,
    ) -> Result<Cow<'t, str>, StoreError> {
        match self.source {
            Source::Pruned if stored == PRUNED => Ok(stored.into()),
            Source::Pruned => Err(mismatch(what)),
            _ => texts.open(&self.cell(), stored, what),
        }
    }
}

/// Returns the cell of the change of a field at a checkpoint.
pub(crate) fn change(id: CheckpointId, field: i64) -> Cell {
    Cell::of("change", "text").bytes(id.0.as_bytes()).int(field)
}

/// Returns the cell of the events of a task at a checkpoint.
pub(crate) fn emitted(id: CheckpointId, task: i64) -> Cell {
    Cell::of("emitted", "text").bytes(id.0.as_bytes()).int(task)
}

/// Returns the cell of the result of a task.
pub(crate) fn pending(task: TaskId) -> Cell {
    Cell::of("pending", "text").bytes(task.as_bytes())
}

/// Returns the cell of a question with its deadline.
pub(crate) fn ask(interrupt: InterruptId, deadline: Option<&str>) -> Cell {
    Cell::of("ask", "text").bytes(interrupt.as_bytes()).optional_text(deadline)
}

/// Returns the cell of the answer to a question. The default answer, which the server may make the answer, has the same one.
pub(crate) fn answer(interrupt: InterruptId) -> Cell {
    Cell::of("ask", "answer").bytes(interrupt.as_bytes())
}

/// Returns the cell of an effect, whose id is the text.
pub(crate) fn effect(attempt: i64, starts: i64, token: &[u8], slot: &[u8]) -> Cell {
    Cell::of("effect", "text").int(attempt).int(starts).bytes(token).bytes(slot)
}

/// Returns the cell of the outcome of the effect with this id.
pub(crate) fn outcome(effect: &str) -> Cell {
    Cell::of("effect", "outcome").text(effect)
}

/// Returns the cell of a schema of a state.
pub(crate) fn state(fingerprint: Fingerprint) -> Cell {
    Cell::of("described_state", "text").bytes(fingerprint.as_bytes())
}

/// Returns the cell of the topology of a graph.
pub(crate) fn graph(fingerprint: Fingerprint, graph: &str) -> Cell {
    Cell::of("described_graph", "text").bytes(fingerprint.as_bytes()).text(graph)
}

/// Returns the cell of an entry of the store.
pub(crate) fn item(path: &str, key: &str) -> Cell {
    Cell::of("item", "value").text(path).text(key)
}

/// Returns the cell of a server's row with this name.
pub(crate) fn row(table: &'static str, name: &[u8]) -> Cell {
    Cell::of(table, "text").bytes(name)
}

/// Returns the cell of the error of a server's run.
pub(crate) fn run_error(name: &[u8]) -> Cell {
    Cell::of("server_run", "error").bytes(name)
}

/// Returns the cell of an event of a server's run.
pub(crate) fn event(thread: &ThreadId, seq: i64, run: &[u8]) -> Cell {
    Cell::of("server_event", "text").text(thread.as_str()).int(seq).bytes(run)
}
