//! Transcripts: sessions as files of JSON lines.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use superstep_core::checkpoint::{
    At, Checkpoint, Checkpointer, CheckpointerExt, Fold, Source, StepRecord, StoreError,
};
use superstep_core::id::{CheckpointId, NodeName, ThreadId};
use superstep_core::state::{CodecError, Op, State};

use crate::state::AssistantState;

/// A transcript: a file with one line of JSON for each checkpoint of a session, which says what the checkpoint changed.
///
/// The file is derived from the checkpoints and can be written again at any time. [`record`](Self::record) appends the
/// checkpoints that it does not have; call it whenever one was [saved](superstep_core::run::EventKind::CheckpointSaved),
/// or after a run. A transcript that missed some catches up. After a rewind it has both branches; what was snipped from
/// the conversation stays in earlier lines.
///
/// ```text
/// {"digest":"6b…","checkpoint":"0199…","parent":"0199…","thread":"fix","step":4,"source":"loop","at_ms":1795442400000,
///  "nodes":["tools"],"changes":[{"field":"messages","ops":[{"keyed":[{"id":"tools.4.0","item":{…}}]}]}]}
/// ```
///
/// A line without a `parent` holds the whole state. The digest is over the rest of the line: a change by hand is an
/// error of [`restore`](Self::restore).
#[derive(Debug)]
pub struct Transcript {
    path: PathBuf,
    file: File,
    known: HashSet<CheckpointId>,
    /// The length of the file, in bytes.
    length: u64,
}

/// A line of a transcript, without its digest.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    checkpoint: CheckpointId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<CheckpointId>,
    thread: ThreadId,
    step: i64,
    source: Source,
    at_ms: u64,
    nodes: Vec<NodeName>,
    changes: Vec<FieldChange>,
}

/// The change of a field.
#[derive(Debug, Serialize, Deserialize)]
struct FieldChange {
    field: String,
    ops: Vec<Op>,
}

/// The error of a transcript.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// The file cannot be read or written. Check its folder and its permissions.
    #[error("the transcript {path} cannot be read or written: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// A line is damaged. Delete the file and record it again.
    #[error("line {line} of the transcript {path} is damaged: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        /// The problem.
        reason: String,
    },
    /// The file has no whole line, so there is nothing to restore.
    #[error("the transcript {path} has no checkpoint")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The checkpoints of the session cannot be read.
    #[error("the session cannot be read for its transcript: {0}")]
    Store(#[from] StoreError),
}

/// The number of characters of a digest.
const DIGEST: usize = 16;

/// The number of checkpoints on the first page that is read. Each further page has twice as many, up to
/// [`LARGEST_PAGE`].
const PAGE: usize = 2;
const LARGEST_PAGE: usize = 1_024;

impl Transcript {
    /// Opens a file to append to it, and makes it if it does not exist. A last line that was cut off is removed.
    ///
    /// # Errors
    /// Fails if the file cannot be opened, or if a line is not one of a transcript.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, TranscriptError> {
        let path = path.into();
        let failed = |source| TranscriptError::File { path: path.clone(), source };
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        // It has contents of files that other users may not read.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(failed)?;
        let (mut reader, mut text) = (BufReader::new(&file), Vec::new());
        let (mut known, mut whole) = (HashSet::new(), 0_u64);
        loop {
            text.clear();
            let length = reader.read_until(b'\n', &mut text).map_err(failed)?;
            if text.last() != Some(&b'\n') {
                break;
            }
            let line = known.len() + 1;
            let id = id_of(&text).ok_or_else(|| damaged(&path, line, "it is no line of a transcript"))?;
            if !known.insert(id) {
                return Err(damaged(&path, line, "its checkpoint is in an earlier line"));
            }
            whole += length as u64;
        }
        file.set_len(whole).map_err(failed)?;
        Ok(Self { path, file, known, length: whole })
    }

    /// Appends the checkpoints of a session that the transcript does not have, the oldest first. Returns their number.
    ///
    /// # Errors
    /// Fails if the checkpoints cannot be read, or if the file cannot be written.
    pub async fn record(
        &mut self,
        saver: &dyn Checkpointer,
        session: &ThreadId,
    ) -> Result<usize, TranscriptError> {
        let mut lines = Vec::new();
        let (mut at, mut page) = (Some(At::Head), PAGE);
        while let Some(from) = at.take() {
            for step in saver.steps(session, from, page).await? {
                if self.known.contains(&step.checkpoint.id) {
                    at = None;
                    break;
                }
                let line = line_of(saver, session, step).await?;
                at = line.parent.map(At::Id);
                lines.push(line);
            }
            page = (2 * page).min(LARGEST_PAGE);
        }
        self.append(lines.into_iter().rev().collect())
    }

    fn append(&mut self, lines: Vec<Line>) -> Result<usize, TranscriptError> {
        let failed = |source| TranscriptError::File { path: self.path.clone(), source };
        let mut text = Vec::new();
        for line in &lines {
            let body = serde_json::to_string(line).map_err(|error| failed(error.into()))?;
            // The digest is a member of the object, before the others.
            writeln!(text, r#"{{"digest":"{}",{}"#, digest(&body), &body[1..]).map_err(failed)?;
        }
        // A line that was cut off may not stay, as the next one would continue it.
        let written =
            self.file.write_all(&text).or_else(|error| self.file.set_len(self.length).and(Err(error)));
        written.map_err(failed)?;
        self.length += text.len() as u64;
        self.known.extend(lines.iter().map(|line| line.checkpoint));
        Ok(lines.len())
    }

    /// Makes the state of the last checkpoint in the file: it equals that of the checkpoint. A last line that was cut
    /// off is left out.
    ///
    /// # Errors
    /// Fails with the number of the line if a line is damaged, or if the state cannot be made of it.
    pub fn restore(path: impl AsRef<Path>) -> Result<AssistantState, TranscriptError> {
        let path = path.as_ref();
        let text =
            std::fs::read(path).map_err(|source| TranscriptError::File { path: path.to_owned(), source })?;
        let mut lines = Vec::new();
        for text in text.split_inclusive(|byte| *byte == b'\n').filter(|text| text.ends_with(b"\n")) {
            let line = parse(text).map_err(|reason| damaged(path, lines.len() + 1, reason))?;
            lines.push(line);
        }
        let place: HashMap<_, _> = lines.iter().enumerate().map(|(at, line)| (line.checkpoint, at)).collect();
        let mut at =
            lines.len().checked_sub(1).ok_or_else(|| TranscriptError::Empty { path: path.to_owned() })?;
        let mut chain = vec![at];
        while let Some(parent) = lines[at].parent {
            // A checkpoint comes after the one that it continues, so this ends.
            let before = place.get(&parent).filter(|before| **before < at);
            at = *before.ok_or_else(|| damaged(path, at + 1, "the line before it is missing"))?;
            chain.push(at);
        }
        let (mut folds, schema) = (HashMap::new(), AssistantState::schema());
        for at in chain.into_iter().rev() {
            for change in &lines[at].changes {
                let field = schema.find(&change.field).ok_or_else(|| {
                    damaged(path, at + 1, format!("this version has no field `{}`", change.field))
                })?;
                let (fold, last) = folds.entry(field).or_insert_with(|| (Fold::new(), at));
                *last = at;
                let applied = change.ops.iter().try_for_each(|op| fold.apply(op));
                applied.map_err(|error: CodecError| damaged(path, at + 1, error.to_string()))?;
            }
        }
        let mut state = AssistantState::initial();
        for (field, (fold, at)) in folds {
            let value = fold.finish().and_then(|value| match value {
                Some(value) => state.decode_field(field, &value),
                None => Ok(()),
            });
            value.map_err(|error| damaged(path, at + 1, error.to_string()))?;
        }
        Ok(state)
    }
}

/// Makes the line of a checkpoint. One whose past was pruned gets the whole state.
async fn line_of(
    saver: &dyn Checkpointer,
    session: &ThreadId,
    step: StepRecord,
) -> Result<Line, TranscriptError> {
    let StepRecord { checkpoint, schema, thread, .. } = step;
    let Checkpoint { id, parent, step, source, changes, tasks, .. } = checkpoint;
    let of_field = |field, ops| FieldChange { field: schema.field(field).name.clone(), ops };
    let changes = match source {
        Source::Pruned => {
            let read = saver.read(session, At::Id(id)).await?;
            let values = read.map(|loaded| loaded.values).unwrap_or_default();
            values.into_iter().map(|held| of_field(held.field, vec![Op::Set(held.value)])).collect()
        }
        _ => changes.into_iter().map(|change| of_field(change.field, change.ops)).collect(),
    };
    Ok(Line {
        checkpoint: id,
        parent: parent.filter(|_| source != Source::Pruned),
        thread,
        step,
        source,
        at_ms: id.unix_ms(),
        nodes: tasks.into_iter().map(|task| task.node).collect(),
        changes,
    })
}

fn digest(body: &str) -> String {
    blake3::hash(body.as_bytes()).to_hex()[..DIGEST].to_owned()
}

/// Splits a line into its digest and its body.
fn split(text: &[u8]) -> Option<(&str, String)> {
    let text = str::from_utf8(text).ok()?.strip_prefix(r#"{"digest":""#)?.strip_suffix('\n')?;
    let (digest, rest) = text.split_at_checked(DIGEST)?;
    Some((digest, format!("{{{}", rest.strip_prefix("\",")?)))
}

/// Reads the checkpoint of a line without checking the rest.
fn id_of(text: &[u8]) -> Option<CheckpointId> {
    let (_, body) = split(text)?;
    let id = body.strip_prefix(r#"{"checkpoint":""#)?;
    id.split_once('"')?.0.parse().ok()
}

fn parse(text: &[u8]) -> Result<Line, String> {
    let (written, body) = split(text).ok_or("it is no line of a transcript")?;
    if written != digest(&body) {
        return Err("its digest does not match: it was changed after it was written".to_owned());
    }
    serde_json::from_str(&body).map_err(|error| error.to_string())
}

fn damaged(path: &Path, line: usize, reason: impl Into<String>) -> TranscriptError {
    TranscriptError::Damaged { path: path.to_owned(), line, reason: reason.into() }
}

#[cfg(test)]
mod tests;
