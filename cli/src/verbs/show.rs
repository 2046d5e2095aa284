//! `show`: shows a checkpoint.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use superstep_core::checkpoint::{Loaded, NextTask, TaskRecord};
use superstep_core::error::ErrorReport;
use superstep_core::id::{CheckpointId, NodeName, TaskId, ThreadId};
use superstep_core::state::Schema;
use superstep_inspect::Path;

use super::log::source_name;
use crate::failure::Failure;
use crate::file::FileArgument;
use crate::json_shapes::{Effect, Lease, Line, Question};
use crate::lines::{Known, called};
use crate::messages::Transcript;
use crate::page::{BAD, DIM, GOOD, ID, NAME, NOTE, Page, plain, span};
use crate::redaction::Redaction;
use crate::screen::{Answer, escape_json};
use crate::secret_fields;
use crate::source::{CheckpointRef, Source};

/// Show a checkpoint: its state, the tasks that ran, the next tasks and unfinished work
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep show essays.db rust@3 'facts[0].text'")]
pub(crate) struct Show {
    #[command(flatten)]
    file: FileArgument,
    /// The checkpoint; see `superstep --help`
    checkpoint: String,
    /// Show only the value at this path of the state, as JSON: draft, facts[2].text, notes[id="a"]
    path: Option<String>,
    /// Show the whole state, even if it is long, on a terminal too
    #[arg(long)]
    all: bool,
    /// Show only the conversations in the state, or at the path, as transcripts
    #[arg(long, conflicts_with = "all")]
    messages: bool,
}

/// The maximum number of lines of a state on a terminal.
const LINES: usize = 40;

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Shown {
    Part(Value),
    Messages(Transcript),
    Whole(Box<Whole>),
}

#[derive(Debug, Serialize)]
pub(crate) struct Whole {
    #[serde(flatten)]
    line: Line,
    graph: NodeName,
    state: Value,
    tasks: Vec<Ran>,
    next_tasks: Vec<Planned>,
    /// The questions of the tasks that are next.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    questions: Vec<Question>,
    /// The effects of those tasks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    effects: Vec<Effect>,
    /// The lease of the thread, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    lease: Option<Lease>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    metadata: Map<String, Value>,
    #[serde(skip)]
    all: bool,
}

/// A task of the checkpoint's superstep.
#[derive(Debug, Serialize)]
struct Ran {
    node: NodeName,
    writes: Vec<Write>,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    targets: Vec<NodeName>,
    /// The failure that its error handler handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    handled: Option<ErrorReport>,
    /// The name of the thread of the subgraph that it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    subgraph: Option<String>,
}

#[derive(Debug, Serialize)]
struct Write {
    field: String,
    op: String,
    value: Value,
}

/// A task that is next.
#[derive(Debug, Serialize)]
struct Planned {
    node: NodeName,
    id: TaskId,
    status: Progress,
    /// The item of `each`. The input of a run is omitted, because it equals the writes of START.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<u32>,
    /// The name of the thread of its subgraph, once that has started.
    #[serde(skip_serializing_if = "Option::is_none")]
    subgraph: Option<String>,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Progress {
    /// Nothing is recorded of it.
    Planned,
    /// Its result waits for the other tasks of the superstep.
    Finished,
    Failed,
    Waiting,
}

impl Show {
    pub(crate) fn answer(&self) -> Result<Shown, Failure> {
        let path: Option<Path> = match &self.path {
            Some(path) => Some(path.parse().map_err(|error| Failure::unusable(format!("{error}")))?),
            None => None,
        };
        let source = Source::open(&self.file)?;
        let place = source.place(&self.checkpoint)?;
        let mut loaded = source.load(&place)?;
        if self.messages {
            let redaction = Redaction::at(&source, &place)?;
            return transcript(&loaded, &redaction, &path.unwrap_or_default()).map(Shown::Messages);
        }
        if let Some(path) = path {
            let state = secret_fields::state(&loaded, &Redaction::fields_at(&source, &place)?)?;
            let part = path.get(&state).cloned();
            return part.map(Shown::Part).ok_or_else(|| absent(&path, &state, &loaded));
        }
        let redaction = Redaction::at(&source, &place)?;
        let state = secret_fields::state(&loaded, redaction.fields())?;
        redaction.in_loaded(&mut loaded);
        let tasks = loaded.checkpoint.tasks.iter().map(|task| ran(task, &loaded.schema, &redaction));
        let tasks = tasks.collect::<Result<_, Failure>>()?;
        Ok(Shown::Whole(Box::new(whole(&source, &place, &loaded, state, tasks, self.all)?)))
    }
}

/// Returns the conversations of a state, with secrets redacted.
fn transcript(loaded: &Loaded, redaction: &Redaction, path: &Path) -> Result<Transcript, Failure> {
    let mut state = secret_fields::state(loaded, redaction.fields())?;
    redaction.texts().hide_value(&mut state);
    let part = path.get(&state).ok_or_else(|| absent(path, &state, loaded))?;
    let transcript = Transcript::of(part, path);
    if !transcript.conversations.is_empty() {
        return Ok(transcript);
    }
    let whose = if path.segments().is_empty() { "the state".to_owned() } else { path.to_string() };
    let id = loaded.checkpoint.id;
    Err(Failure::nothing(format!("there is no list of messages in {whose} of checkpoint {id}")))
}

/// Returns the error for a path without a value.
pub(super) fn absent(path: &Path, state: &Value, loaded: &Loaded) -> Failure {
    let fields: Vec<&str> = state.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let id = loaded.checkpoint.id;
    let fields = fields.join(", ");
    Failure::nothing(format!("there is nothing at {path} in checkpoint {id}; its fields are {fields}"))
}

fn whole(
    source: &Source,
    place: &CheckpointRef,
    loaded: &Loaded,
    state: Value,
    mut tasks: Vec<Ran>,
    all: bool,
) -> Result<Whole, Failure> {
    let step = source.reader.steps(&place.thread, &place.at(), 1)?;
    let step = step.first().ok_or_else(|| Failure::nothing("the checkpoint has just been deleted"))?;
    let checkpoint = &loaded.checkpoint;
    let known = Known::of(source, &place.thread)?;
    if let Some(parent) = checkpoint.parent {
        for (position, name) in subgraphs(source, &step.thread, parent)? {
            if let Some(task) = tasks.get_mut(position) {
                task.subgraph = Some(name);
            }
        }
    }
    let mut below = subgraphs(source, &place.thread, place.id)?;
    let mut planned = |(position, task): (usize, &NextTask)| -> Result<Planned, Failure> {
        let id = task.id(checkpoint.id, checkpoint.step);
        let failure = loaded.failures.iter().find(|failure| failure.task == id);
        let status = match () {
            () if loaded.results.iter().any(|result| result.task == id) => Progress::Finished,
            () if failure.is_some() => Progress::Failed,
            () if loaded.asks.iter().any(|ask| ask.task == id && ask.is_open()) => Progress::Waiting,
            () => Progress::Planned,
        };
        let input = task.input.as_ref().filter(|_| !task.node.is_start());
        Ok(Planned {
            node: task.node.clone(),
            id,
            status,
            input: input.map(|input| input.decode().map_err(Failure::damaged)).transpose()?,
            error: failure.map(|failure| failure.error.clone()),
            attempts: failure.map(|failure| failure.attempts),
            subgraph: below.remove(&position),
        })
    };
    let next_tasks: Vec<Planned> =
        checkpoint.frontier.tasks.iter().enumerate().map(&mut planned).collect::<Result<_, Failure>>()?;
    let of_tasks: Vec<_> = next_tasks.iter().map(|task| (task.id, task.node.clone())).collect();
    let entries = checkpoint.metadata.iter();
    let metadata = entries.map(|(name, entry)| Ok((name.clone(), entry.decode().map_err(Failure::damaged)?)));
    Ok(Whole {
        line: Line::of_step(step, &known).with_name(source),
        graph: loaded.graph.clone(),
        state,
        tasks,
        questions: loaded.asks.iter().map(Question::of).collect::<Result<_, _>>()?,
        effects: loaded
            .effects
            .iter()
            .map(|effect| Effect::of(effect, &of_tasks))
            .collect::<Result<_, _>>()?,
        next_tasks,
        lease: source.lease(&place.thread)?,
        metadata: metadata.collect::<Result<_, Failure>>()?,
        all,
    })
}

/// Returns the names of the subgraphs of tasks that a thread planned on a checkpoint, by the tasks' positions.
fn subgraphs(
    source: &Source,
    thread: &ThreadId,
    planned_on: CheckpointId,
) -> Result<BTreeMap<usize, String>, Failure> {
    let all = source.subgraphs(thread)?;
    let of_it = all.iter().filter(|subgraph| subgraph.planned_on == planned_on);
    Ok(of_it.map(|subgraph| (subgraph.position as usize, source.called(&subgraph.thread))).collect())
}

fn ran(task: &TaskRecord, schema: &Schema, redaction: &Redaction) -> Result<Ran, Failure> {
    let writes = task.writes.iter().map(|write| {
        let (op, value) = secret_fields::write(write, schema, redaction.fields())?;
        Ok(Write { field: schema.field(write.field).name.clone(), op, value })
    });
    Ok(Ran {
        node: task.node.clone(),
        writes: writes.collect::<Result<_, Failure>>()?,
        route: task.route.as_ref().map(|route| route.case.clone()),
        targets: task.targets.clone(),
        handled: task.handled.as_ref().map(|handled| handled.error.clone()),
        subgraph: None,
    })
}

impl Answer for Shown {
    fn show(&self, page: &mut Page) {
        match self {
            Self::Part(value) => show_json(page, value, "", true),
            Self::Messages(transcript) => transcript.show(page),
            Self::Whole(whole) => whole.show(page),
        }
    }
}

impl Whole {
    fn show(&self, page: &mut Page) {
        let line = &self.line;
        page.line([span(NAME, "checkpoint "), span(ID, line.id.to_string())]);
        let mut fact =
            |name: &str, value: String| page.line([span(DIM, format!("{name:<7} ")), plain(value)]);
        fact("thread", line.called().to_owned());
        for name in &line.names {
            fact("named", name.to_string());
        }
        fact("graph", self.graph.to_string());
        fact("step", format!("{} ({})", line.step, source_name(line.source)));
        fact("at", line.at.clone());
        fact("run", line.run.to_string());
        if let Some(parent) = line.parent {
            fact("parent", parent.to_string());
        }
        if let Some(lease) = &self.lease {
            fact("held by", lease.told());
        }
        for (name, value) in &self.metadata {
            fact(name, value.to_string());
        }
        page.title("state");
        show_json(page, &self.state, "  ", self.all);
        if !self.tasks.is_empty() {
            page.title("ran");
            self.tasks.iter().for_each(|task| task.show(page));
        }
        if !self.next_tasks.is_empty() {
            page.title("next");
            self.next_tasks.iter().for_each(|task| task.show(page));
        }
        if !self.questions.is_empty() {
            page.title("questions");
        }
        for question in &self.questions {
            let answer = match &question.answer {
                Some(answer) => span(GOOD, format!(" → {answer}")),
                None => span(NOTE, format!(" (open, {})", question.id)),
            };
            page.line([plain(format!("  {} asks {}", question.node, question.question)), answer]);
        }
        if !self.effects.is_empty() {
            page.title("effects");
        }
        self.effects.iter().for_each(|effect| effect.show(page, ""));
    }
}

impl Ran {
    fn show(&self, page: &mut Page) {
        let mut spans = vec![plain("  "), span(NAME, called(&self.node))];
        spans.extend(self.route.as_ref().map(|case| span(NOTE, format!(" → {case}"))));
        spans.extend(self.subgraph.as_ref().map(|name| span(DIM, format!("  as {name}"))));
        if let Some(error) = &self.handled {
            spans.push(span(BAD, format!(" (its failure was handled: {})", error.message)));
        }
        page.line(spans);
        for write in &self.writes {
            page.line([plain(format!("    {} {} {}", write.field, write.op, write.value))]);
        }
    }
}

impl Planned {
    fn show(&self, page: &mut Page) {
        let mut spans = vec![plain("  "), span(NAME, called(&self.node))];
        spans.extend(self.input.as_ref().map(|input| plain(format!(" {input}"))));
        spans.extend(self.subgraph.as_ref().map(|name| span(DIM, format!("  as {name}"))));
        spans.extend(match self.status {
            Progress::Planned => None,
            Progress::Finished => Some(span(GOOD, "  finished, not merged yet")),
            Progress::Failed => Some(span(BAD, "  failed")),
            Progress::Waiting => Some(span(NOTE, "  waits for an answer")),
        });
        spans.extend(self.error.as_ref().map(|error| span(BAD, format!(": {}", error.message))));
        page.line(spans);
    }
}

/// Shows JSON; on a terminal, at most `LINES` lines unless `all` is set.
fn show_json(page: &mut Page, value: &Value, indent: &str, all: bool) {
    let text = serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string());
    let text = escape_json(&text);
    let count = text.lines().count();
    let shown = if all || page.look.width.is_none() || count <= LINES { count } else { LINES };
    for line in text.lines().take(shown) {
        page.line([plain(format!("{indent}{line}"))]);
    }
    if shown < count {
        let hint = format!("{indent}… {} more lines: name a PATH, or add --all", count - shown);
        page.line([span(DIM, hint)]);
    }
}
