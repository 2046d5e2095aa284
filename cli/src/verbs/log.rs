//! `log`: lists the checkpoints of a thread, newest first.

mod nested;
mod rows;
mod strip;
mod svg;
mod unfinished;

use serde::Serialize;

use superstep_core::checkpoint::{At, Source as Origin, StepRecord, Summary};
use superstep_core::id::ThreadId;
use superstep_inspect::Row;

use crate::arguments::count;
use crate::failure::Failure;
use crate::file::FileArgument;
use crate::json_shapes::{FailedTask, Line, Question};
use crate::kept_file::Tree;
use crate::lines::Known;
use crate::page::Page;
use crate::screen::Answer;
use crate::source::{CheckpointRef, Source};
use crate::token_usage::TokenUsage;

use self::nested::{Nested, Nesting};
use self::strip::Strip;
use self::unfinished::Unfinished;

/// List a thread's checkpoints, newest first
///
/// With the nodes that ran, the changed fields and the next nodes. `began` is the time of the previous checkpoint, or
/// the start of the run if that is later; `took` is the time from then to this checkpoint.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: superstep log essays.db rust --graph -n 100
          superstep log essays.db rust --depth 1
          superstep log essays.db rust/research#1
          superstep log essays.db rust --svg > rust.svg")]
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
    /// Leave out the newest N
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_hyphen_values = true)]
    skip: Option<usize>,
    /// With --graph, list the rows around this checkpoint
    #[arg(long, value_name = "CHECKPOINT", requires = "graph", conflicts_with = "skip")]
    around: Option<String>,
    /// Show how the time was spent, N columns wide: in supersteps, waiting for answers, and waiting for a run
    #[arg(long, value_name = "N", conflicts_with_all = ["graph", "depth", "skip", "svg"], value_parser = count::<u32>)]
    strip: Option<u32>,
    /// Print an SVG picture of all branches, with a strip of the time above them
    #[arg(long, conflicts_with = "depth")]
    svg: bool,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Logged {
    History(Box<History>),
    Strip(Strip),
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
    /// With `--graph`, `--skip` or `--around`: the number of newer ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<usize>,
    /// With `--graph`, `--skip` or `--around`: the number of all checkpoints.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
    #[serde(skip)]
    graph: bool,
    /// The number of subgraphs that ran and are not shown.
    #[serde(skip)]
    hidden: usize,
    /// With `--svg`: the strip above the drawing.
    #[serde(skip)]
    strip: Option<Strip>,
}

#[derive(Debug, Serialize)]
struct Drawn {
    #[serde(flatten)]
    line: Line,
    /// With `--graph`: the lanes of the row.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    lanes: Option<Lanes>,
    /// The questions of the tasks that are next, with their answers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    questions: Vec<Question>,
    /// The tasks that are next and have failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<FailedTask>,
    #[serde(skip)]
    drawing: String,
    /// With `--depth`: the subgraphs that tasks of its superstep ran, in the order of the tasks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subgraphs: Vec<Nested>,
}

/// The lanes of a row, counted from 0.
#[derive(Debug, Serialize)]
struct Lanes {
    /// The lane of the checkpoint.
    lane: usize,
    /// The lanes of other branches that pass the row.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    passing: Vec<usize>,
    /// The lanes that end here: branches that begin at the checkpoint.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    branches: Vec<usize>,
    /// `true` if its lane continues below it.
    goes_on: bool,
}

impl Log {
    pub(crate) fn answer(&self) -> Result<Logged, Failure> {
        let source = Source::open(&self.file)?;
        let place = source.place(&self.thread)?;
        if let Some(width) = self.strip {
            return Ok(Logged::Strip(Strip::of(&source, &place, width)?));
        }
        let history = match self.graph || self.svg {
            true => self.tree(&source, place)?,
            false => self.line(&source, place)?,
        };
        Ok(Logged::History(Box::new(history)))
    }

    fn limit(&self) -> usize {
        if self.n == 0 { usize::MAX } else { self.n }
    }

    /// Returns a checkpoint and its past.
    fn line(&self, source: &Source, place: CheckpointRef) -> Result<History, Failure> {
        let limit = self.limit();
        let known = Known::of(source, &place.thread)?;
        let name = source.name_below(&place.thread);
        // Without `--skip`, only the checkpoints that are shown are read.
        let past = match self.skip {
            Some(_) => source.reader.history(&place.thread, &place.at(), usize::MAX)?,
            None => Vec::new(),
        };
        let total = self.skip.map(|_| past.len());
        let first = match self.skip.unwrap_or(0) {
            0 => Some(place.clone()),
            skip => {
                let held = past.get(skip).map(|held| source.in_past(&place, held.id, &held.thread));
                held.transpose()?
            }
        };
        let steps = match &first {
            Some(first) => source.reader.steps(&first.thread, &first.at(), limit.saturating_add(1))?,
            None => Vec::new(),
        };
        let more = steps.len() > limit;
        let unfinished = Unfinished::of(source, &place.thread);
        let nesting = Nesting { source, known: &known, depth: self.depth, limit, unfinished: &unfinished };
        let checkpoints = nesting.lines(&steps, limit)?;
        let head = source.head(place.thread.clone())?;
        let is_head = first.is_some_and(|first| head.is_some_and(|head| head.id == first.id));
        let next_subgraphs = match is_head {
            true => nesting.below(&place.thread, place.id)?,
            false => Vec::new(),
        };
        let hidden = if self.depth == 0 { nesting.count(&place, &steps, limit)? } else { 0 };
        Ok(History {
            thread: place.thread,
            name,
            checkpoints,
            next_subgraphs,
            more,
            from: self.skip,
            total,
            graph: false,
            hidden,
            strip: None,
        })
    }

    /// Returns all branches of the tree that a thread belongs to.
    fn tree(&self, source: &Source, place: CheckpointRef) -> Result<History, Failure> {
        let limit = self.limit();
        let known = Known::of(source, &place.thread)?;
        let tree = source.tree(&place.thread)?;
        let total = tree.rows.len();
        let from = match (&self.around, self.skip) {
            (Some(around), _) => around_row(&tree, &source.place(around)?, limit)?,
            (None, skip) => skip.unwrap_or(0),
        };
        let unfinished = Unfinished::of(source, &place.thread);
        let rows = tree.rows.iter().skip(from).take(limit);
        let drawn = rows.map(|row| {
            drawn(source, &tree.checkpoints[row.checkpoint], row, &place.thread, &known, &unfinished)
        });
        let checkpoints = drawn.collect::<Result<Vec<_>, _>>()?;
        let strip = match self.svg {
            true => Some(Strip::of(source, &place, svg::STRIP_WIDTH)?),
            false => None,
        };
        Ok(History {
            name: source.name_below(&place.thread),
            thread: place.thread,
            more: from.saturating_add(limit) < total,
            checkpoints,
            next_subgraphs: Vec::new(),
            from: Some(from),
            total: Some(total),
            graph: true,
            hidden: 0,
            strip,
        })
    }
}

/// Returns the first of `limit` rows with a checkpoint in their middle.
fn around_row(tree: &Tree, place: &CheckpointRef, limit: usize) -> Result<usize, Failure> {
    let row = tree
        .position(place.id)
        .ok_or_else(|| Failure::nothing(format!("checkpoint {} is on no branch of the thread", place.id)))?;
    Ok(row.saturating_sub(limit / 2).min(tree.rows.len().saturating_sub(limit)))
}

/// Returns a row of the tree.
fn drawn(
    source: &Source,
    summary: &Summary,
    row: &Row,
    asked: &ThreadId,
    known: &Known,
    unfinished: &Unfinished<'_>,
) -> Result<Drawn, Failure> {
    let steps = steps_of(source, summary, asked)?;
    let line = match Line::of_steps(&steps, 1, known).next() {
        Some(line) => used(source, line, &steps[0])?.with_name(source),
        None => Line::of(summary.clone(), Vec::new(), known),
    };
    let (questions, failures) = match steps.first() {
        Some(step) => unfinished.on(step)?,
        None => Default::default(),
    };
    let Row { lane, passing, branches, goes_on, .. } = row.clone();
    let lanes = Some(Lanes { lane, passing, branches, goes_on });
    Ok(Drawn { line, lanes, questions, failures, drawing: row.draw(), subgraphs: Vec::new() })
}

/// Returns a checkpoint of the tree and the one before, read from its own thread; if that was deleted, from the
/// requested thread.
fn steps_of(source: &Source, summary: &Summary, asked: &ThreadId) -> Result<Vec<StepRecord>, Failure> {
    let at = At::Id(summary.id);
    for thread in [&summary.thread, asked] {
        match source.reader.steps(thread, &at, 2) {
            Ok(steps) if !steps.is_empty() => return Ok(steps),
            Ok(_) | Err(superstep_core::checkpoint::StoreError::NoCheckpoint { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Vec::new())
}

/// Adds the usage of the subgraphs that the superstep of a checkpoint ran.
fn used(source: &Source, line: Line, step: &StepRecord) -> Result<Line, Failure> {
    let below = match step.checkpoint.parent {
        Some(parent) if step.checkpoint.source == Origin::Loop => {
            source.usage_below(&step.thread, Some(parent))?
        }
        _ => None,
    };
    Ok(Line { used: TokenUsage::sum(line.used.into_iter().chain(below)), ..line })
}

impl Answer for Logged {
    fn show(&self, page: &mut Page) {
        match self {
            Self::History(history) => history.show(page),
            Self::Strip(strip) => strip.show(page),
        }
    }
}

impl History {
    fn show(&self, page: &mut Page) {
        match &self.strip {
            Some(strip) => svg::show(self, strip, page),
            None => rows::show(self, page),
        }
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
