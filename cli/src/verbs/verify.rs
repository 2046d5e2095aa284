//! `verify`: checks a file for damage.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use superstep_checkpoint::maintenance::{self, Finding, Verified};
use superstep_core::id::ThreadId;

use crate::failure::Failure;
use crate::file::FileArgument;
use crate::page::{BAD, DIM, GOOD, ID, NAME, NOTE, Page, plain, span};
use crate::screen::{Answer, Exit};
use crate::source::Source;

/// Check everything in a file and list the problems
///
/// Exits with 1 if there are any. Nothing is written, and no writer has to wait. Damage to the log beside the file
/// (-wal) cannot be detected: SQLite takes it for the end of the log, and the latest steps are lost.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep verify essays.db")]
pub(crate) struct Verify {
    #[command(flatten)]
    file: FileArgument,
}

#[derive(Debug, Serialize)]
pub(crate) struct Verdict {
    sound: bool,
    #[serde(skip)]
    place: &'static str,
    #[serde(flatten)]
    verified: Verified,
    /// The names of the subgraphs' threads in the findings, by their ids.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    names: BTreeMap<ThreadId, String>,
}

impl Verify {
    pub(crate) fn answer(&self) -> Result<Verdict, Failure> {
        let verified = match self.file.keyed_database()? {
            Some(database) => database.verify()?,
            None => maintenance::verify(self.file.keyed()?)?,
        };
        let names = names(&self.file, &verified);
        let place = if self.file.database().is_some() { "database" } else { "file" };
        Ok(Verdict { sound: verified.is_sound(), place, verified, names })
    }
}

/// Names the subgraphs' threads in the findings, as far as a damaged file has their names.
fn names(file: &FileArgument, verified: &Verified) -> BTreeMap<ThreadId, String> {
    let threads: BTreeSet<&ThreadId> =
        verified.findings.iter().filter_map(|found| found.thread.as_ref()).collect();
    if !threads.iter().any(|thread| thread.is_below()) {
        return BTreeMap::new();
    }
    // Findings are shown with or without names.
    let Ok(source) = Source::open(file) else { return BTreeMap::new() };
    threads.into_iter().filter_map(|thread| Some((thread.clone(), source.name_below(thread)?))).collect()
}

impl Answer for Verdict {
    fn show(&self, page: &mut Page) {
        let Verified { format, unopened, counts, unused, findings } = &self.verified;
        for Finding { table, row, thread, checkpoint, problem } in findings {
            let mut spans = vec![span(NAME, table)];
            spans.extend(row.map(|row| plain(format!(" row {row}"))));
            let called = |thread: &ThreadId| self.names.get(thread).cloned().unwrap_or(thread.to_string());
            spans.extend(thread.as_ref().map(|thread| plain(format!(", thread {}", called(thread)))));
            if let Some(checkpoint) = checkpoint {
                spans.extend([plain(", checkpoint "), span(ID, checkpoint.to_string())]);
            }
            spans.extend([plain(": "), span(BAD, problem)]);
            page.line(spans);
        }
        match findings.len() {
            0 => page.line([span(GOOD, format!("the {} is sound", self.place))]),
            1 => page.line([span(BAD, "1 problem found")]),
            many => page.line([span(BAD, format!("{many} problems found"))]),
        }
        let read = [
            (counts.threads, "threads"),
            (counts.checkpoints, "checkpoints"),
            (counts.versions, "versions of fields"),
            (counts.schemas, "schemas"),
            (counts.topologies, "topologies"),
            (counts.bodies, "long texts"),
            (counts.segments, "segments"),
            (counts.pending, "results of unfinished supersteps"),
            (counts.asks, "questions"),
            (counts.effects, "effects"),
            (counts.emitted, "tasks with events"),
            (counts.leases, "leases"),
            (counts.items, "entries of the store"),
            (counts.server, "rows of a server"),
        ];
        let read = read.into_iter().filter(|(count, _)| *count > 0);
        let read: Vec<String> = read.map(|(count, what)| format!("{count} {what}")).collect();
        page.line([span(DIM, format!("format {format}; read: {}", read.join(", ")))]);
        if *unopened {
            page.line([span(
                NOTE,
                "it is encrypted: without its keys, texts were checked by their checksums only",
            )]);
        }
        let what = match (unused.bodies, unused.segments) {
            (0, 0) => return,
            (bodies, 0) => format!("{bodies} long texts"),
            (0, segments) => format!("{segments} segments"),
            (bodies, segments) => format!("{bodies} long texts and {segments} segments"),
        };
        page.line([span(DIM, format!("{what} of {} bytes that nothing refers to", unused.bytes))]);
    }

    fn exit(&self) -> Exit {
        if self.sound { Exit::Fine } else { Exit::No }
    }
}
