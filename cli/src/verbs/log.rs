//! `log`: lists the checkpoints of a thread, newest first.

mod nested;
mod rows;

use serde::Serialize;

use superstep_core::checkpoint::{At, Source as Origin, Summary};
use superstep_core::id::ThreadId;
use superstep_inspect::lanes;

use crate::arguments::count;
use crate::failure::Failure;
use crate::file::FileArgument;
use crate::json_shapes::Line;
use crate::lines::Known;
use crate::page::Page;
use crate::screen::Answer;
use crate::source::Source;

use self::nested::{Nested, Nesting};

/// List a thread's checkpoints, newest first
///
/// With the nodes that ran, the changed fields and the next nodes. `began` is the time of the previous checkpoint, or
/// the start of the run if that is later; `took` is the time from then to this checkpoint.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: superstep log essays.db rust --graph -n 100
          superstep log essays.db rust --depth 1
          superstep log essays.db rust/research#1")]
pub(crate) struct Log {
    #[command(flatten)]
    file: FileArgument,
    /// The thread, or the checkpoint to begin with
    thread: String,
    /// Draw all branches side by side, including those of threads that share the history
    #[arg(long, conflicts_with = "depth")]
    graph: bool,
    /// Also list the steps of subgraphs, N levels down, each below the superstep that ran it
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = count::<usize>, allow_hyphen_values = true)]
    depth: usize,
    /// List at most N checkpoints of each thread; 0 for all
    #[arg(short, value_name = "N", default_value_t = 50, value_parser = count::<usize>, allow_hyphen_values = true)]
    n: usize,
}

#[derive(Debug, Serialize)]
pub(crate) struct History {
    thread: ThreadId,
    /// The name of the thread, if it is a subgraph's.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    checkpoints: Vec<Drawn>,
    /// With `--depth`: the subgraphs of the tasks that are next.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    next_subgraphs: Vec<Nested>,
    /// `true` if there are older ones.
    more: bool,
    #[serde(skip)]
    graph: bool,
    /// The number of subgraphs that ran and are not shown.
    #[serde(skip)]
    hidden: usize,
}

#[derive(Debug, Serialize)]
struct Drawn {
    #[serde(flatten)]
    line: Line,
    /// With `--graph`: the lane of the checkpoint, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<usize>,
    #[serde(skip)]
    drawing: String,
    /// With `--depth`: the subgraphs that tasks of its superstep ran, in the order of the tasks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subgraphs: Vec<Nested>,
}

impl Log {
    pub(crate) fn answer(&self) -> Result<History, Failure> {
        let source = Source::open(&self.file)?;
        let place = source.place(&self.thread)?;
        let limit = if self.n == 0 { usize::MAX } else { self.n };
        let known = Known::of(&source, &place.thread)?;
        let name = source.name_below(&place.thread);
        if self.graph {
            let (checkpoints, more) = drawn(&source, &place.thread, limit, &known)?;
            let (next_subgraphs, hidden) = (Vec::new(), 0);
            return Ok(History {
                thread: place.thread,
                name,
                checkpoints,
                next_subgraphs,
                more,
                graph: true,
                hidden,
            });
        }
        let steps = source.reader.steps(&place.thread, &place.at(), limit.saturating_add(1))?;
        let more = steps.len() > limit;
        let nesting = Nesting { source: &source, known: &known, depth: self.depth, limit };
        let checkpoints = nesting.lines(&steps, limit)?;
        let is_head = source.head(place.thread.clone())?.is_some_and(|head| head.id == place.id);
        let next_subgraphs = match is_head {
            true => nesting.below(&place.thread, place.id)?,
            false => Vec::new(),
        };
        let hidden = if self.depth == 0 { nesting.count(&place, &steps, limit)? } else { 0 };
        Ok(History { thread: place.thread, name, checkpoints, next_subgraphs, more, graph: false, hidden })
    }
}

/// Returns all branches of the tree that a thread belongs to. For a subgraph's thread, only its own past is known.
fn drawn(
    source: &Source,
    thread: &ThreadId,
    limit: usize,
    known: &Known,
) -> Result<(Vec<Drawn>, bool), Failure> {
    let tree = match thread.is_below() {
        true => source.reader.history(thread, &At::Head, usize::MAX)?,
        false => source.reader.lineage(thread)?,
    };
    let mut checkpoints = Vec::new();
    for row in lanes(&tree).into_iter().take(limit) {
        let line = line_of(source, tree[row.checkpoint].clone(), thread, known)?;
        checkpoints.push(Drawn { line, lane: Some(row.lane), drawing: row.draw(), subgraphs: Vec::new() });
    }
    Ok((checkpoints, tree.len() > limit))
}

/// Returns the line of a checkpoint of the tree, read from its own thread; if that was deleted, from the requested
/// thread.
fn line_of(source: &Source, summary: Summary, asked: &ThreadId, known: &Known) -> Result<Line, Failure> {
    let at = At::Id(summary.id);
    for thread in [&summary.thread, asked] {
        match source.reader.steps(thread, &at, 2) {
            Ok(steps) => {
                if let Some(line) = Line::of_steps(&steps, 1, known).next() {
                    return Ok(line.with_name(source));
                }
            }
            Err(superstep_core::checkpoint::StoreError::NoCheckpoint { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Line::of(summary, Vec::new(), known))
}

impl Answer for History {
    fn show(&self, page: &mut Page) {
        rows::show(self, page);
    }
}

/// Returns one word for the origin of a checkpoint.
pub(super) fn source_name(source: Origin) -> &'static str {
    match source {
        Origin::Input => "input",
        Origin::Loop => "loop",
        Origin::Update => "update",
        Origin::Fork => "fork",
        Origin::Pruned => "pruned",
    }
}
