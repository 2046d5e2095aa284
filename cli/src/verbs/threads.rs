//! `threads`: lists the threads of a file.

use std::collections::BTreeMap;

use serde::Serialize;

use superstep_checkpoint::{Subgraph, ThreadSize};
use superstep_core::checkpoint::{AskRecord, At, StoreError, Summary, ThreadSummary, rfc3339};
use superstep_core::id::{CheckpointId, NodeName, ThreadId};
use superstep_core::state::SecretFields;

use crate::arguments::{Part, count};
use crate::failure::{Failure, Kind};
use crate::file::FileArgument;
use crate::input;
use crate::json_shapes::Lease;
use crate::lines::{Short, nodes};
use crate::page::{BAD, DIM, GOOD, NAME, NOTE, Page, plain, rest, span};
use crate::screen::{Answer, Exit};
use crate::source::Source;
use crate::table::{Cell, Side, Table};
use crate::time::readable;
use crate::token_usage::TokenUsage;

/// List threads and their status
///
/// Bytes are those of a thread's own checkpoints, without long texts: `du` counts them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep threads essays.db --unfinished")]
pub(crate) struct Threads {
    #[command(flatten)]
    file: FileArgument,
    /// List only threads that have not finished
    #[arg(long)]
    unfinished: bool,
    /// Also list the threads of subgraphs, N levels down
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = count::<usize>, allow_hyphen_values = true)]
    depth: usize,
    /// List only threads with this status
    #[arg(long, value_enum, conflicts_with = "unfinished")]
    status: Option<Status>,
    /// List only threads of this graph
    #[arg(long, value_name = "NAME")]
    graph: Option<String>,
    /// List only threads whose name or first input contains this text, in any case of letters
    #[arg(long)]
    text: Option<String>,
    /// Also sum up the tokens of model calls, with those of subgraphs
    #[arg(long)]
    tokens: bool,
    #[command(flatten)]
    part: Part,
}

#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    threads: Vec<Thread>,
    /// The number of threads that fit the options, including those that are not listed.
    total: usize,
    /// The threads that cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    damaged: Vec<Damaged>,
    /// The number of threads of subgraphs that are not listed.
    #[serde(skip)]
    hidden: usize,
}

/// A thread that cannot be read.
#[derive(Debug, Serialize)]
struct Damaged {
    /// Its name, if that can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<ThreadId>,
    problem: String,
}

#[derive(Debug, Serialize)]
struct Thread {
    thread: ThreadId,
    /// Its name, if it is a subgraph's.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    graph: String,
    status: Status,
    step: i64,
    head: CheckpointId,
    next: Vec<NodeName>,
    /// The number of open questions.
    questions: usize,
    /// The number of its own checkpoints.
    checkpoints: u64,
    /// The number of those without a successor.
    branches: u64,
    bytes: u64,
    /// With `--tokens`: the tokens of the model calls on its latest branch and in its subgraphs, read and written.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    /// The lease of the thread, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    lease: Option<Lease>,
    /// The time of its latest checkpoint.
    at: String,
    /// The first input, shortened and without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<String>,
    #[serde(skip)]
    created_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
enum Status {
    /// Nothing is next
    Finished,
    /// A question waits for its answer
    Waiting,
    /// A task that is next has failed
    Failed,
    /// Something is next
    Unfinished,
}

impl Threads {
    pub(crate) fn answer(&self) -> Result<Listed, Failure> {
        let source = Source::open(&self.file)?;
        let list = source.reader.list_threads()?;
        let listing = Listing::of(&source)?;
        let mut all = Vec::new();
        for thread in list.threads {
            let below = thread.thread.clone();
            all.push(thread);
            listing.add_below(&below, self.depth, &mut all)?;
        }
        let hidden = match self.depth {
            0 => source.all_below(None)?.len(),
            _ => 0,
        };
        let damaged = list.damaged.into_iter();
        let damaged = damaged.map(|(thread, why)| Damaged { thread, problem: why.to_string() });
        let mut damaged: Vec<Damaged> = damaged.collect();
        // The work on a thread may be damaged although its latest checkpoint is not.
        let mut readable = |thread: &ThreadId, failure: Failure| match failure.kind() {
            Kind::Nothing => {
                damaged.push(Damaged { thread: Some(thread.clone()), problem: failure.text });
                Ok(())
            }
            _ => Err(failure),
        };
        let mut fitting = Vec::new();
        for thread in all {
            match self.fits(&listing, &thread) {
                Ok(true) => fitting.push(thread),
                Ok(false) => {}
                Err(failure) => readable(&thread.thread, failure)?,
            }
        }
        let total = fitting.len();
        let mut threads = Vec::new();
        for thread in self.part.of(fitting) {
            let id = thread.thread.clone();
            match self.listed(&listing, thread) {
                Ok(thread) => threads.push(thread),
                Err(failure) => readable(&id, failure)?,
            }
        }
        Ok(Listed { threads, total, damaged, hidden })
    }

    fn listed(&self, listing: &Listing<'_>, thread: ThreadSummary) -> Result<Thread, Failure> {
        let tokens = match self.tokens {
            true => listing.source.usage(&thread.thread)?.map(TokenUsage::both),
            false => None,
        };
        Ok(Thread { tokens, ..listing.thread(thread)? })
    }

    /// Returns `true` if a thread has what the options ask for.
    fn fits(&self, listing: &Listing<'_>, thread: &ThreadSummary) -> Result<bool, Failure> {
        if self.graph.as_ref().is_some_and(|graph| *graph != thread.graph) {
            return Ok(false);
        }
        if self.unfinished && thread.head.next.is_empty() {
            return Ok(false);
        }
        if let Some(status) = self.status
            && status != listing.status(thread)?
        {
            return Ok(false);
        }
        let Some(text) = self.text.as_ref().map(|text| text.to_lowercase()) else { return Ok(true) };
        let name = listing.source.name_below(&thread.thread);
        let name = name.unwrap_or_else(|| thread.thread.to_string());
        let has = |other: &str| other.to_lowercase().contains(&text);
        Ok(has(&name) || listing.input(&thread.thread)?.is_some_and(|input| has(&input)))
    }
}

/// Data about all threads, besides their heads.
struct Listing<'s> {
    source: &'s Source,
    sizes: BTreeMap<ThreadId, ThreadSize>,
    leases: BTreeMap<ThreadId, Lease>,
    firsts: BTreeMap<ThreadId, CheckpointId>,
    secret: SecretFields,
}

impl<'s> Listing<'s> {
    fn of(source: &'s Source) -> Result<Self, Failure> {
        let reader = &source.reader;
        let leases = reader.leases()?.iter().map(|lease| (lease.thread.clone(), Lease::of(lease))).collect();
        Ok(Self {
            source,
            sizes: reader.sizes()?,
            leases,
            firsts: reader.first_checkpoints()?,
            secret: SecretFields::of(&reader.schemas()?),
        })
    }

    fn status(
        &self,
        ThreadSummary { thread, head, open_asks, .. }: &ThreadSummary,
    ) -> Result<Status, Failure> {
        Ok(match () {
            () if head.next.is_empty() => Status::Finished,
            () if !open_asks.is_empty() => Status::Waiting,
            () if has_failed(self.source, thread)? => Status::Failed,
            () => Status::Unfinished,
        })
    }

    fn thread(&self, summary: ThreadSummary) -> Result<Thread, Failure> {
        let status = self.status(&summary)?;
        let ThreadSummary { thread, graph, head, open_asks } = summary;
        let size = self.sizes.get(&thread).copied().unwrap_or_default();
        Ok(Thread {
            name: self.source.name_below(&thread),
            lease: self.leases.get(&thread).cloned(),
            input: self.input(&thread)?,
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
            tokens: None,
            at: rfc3339(head.created_ms),
            created_ms: head.created_ms,
        })
    }

    /// Returns the first input of a thread; `None` if the thread is damaged, which `verify` reports.
    fn input(&self, thread: &ThreadId) -> Result<Option<String>, Failure> {
        let Some(first) = self.firsts.get(thread) else { return Ok(None) };
        match self.source.reader.steps(thread, &At::Id(*first), 1) {
            Ok(steps) => steps.first().map_or(Ok(None), |step| input::told(step, &self.secret)),
            Err(StoreError::NoCheckpoint { .. } | StoreError::Corrupt { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Adds the subgraphs below a thread, each before those below it.
    fn add_below(
        &self,
        above: &ThreadId,
        depth: usize,
        threads: &mut Vec<ThreadSummary>,
    ) -> Result<(), Failure> {
        if depth == 0 {
            return Ok(());
        }
        for Subgraph { thread, .. } in self.source.subgraphs(above)?.iter() {
            let head = self.source.reader.steps(thread, &At::Head, 1)?;
            let Some(step) = head.into_iter().next() else { continue };
            let summary = Summary::of(step.seq, &step.thread, &step.checkpoint);
            let open_asks = step.work.asks.into_iter().filter(AskRecord::is_open).collect();
            let (thread, graph) = (thread.clone(), step.graph.to_string());
            threads.push(ThreadSummary { thread: thread.clone(), graph, head: summary, open_asks });
            self.add_below(&thread, depth - 1, threads)?;
        }
        Ok(())
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

    /// Returns [`Exit::No`] if a thread could not be read.
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
            ("first input", Side::Left),
            ("graph", Side::Left),
            ("checkpoints", Side::Right),
            ("branches", Side::Right),
            ("bytes", Side::Right),
            (
                if self.threads.iter().any(|thread| thread.tokens.is_some()) { "tokens" } else { "" },
                Side::Right,
            ),
        ])
        .giving_way(["branches", "bytes", "checkpoints", "graph", "next"]);
        let short = Short::among(self.threads.iter().map(|thread| thread.head));
        for thread in &self.threads {
            let status = match thread.status {
                Status::Finished => span(GOOD, "finished"),
                Status::Waiting => span(NOTE, format!("waiting ({})", thread.questions)),
                Status::Failed => span(BAD, "failed"),
                Status::Unfinished => span(NOTE, "unfinished"),
            };
            let changed = readable(thread.created_ms);
            table.row([
                span(NAME, thread.name.as_deref().unwrap_or(thread.thread.as_str())).into(),
                status.into(),
                plain(thread.step.to_string()).into(),
                short.cell(thread.head),
                plain(nodes(&thread.next)).into(),
                Cell::or(span(DIM, &changed), span(DIM, &changed[..10])),
                plain(thread.input.as_deref().unwrap_or_default()).into(),
                plain(&thread.graph).into(),
                plain(thread.checkpoints.to_string()).into(),
                plain(thread.branches.to_string()).into(),
                plain(thread.bytes.to_string()).into(),
                plain(thread.tokens.map(|tokens| tokens.to_string()).unwrap_or_default()).into(),
            ]);
        }
        table.show(page);
        rest(page, self.threads.len(), self.total);
        match self.hidden {
            0 => {}
            1 => page.line([span(DIM, "a thread of a subgraph is not listed: --depth 1 lists it")]),
            count => page.line([span(
                DIM,
                format!("{count} threads of subgraphs are not listed: --depth 1 lists them"),
            )]),
        }
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
