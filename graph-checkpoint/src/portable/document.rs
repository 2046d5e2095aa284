//! The format of an exported document.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use superstep_core::checkpoint::{
    AskRecord, Carried, Checkpoint, CheckpointName, EffectRecord, Emitted, FailureRecord, TaskResult,
};
use superstep_core::id::{CheckpointId, Fingerprint, NodeName, ThreadId};
use superstep_core::state::{Excess, Json, SizeLimits};

use super::NoExport;

/// The mark of a document that is an export.
const KIND: &str = "superstep thread";

pub(super) const FORMAT: u32 = 2;

/// The format of a document without names of checkpoints, which was the first one.
const NAMELESS: u32 = 1;

/// A thread with all data that belongs to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    kind: String,
    format: u32,
    /// The BLAKE3 hash of the document without this member, written without white space.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    digest: String,
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub(super) redacted: bool,
    /// The threads; the exported thread comes first.
    pub(crate) threads: Vec<ThreadPart>,
    pub(crate) schemas: BTreeMap<Fingerprint, Json>,
    pub(crate) topologies: BTreeMap<Fingerprint, TopologyPart>,
    /// The checkpoints, from older to newer.
    pub(crate) checkpoints: Vec<CheckpointPart>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ThreadPart {
    pub(crate) name: ThreadId,
    pub(crate) graph: NodeName,
    /// The head; `None` for a thread of which the document only contains a shared past.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) head: Option<CheckpointId>,
    /// Its names for checkpoints.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) names: BTreeMap<CheckpointName, CheckpointId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TopologyPart {
    pub(crate) graph: String,
    pub(crate) topology: Json,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckpointPart {
    /// The index of the thread on which the checkpoint was written.
    pub(crate) thread: usize,
    pub(crate) checkpoint: Checkpoint,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) emitted: Vec<(u32, Emitted)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) work: Vec<WorkPart>,
}

/// The work of a thread on top of a checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkPart {
    pub(crate) thread: usize,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) results: Vec<TaskResult>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) failures: Vec<FailureRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) asks: Vec<AskRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) effects: Vec<EffectRecord>,
}

impl WorkPart {
    pub(super) fn of(thread: usize, work: Carried) -> Self {
        let Carried { results, failures, asks, effects } = work;
        Self { thread, results, failures, asks, effects }
    }

    pub(super) fn carried(&self) -> Carried {
        let Self { results, failures, asks, effects, .. } = self.clone();
        Carried { results, failures, asks, effects }
    }
}

impl Document {
    pub(super) fn new(threads: Vec<ThreadPart>) -> Self {
        Self {
            kind: KIND.into(),
            format: if threads.iter().all(|thread| thread.names.is_empty()) { NAMELESS } else { FORMAT },
            digest: String::new(),
            redacted: false,
            threads,
            schemas: BTreeMap::new(),
            topologies: BTreeMap::new(),
            checkpoints: Vec::new(),
        }
    }

    /// Returns the exported thread.
    pub(super) fn root(&self) -> &ThreadPart {
        &self.threads[0]
    }

    /// Returns `true` if a thread is the exported thread, or one of its subgraphs'.
    pub(super) fn is_own(&self, thread: &ThreadPart) -> bool {
        thread.head.is_some() && thread.name.is_on_or_below(&self.root().name)
    }

    /// Returns the content in an order that depends only on names and ids.
    pub(super) fn in_order(&self) -> impl PartialEq {
        let name = |thread: usize| &self.threads[thread].name;
        let mut threads: Vec<&ThreadPart> = self.threads.iter().collect();
        threads.sort_by_key(|thread| (&thread.name, thread.head));
        let checkpoints = self.checkpoints.iter().map(|part| {
            let mut work: Vec<_> = part.work.iter().map(|work| (name(work.thread), work.carried())).collect();
            work.sort_by_key(|(name, _)| *name);
            (part.checkpoint.id, (name(part.thread), &part.checkpoint, &part.emitted, work))
        });
        let checkpoints: BTreeMap<CheckpointId, _> = checkpoints.collect();
        (self.redacted, threads, &self.schemas, &self.topologies, checkpoints)
    }

    pub(super) fn to_text(&self) -> String {
        let mut signed = self.clone();
        signed.digest = signed.digest();
        let mut text = serde_json::to_string_pretty(&signed).expect(PLAIN);
        text.push('\n');
        text
    }

    /// Checks that the text of the document does not exceed the size limits.
    pub(super) fn check(&self, limits: SizeLimits) -> Result<(), Excess> {
        let limits = limits.of_document();
        let mut length = Length { bytes: 0, most: limits.most_bytes(), values: 1 };
        if serde_json::to_writer_pretty(&mut length, self).is_err() {
            return Err(Excess::Bytes(limits.most_bytes()));
        }
        if length.values <= limits.most_values() { Ok(()) } else { limits.check(&self.to_text()) }
    }

    fn digest(&mut self) -> String {
        let held = std::mem::take(&mut self.digest);
        let mut digest = Digest(blake3::Hasher::new());
        serde_json::to_writer(&mut digest, self).expect(PLAIN);
        self.digest = held;
        digest.0.finalize().to_hex().to_string()
    }

    pub(super) fn parse(text: &str, limits: SizeLimits) -> Result<Self, NoExport> {
        limits.of_document().check(text).map_err(NoExport::TooLarge)?;
        #[derive(Deserialize)]
        struct Header {
            #[serde(default)]
            kind: String,
            #[serde(default)]
            format: u32,
        }
        let unreadable = |error: serde_json::Error| NoExport::Unreadable(error.to_string());
        let header: Header = serde_json::from_str(text).map_err(unreadable)?;
        if header.kind != KIND || header.format == 0 {
            return Err(NoExport::Unreadable(format!("its member `kind` is not {KIND:?}")));
        }
        if header.format > FORMAT {
            return Err(NoExport::Newer { found: header.format, supported: FORMAT });
        }
        let mut document: Self = serde_json::from_str(text).map_err(unreadable)?;
        let digest = document.digest();
        match document.digest == digest {
            true => Ok(document),
            false => Err(NoExport::Changed),
        }
    }
}

/// A writer that computes the digest of a text.
struct Digest(blake3::Hasher);

impl Write for Digest {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.update(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer that measures the length of a text, up to a limit.
struct Length {
    bytes: usize,
    most: usize,
    /// The number of characters that may begin a value, including those inside texts.
    values: usize,
}

impl Write for Length {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.bytes += text.len();
        self.values += text.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
        if self.bytes > self.most { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(text.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const PLAIN: &str = "records of plain data have a JSON form";
