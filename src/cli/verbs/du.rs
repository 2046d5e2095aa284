//! `du`: what fills a file.

use serde::Serialize;

use crate::checkpoint::care::{self, ThreadUsage, Usage};

use crate::cli::answer::Answer;
use crate::cli::failure::Failure;
use crate::cli::file::FileArgument;
use crate::cli::page::{DIM, NAME, Page, plain, span};
use crate::cli::source::Source;
use crate::cli::table::{Side, Table};

/// Tell what fills a file: its threads, or the fields of one
///
/// Bytes are those of the texts that are stored. A long text, which is stored once for all, counts for the field or the
/// thread that alone refers to it, and otherwise as shared.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep du essays.db rust")]
pub(crate) struct Du {
    #[command(flatten)]
    file: FileArgument,
    /// Only this thread, by field
    thread: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Filled {
    File(Usage),
    Thread(ThreadUsage),
}

impl Du {
    pub(crate) fn answer(&self) -> Result<Filled, Failure> {
        let usage = care::usage(self.file.keyed()?)?;
        let Some(name) = &self.thread else { return Ok(Filled::File(usage)) };
        let thread = Source::open(&self.file)?.thread(name)?.thread;
        let found = usage.threads.into_iter().find(|usage| usage.thread == thread);
        // A thread that was made since.
        found.map(Filled::Thread).ok_or_else(|| Failure::nothing(format!("there is no thread {name}")))
    }
}

impl Answer for Filled {
    fn show(&self, page: &mut Page) {
        match self {
            Self::File(usage) => show_file(usage, page),
            Self::Thread(usage) => show_thread(usage, page),
        }
    }
}

fn show_file(usage: &Usage, page: &mut Page) {
    let mut table = Table::new([
        ("thread", Side::Left),
        ("checkpoints", Side::Right),
        ("bytes", Side::Right),
        ("fields", Side::Right),
        ("manifests", Side::Right),
        ("journal", Side::Right),
        ("pending", Side::Right),
        ("emitted", Side::Right),
        ("bodies", Side::Right),
    ]);
    for thread in &usage.threads {
        let fields: u64 = thread.fields.iter().map(|field| field.changes).sum();
        let bodies: u64 = thread.fields.iter().map(|field| field.bodies).sum();
        table.row([
            span(NAME, thread.thread.as_str()),
            plain(thread.checkpoints.to_string()),
            plain(thread.bytes.to_string()),
            plain(fields.to_string()),
            plain(thread.manifests.to_string()),
            plain(thread.journal.to_string()),
            plain(thread.pending.to_string()),
            plain(thread.emitted.to_string()),
            plain((bodies + thread.bodies).to_string()),
        ]);
    }
    table.show(page);
    page.gap();
    let threads: u64 = usage.threads.iter().map(|thread| thread.bytes).sum();
    let mut table = Table::new([("", Side::Left), ("", Side::Right), ("", Side::Left)]);
    for (what, bytes, means) in [
        ("threads", threads, ""),
        ("shared", usage.shared, "long texts of several threads"),
        ("unused", usage.unused, "long texts that nothing refers to: `gc` takes them out"),
        ("described", usage.described, "schemas and graphs"),
        ("items", usage.items, "the store's entries"),
        ("free", usage.free, "empty pages: `vacuum` gives them back"),
        ("overhead", usage.overhead, "identities, indexes, what is left of pages"),
        ("size", usage.size, "all of these"),
        ("log", usage.log, "beside the file while it is open"),
    ] {
        if bytes > 0 || what == "size" {
            table.row([span(NAME, what), plain(bytes.to_string()), span(DIM, means)]);
        }
    }
    table.show(page);
}

fn show_thread(usage: &ThreadUsage, page: &mut Page) {
    let mut table = Table::new([("", Side::Left), ("changes", Side::Right), ("bodies", Side::Right)]);
    for field in &usage.fields {
        table.row([
            span(NAME, &field.field),
            plain(field.changes.to_string()),
            plain(field.bodies.to_string()),
        ]);
    }
    table.show(page);
    page.gap();
    let mut table = Table::new([("", Side::Left), ("", Side::Right), ("", Side::Left)]);
    for (what, bytes, means) in [
        ("manifests", usage.manifests, "tasks, what is next, where versions are"),
        ("journal", usage.journal, "questions and effects"),
        ("pending", usage.pending, "results of an unfinished superstep"),
        ("emitted", usage.emitted, "events that were kept"),
        ("bodies", usage.bodies, "long texts that no field has for itself"),
        ("bytes", usage.bytes, "all of these, with the fields"),
    ] {
        if bytes > 0 {
            table.row([span(NAME, what), plain(bytes.to_string()), span(DIM, means)]);
        }
    }
    table.show(page);
}
