//! `du`: shows the disk usage of a file.

use std::collections::BTreeMap;

use serde::Serialize;

use superstep_checkpoint::maintenance::{self, TableUsage, ThreadUsage, Usage};
use superstep_core::id::ThreadId;

use crate::failure::Failure;
use crate::file::FileArgument;
use crate::page::{DIM, NAME, Page, plain, span};
use crate::screen::Answer;
use crate::source::Source;
use crate::table::{Side, Table};

/// Show what takes up space in a file: its threads, or the fields of one thread
///
/// Bytes are those of stored texts. A long text is stored once: it counts for the only field or thread that refers to
/// it, and otherwise as shared. Of a database, the sizes of tables are those on disk, where texts are compressed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep du essays.db rust")]
pub(crate) struct Du {
    #[command(flatten)]
    file: FileArgument,
    /// Show only this thread, by field
    thread: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Filled {
    File(OfFile),
    Thread(OfThread),
}

/// The usage of a file.
#[derive(Debug, Serialize)]
pub(crate) struct OfFile {
    #[serde(flatten)]
    usage: Usage,
    /// The names of subgraphs' threads, by their ids.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    names: BTreeMap<ThreadId, String>,
}

/// The usage of a thread.
#[derive(Debug, Serialize)]
pub(crate) struct OfThread {
    #[serde(flatten)]
    usage: ThreadUsage,
    /// The name of the thread, if it is a subgraph's.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The threads of its subgraphs, which are not counted in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subgraphs: Vec<Below>,
}

/// The usage of a subgraph's thread.
#[derive(Debug, Serialize)]
struct Below {
    name: String,
    thread: ThreadId,
    checkpoints: u64,
    bytes: u64,
}

impl Du {
    pub(crate) fn answer(&self) -> Result<Filled, Failure> {
        let usage = match self.file.keyed_database()? {
            Some(database) => database.usage()?,
            None => maintenance::usage(self.file.keyed()?)?,
        };
        let source = Source::open(&self.file)?;
        match &self.thread {
            None => Ok(Filled::File(of_file(&source, usage))),
            Some(name) => of_thread(&source, usage, name).map(Filled::Thread),
        }
    }
}

fn of_file(source: &Source, mut usage: Usage) -> OfFile {
    usage.threads.sort_by_cached_key(|usage| source.rank(&usage.thread));
    let names = usage.threads.iter().map(|usage| &usage.thread);
    let names = names.filter_map(|thread| Some((thread.clone(), source.name_below(thread)?))).collect();
    OfFile { usage, names }
}

fn of_thread(source: &Source, usage: Usage, name: &str) -> Result<OfThread, Failure> {
    let thread = source.any_thread(name)?;
    let (own, others): (Vec<_>, Vec<_>) = usage.threads.into_iter().partition(|usage| usage.thread == thread);
    let mut below: Vec<_> = others.into_iter().filter(|usage| usage.thread.is_on_or_below(&thread)).collect();
    below.sort_by_cached_key(|usage| source.rank(&usage.thread));
    let below = below.into_iter().map(|usage| Below {
        name: source.called(&usage.thread),
        thread: usage.thread,
        checkpoints: usage.checkpoints,
        bytes: usage.bytes,
    });
    let subgraphs = below.collect();
    // The thread may have been created since.
    let usage = own.into_iter().next();
    let usage = usage.ok_or_else(|| Failure::nothing(format!("there is no thread {name}")))?;
    Ok(OfThread { usage, name: source.name_below(&thread), subgraphs })
}

impl Answer for Filled {
    fn show(&self, page: &mut Page) {
        match self {
            Self::File(usage) => show_file(usage, page),
            Self::Thread(usage) => show_thread(usage, page),
        }
    }
}

fn show_file(OfFile { usage, names }: &OfFile, page: &mut Page) {
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
    ])
    .giving_way(["emitted", "pending", "journal", "manifests", "bodies", "fields"]);
    for thread in &usage.threads {
        let fields: u64 = thread.fields.iter().map(|field| field.changes).sum();
        let bodies: u64 = thread.fields.iter().map(|field| field.bodies).sum();
        table.row([
            span(NAME, names.get(&thread.thread).map_or(thread.thread.as_str(), String::as_str)),
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
        ("server", usage.server, "the rows of a server"),
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
    if usage.tables.is_empty() {
        return;
    }
    page.gap();
    let mut table = Table::new([("table", Side::Left), ("rows", Side::Right), ("indexes", Side::Right)]);
    for TableUsage { table: name, bytes, indexes } in &usage.tables {
        table.row([span(NAME, name), plain(bytes.to_string()), plain(indexes.to_string())]);
    }
    table.show(page);
}

fn show_thread(OfThread { usage, subgraphs, .. }: &OfThread, page: &mut Page) {
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
    if subgraphs.is_empty() {
        return;
    }
    page.gap();
    let mut table =
        Table::new([("subgraph", Side::Left), ("checkpoints", Side::Right), ("bytes", Side::Right)]);
    for Below { name, checkpoints, bytes, .. } in subgraphs {
        table.row([span(NAME, name), plain(checkpoints.to_string()), plain(bytes.to_string())]);
    }
    table.show(page);
}
