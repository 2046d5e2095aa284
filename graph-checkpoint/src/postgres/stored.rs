//! The stored form of a text: its checksum, as 16 hexadecimal digits, and the text.
//!
//! The checksum covers the text and the identity of its row, as that of a row in a file does, and the columns that programs
//! write. Programs compute and check it, so it also detects damage between them and the server. Positions, which the server
//! assigns, are not covered.

use std::fmt::Display;

use superstep_core::checkpoint::{Checkpoint, Source, StoreError};
use superstep_core::id::{CheckpointId, Fingerprint, InterruptId, RunId};

use crate::checksum::Checksum;
use crate::error::mismatch;
use crate::history::rows::source_code;

/// The number of digits of a checksum.
const DIGITS: usize = 16;

/// The manifest of a checkpoint that was reduced to its state, as the server writes it.
const PRUNED: &str = "{}";

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

    fn place(&self) -> Cell {
        let Self { id, run, step, source, state, graph } = self;
        let sum = Checksum::of("checkpoint").bytes(id.0.as_bytes()).bytes(run.0.as_bytes()).int(*step);
        let sum = sum.int(i64::from(source_code(*source))).bytes(state.as_bytes());
        Cell(sum.bytes(graph.as_bytes()))
    }

    /// Returns the stored form of the manifest.
    pub(crate) fn store(&self, manifest: &str) -> String {
        match self.source {
            Source::Pruned => PRUNED.into(),
            _ => self.place().store(manifest),
        }
    }

    /// Returns the manifest of a stored form.
    pub(crate) fn check<'t>(&self, stored: &'t str, what: impl Display) -> Result<&'t str, StoreError> {
        match self.source {
            Source::Pruned if stored == PRUNED => Ok(stored),
            Source::Pruned => Err(mismatch(what)),
            _ => self.place().check(stored, what),
        }
    }
}

/// The identity of a text, to which its checksum belongs.
pub(crate) struct Cell(Checksum);

impl Cell {
    /// The change of a field at a checkpoint.
    pub(crate) fn change(id: CheckpointId, field: i64) -> Self {
        Self(Checksum::of("change").bytes(id.0.as_bytes()).int(field))
    }

    /// The events of a task at a checkpoint.
    pub(crate) fn emitted(id: CheckpointId, task: i64) -> Self {
        Self(Checksum::of("emitted").bytes(id.0.as_bytes()).int(task))
    }

    /// The result of a task, whose id is in the text.
    pub(crate) fn pending() -> Self {
        Self(Checksum::of("pending"))
    }

    /// A question, whose id is in the text, with its deadline.
    pub(crate) fn ask(deadline: Option<&str>) -> Self {
        Self(Checksum::of("ask").optional_text(deadline))
    }

    /// The answer to a question. The default answer, which the server may make the answer, has the same place.
    pub(crate) fn answer(interrupt: InterruptId) -> Self {
        Self(Checksum::of("answer").bytes(interrupt.as_bytes()))
    }

    /// An effect, whose id is the text.
    pub(crate) fn effect(attempt: i64, starts: i64, token: &[u8]) -> Self {
        Self(Checksum::of("effect").int(attempt).int(starts).bytes(token))
    }

    /// The outcome of the effect with this id.
    pub(crate) fn outcome(effect: &str) -> Self {
        Self(Checksum::of("outcome").text(effect))
    }

    /// A schema of a state.
    pub(crate) fn state(fingerprint: Fingerprint) -> Self {
        Self(Checksum::of("schema").bytes(fingerprint.as_bytes()))
    }

    /// The topology of a graph.
    pub(crate) fn graph(fingerprint: Fingerprint, graph: &str) -> Self {
        Self(Checksum::of("topology").bytes(fingerprint.as_bytes()).text(graph))
    }

    /// An entry of the store.
    pub(crate) fn item(path: &str, key: &str) -> Self {
        Self(Checksum::of("item").text(path).text(key))
    }

    fn sum(self, text: &str) -> i64 {
        self.0.text(text).finish()
    }

    /// Returns the stored form of a text.
    pub(crate) fn store(self, text: &str) -> String {
        format!("{:0width$x}{text}", self.sum(text), width = DIGITS)
    }

    /// Returns the text of a stored form; `what` it is, for the error.
    pub(crate) fn check(self, stored: &str, what: impl Display) -> Result<&str, StoreError> {
        let (digits, text) = stored.split_at_checked(DIGITS).unwrap_or_default();
        match u64::from_str_radix(digits, 16) {
            Ok(sum) if sum == self.sum(text).cast_unsigned() => Ok(text),
            _ => Err(mismatch(what)),
        }
    }
}
