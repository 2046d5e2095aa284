//! `log`: what happened, newest first.

use serde::Serialize;

use crate::checkpoint::{At, CheckpointName, Source as Origin, Summary};
use crate::id::ThreadId;
use crate::inspect::lanes;

use crate::cli::answer::Answer;
use crate::cli::failure::Failure;
use crate::cli::file::FileArgument;
use crate::cli::lines::{Known, Short, nodes};
use crate::cli::number::count;
use crate::cli::page::{DIM, GOOD, NAME, NOTE, Page, plain, span};
use crate::cli::shapes::Line;
use crate::cli::source::Source;
use crate::cli::table::{Side, Table};
use crate::cli::used::Used;

/// List a thread's checkpoints, newest first: what ran, what changed, what is next
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep log essays.db rust --graph -n 100")]
pub(crate) struct Log {
    #[command(flatten)]
    file: FileArgument,
    /// The thread, or the checkpoint to begin at
    thread: String,
    /// All branches beside each other, also those of threads that share the history
    #[arg(long)]
    graph: bool,
    /// At most so many; 0 for all
    #[arg(short, value_name = "N", default_value_t = 50, value_parser = count::<usize>, allow_hyphen_values = true)]
    n: usize,
}

#[derive(Debug, Serialize)]
pub(crate) struct History {
    thread: ThreadId,
    checkpoints: Vec<Drawn>,
    /// Whether there are older ones.
    more: bool,
    #[serde(skip)]
    graph: bool,
}

#[derive(Debug, Serialize)]
struct Drawn {
    #[serde(flatten)]
    line: Line,
    /// With `--graph`: the lane that it stands in, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<usize>,
    #[serde(skip)]
    drawing: String,
}

impl Log {
    pub(crate) fn answer(&self) -> Result<History, Failure> {
        let source = Source::open(&self.file)?;
        let place = source.place(&self.thread)?;
        let limit = if self.n == 0 { usize::MAX } else { self.n };
        let known = Known::of(&source, &place.thread)?;
        let mut checkpoints = Vec::new();
        let more;
        if self.graph {
            let tree = source.reader.lineage(&place.thread)?;
            more = tree.len() > limit;
            for row in lanes(&tree).into_iter().take(limit) {
                let summary = tree[row.checkpoint].clone();
                let (lane, drawing) = (Some(row.lane), row.draw());
                let line = line_of(&source, summary, &place.thread, &known)?;
                checkpoints.push(Drawn { line, lane, drawing });
            }
        } else {
            let steps = source.reader.steps(&place.thread, &place.at(), limit.saturating_add(1))?;
            more = steps.len() > limit;
            let lines = Line::of_steps(&steps, limit, &known);
            checkpoints.extend(lines.map(|line| Drawn { line, lane: None, drawing: String::new() }));
        }
        Ok(History { thread: place.thread, checkpoints, more, graph: self.graph })
    }
}

/// The line of a checkpoint of the tree, read from its own thread, or, if that was deleted, from the one asked for.
fn line_of(source: &Source, summary: Summary, asked: &ThreadId, known: &Known) -> Result<Line, Failure> {
    let at = At::Id(summary.id);
    for thread in [&summary.thread, asked] {
        match source.reader.steps(thread, &at, 2) {
            Ok(steps) => {
                if let Some(line) = Line::of_steps(&steps, 1, known).next() {
                    return Ok(line);
                }
            }
            Err(crate::checkpoint::StoreError::NoCheckpoint { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Line::of(summary, Vec::new(), known))
}

impl Answer for History {
    fn show(&self, page: &mut Page) {
        let short = Short::among(self.checkpoints.iter().map(|drawn| drawn.line.id));
        let calls_models = self.checkpoints.iter().any(|drawn| drawn.line.used.is_some());
        let mut table = Table::new([
            ("", Side::Left),
            ("step", Side::Right),
            ("checkpoint", Side::Left),
            ("", Side::Left),
            ("source", Side::Left),
            ("ran", Side::Left),
            ("changed", Side::Left),
            (if calls_models { "tokens" } else { "" }, Side::Right),
            ("next", Side::Left),
        ]);
        for Drawn { line, drawing, .. } in &self.checkpoints {
            let heads: Vec<&str> = line.head_of.iter().map(ThreadId::as_str).collect();
            let foreign = !self.graph && line.thread != self.thread;
            let remark = match (heads.is_empty(), foreign) {
                (false, _) => format!("({})", heads.join(", ")),
                (true, true) => format!("of {}", line.thread),
                (true, false) => String::new(),
            };
            let names: Vec<&str> = line.names.iter().map(CheckpointName::as_str).collect();
            let remark = [names.join(", "), remark].into_iter().filter(|part| !part.is_empty());
            let remark = remark.collect::<Vec<_>>().join(" ");
            table.row([
                span(NOTE, drawing),
                plain(line.step.to_string()),
                short.span(line.id),
                span(GOOD, remark),
                span(DIM, source_name(line.source)),
                span(NAME, nodes(&line.ran)),
                plain(line.changed.join(", ")),
                plain(line.used.map(Used::tokens).unwrap_or_default()),
                plain(nodes(&line.next)),
            ]);
        }
        table.show(page);
        if self.more {
            let count = self.checkpoints.len();
            page.line([span(
                DIM,
                format!("older ones are not shown: -n {} shows more, -n 0 all", count * 10),
            )]);
        }
    }
}

/// How a checkpoint came about, in a word.
pub(super) fn source_name(source: Origin) -> &'static str {
    match source {
        Origin::Input => "input",
        Origin::Loop => "loop",
        Origin::Update => "update",
        Origin::Fork => "fork",
        Origin::Pruned => "pruned",
    }
}
