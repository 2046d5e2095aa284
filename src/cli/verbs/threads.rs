//! `threads`: what is in the file.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::checkpoint::{At, ThreadSummary, rfc3339};
use crate::id::{CheckpointId, NodeName, ThreadId};

use crate::cli::answer::Answer;
use crate::cli::failure::Failure;
use crate::cli::file::FileArgument;
use crate::cli::lines::{Short, nodes};
use crate::cli::page::{BAD, DIM, GOOD, NAME, NOTE, Page, plain, span};
use crate::cli::screen::Exit;
use crate::cli::shapes::Lease;
use crate::cli::source::Source;
use crate::cli::table::{Side, Table};
use crate::cli::time::readable;

/// List the threads with how they stand
///
/// Bytes are those of a thread's own checkpoints, without long texts, which are stored once for all: `du` counts them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep threads essays.db --unfinished")]
pub(crate) struct Threads {
    #[command(flatten)]
    file: FileArgument,
    /// Only those for which something is next
    #[arg(long)]
    unfinished: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    threads: Vec<Thread>,
    /// What cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    damaged: Vec<Damaged>,
}

/// A thread of which nothing else can be told.
#[derive(Debug, Serialize)]
struct Damaged {
    /// What it is called, where that can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<ThreadId>,
    problem: String,
}

#[derive(Debug, Serialize)]
struct Thread {
    thread: ThreadId,
    graph: String,
    status: Status,
    step: i64,
    head: CheckpointId,
    next: Vec<NodeName>,
    /// How many questions are open.
    questions: usize,
    /// How many checkpoints are its own.
    checkpoints: u64,
    /// How many of them nothing continues.
    branches: u64,
    bytes: u64,
    /// Who holds it, if somebody does.
    #[serde(skip_serializing_if = "Option::is_none")]
    lease: Option<Lease>,
    /// When the latest was made.
    at: String,
    #[serde(skip)]
    created_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    /// Nothing is next.
    Finished,
    /// A question waits for its answer.
    Waiting,
    /// A task that is next has failed.
    Failed,
    /// Something is next.
    Unfinished,
}

impl Threads {
    pub(crate) fn answer(&self) -> Result<Listed, Failure> {
        let source = Source::open(&self.file)?;
        let sizes = source.reader.sizes()?;
        let mut leases: BTreeMap<ThreadId, Lease> =
            source.reader.leases()?.iter().map(|lease| (lease.thread.clone(), Lease::of(lease))).collect();
        let mut threads = Vec::new();
        let list = source.reader.list_threads()?;
        for ThreadSummary { thread, graph, head, open_asks } in list.threads {
            let status = match () {
                () if head.next.is_empty() => Status::Finished,
                () if !open_asks.is_empty() => Status::Waiting,
                () if has_failed(&source, &thread)? => Status::Failed,
                () => Status::Unfinished,
            };
            if self.unfinished && status == Status::Finished {
                continue;
            }
            let size = sizes.get(&thread).copied().unwrap_or_default();
            threads.push(Thread {
                lease: leases.remove(&thread),
                thread,
                graph,
                status,
                step: head.step,
                head: head.id,
                next: head.next,
                questions: open_asks.len(),
                checkpoints: size.checkpoints,
                branches: size.branches,
                bytes: size.bytes,
                at: rfc3339(head.created_ms),
                created_ms: head.created_ms,
            });
        }
        let damaged = list.damaged.into_iter();
        let damaged = damaged.map(|(thread, why)| Damaged { thread, problem: why.to_string() }).collect();
        Ok(Listed { threads, damaged })
    }
}

fn has_failed(source: &Source, thread: &ThreadId) -> Result<bool, Failure> {
    let head = source.reader.steps(thread, &At::Head, 1)?;
    Ok(head.iter().any(|step| !step.work.failures.is_empty()))
}

impl Answer for Listed {
    fn show(&self, page: &mut Page) {
        match (self.threads.is_empty(), self.damaged.is_empty()) {
            (true, true) => page.line([span(DIM, "no threads")]),
            (true, false) => {}
            (false, _) => self.show_threads(page),
        }
        for Damaged { thread, problem } in &self.damaged {
            let name = thread.as_ref().map_or("a thread", |thread| thread.as_str());
            page.line([span(NAME, name), span(BAD, format!(" is damaged: {problem}"))]);
        }
    }

    /// Not all could be told of.
    fn exit(&self) -> Exit {
        if self.damaged.is_empty() { Exit::Fine } else { Exit::No }
    }
}

impl Listed {
    fn show_threads(&self, page: &mut Page) {
        let mut table = Table::new([
            ("thread", Side::Left),
            ("status", Side::Left),
            ("step", Side::Right),
            ("head", Side::Left),
            ("next", Side::Left),
            ("last change", Side::Left),
            ("graph", Side::Left),
            ("checkpoints", Side::Right),
            ("branches", Side::Right),
            ("bytes", Side::Right),
        ]);
        let short = Short::among(self.threads.iter().map(|thread| thread.head));
        for thread in &self.threads {
            let status = match thread.status {
                Status::Finished => span(GOOD, "finished"),
                Status::Waiting => span(NOTE, format!("waiting ({})", thread.questions)),
                Status::Failed => span(BAD, "failed"),
                Status::Unfinished => span(NOTE, "unfinished"),
            };
            table.row([
                span(NAME, thread.thread.as_str()),
                status,
                plain(thread.step.to_string()),
                short.span(thread.head),
                plain(nodes(&thread.next)),
                span(DIM, readable(thread.created_ms)),
                plain(&thread.graph),
                plain(thread.checkpoints.to_string()),
                plain(thread.branches.to_string()),
                plain(thread.bytes.to_string()),
            ]);
        }
        table.show(page);
        for thread in &self.threads {
            if let Some(lease) = &thread.lease {
                page.line([
                    span(NAME, thread.thread.as_str()),
                    plain(format!(" is held by {}", lease.told())),
                ]);
            }
        }
    }
}
