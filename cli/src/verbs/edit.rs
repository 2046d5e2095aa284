//! `edit`: stores an edited state as a new checkpoint.

mod as_node;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use superstep_core::checkpoint::{Carried, Carrier, Loaded, Recorded};
use superstep_core::engine::EditAs;
use superstep_core::id::{CheckpointId, NodeName, RunId, ThreadId};
use superstep_core::state::{Change, FieldId, Json, Lifetime, Logged, LoggedWrite, Op, SecretFields};
use superstep_inspect::{Difference, diff};

use crate::amend::{self, Destination};
use crate::assignment::Assignment;
use crate::failure::Failure;
use crate::file::{FileArgument, WritableFile};
use crate::lines::Short;
use crate::page::{NAME, Page, plain, span};
use crate::redaction::Redaction;
use crate::screen::Answer;
use crate::secret_fields;
use crate::source::{CheckpointRef, Source};
use crate::topology::StoredGraph;

use self::as_node::AsNode;
use super::diff::show as show_difference;
use super::fork::show_next;

/// Store an edited state as a new checkpoint
///
/// Existing checkpoints do not change. On the latest checkpoint of a thread, the same nodes stay next, with their
/// results, effects and answers. On an older one the edit begins a branch, without unfinished work.
///
/// Values are not checked against the program's types: a value that does not decode fails when the program resumes. A
/// field is changed to another kind of JSON only with --force.
///
/// With --as, the values are stored as the node's writes: `superstep graph` shows the nodes and their cases. If other
/// tasks of the superstep are left, the edit takes effect together with their results.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: superstep edit essays.db rust@3 --set rounds=0 --set 'draft=\"by hand\"'
          superstep edit essays.db rust --set 'facts[id=\"people\"].text=\"few\"' --name other
          superstep edit essays.db zig --as review --case Accept")]
pub(crate) struct Edit {
    #[command(flatten)]
    file: FileArgument,
    /// The checkpoint to edit; see `superstep --help`
    checkpoint: String,
    /// Set the value at a path; may be repeated, and applies in order
    #[arg(long = "set", value_name = "PATH=JSON", required_unless_present = "node")]
    sets: Vec<String>,
    /// Store the edit on a new thread of this name, which begins at the checkpoint
    #[arg(long, value_name = "THREAD")]
    name: Option<String>,
    /// Edit as if this node had run and written the values: the nodes that follow it are next
    #[arg(long = "as", value_name = "NODE")]
    node: Option<String>,
    /// The case that the node chooses, by its name
    #[arg(long, value_name = "NAME", requires = "node")]
    case: Option<String>,
    /// Allow a field to become another kind of JSON
    #[arg(long)]
    force: bool,
    /// Show what would change, and store nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct Edited {
    thread: ThreadId,
    /// The new checkpoint; `None` if nothing was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<CheckpointId>,
    /// The checkpoint that was edited.
    from: CheckpointId,
    /// `true` if that was not the latest checkpoint of the thread, so the edit begins a branch.
    branch: bool,
    /// `true` if the thread is new.
    new_thread: bool,
    step: i64,
    state: Vec<Difference>,
    /// `true` if the state changes only when the other tasks of the superstep have finished.
    pending: bool,
    next: Vec<NodeName>,
}

impl Edit {
    pub(crate) fn answer(&self) -> Result<Edited, Failure> {
        let sets: Vec<Assignment<'_>> =
            self.sets.iter().map(|set| Assignment::parse(set)).collect::<Result<_, _>>()?;
        let source = Source::open(&self.file)?;
        let place = source.place(&self.checkpoint)?;
        let mut loaded = source.load(&place)?;
        if self.node.is_some() && place.thread.is_below() {
            let text = "it is a checkpoint of a subgraph, whose nodes are run for the thread above: --as is not for those";
            return Err(Failure::unusable(text));
        }
        let to = Destination::of(&source, &place, self.name.as_deref())?;
        let stored = stored_graph(&source, &place)?;
        let graph: StoredGraph = stored.decode().map_err(Failure::damaged)?;
        let ran = match self.node {
            Some(_) => as_node::last_ran(&source, &place)?,
            None => Vec::new(),
        };
        let secret = Redaction::fields_at(&source, &place)?;
        drop(source);

        let on_head = to.head == Some(place.id);
        if !on_head {
            // Work on top of an older checkpoint belongs to another branch.
            loaded.results.clear();
            loaded.failures.clear();
            loaded.asks.clear();
            loaded.effects.clear();
        }
        let State { fields, whole } = self.edited(&loaded, &sets, &secret)?;
        let set = |(field, value): &(FieldId, Json)| LoggedWrite {
            field: *field,
            write: Logged::Op(Op::Set(value.clone())),
        };
        let writes = fields.iter().map(set).collect();
        let (id, run) = (amend::id(), RunId(amend::id().0));
        let AsNode { checkpoint, carried, pending } = match &self.node {
            Some(node) => {
                let as_node = EditAs { node: node.as_str().into(), case: self.case.clone(), writes };
                let edited = loaded.checkpoint.edited(id, run, Vec::new(), Vec::new());
                as_node::edit(&place.thread, &loaded, &stored, &graph, &ran, edited, as_node)?
            }
            None => {
                let changes =
                    fields.into_iter().map(|(field, value)| Change { field, ops: vec![Op::Set(value)] });
                let mut changes: Vec<Change> = changes.collect();
                changes.sort_unstable_by_key(|change| change.field);
                let checkpoint = loaded.checkpoint.edited(id, run, writes, changes);
                let carried = match on_head {
                    true => Carrier::new(&place.thread, &loaded, &graph).all(id),
                    false => Carried::default(),
                };
                AsNode { checkpoint, carried, pending: false }
            }
        };
        let step = checkpoint.step;
        let next = checkpoint.frontier.nodes().cloned().collect();
        let recorded = on_head.then(|| Recorded::of(&loaded.results, &loaded.effects));
        if !self.dry_run {
            to.commit(&WritableFile::open(&self.file)?, loaded.graph.clone(), checkpoint, carried, recorded)?;
        }

        let state = secret_fields::differences(diff(&secret_fields::whole_state(&loaded)?, &whole), &secret);
        let new_thread = to.head.is_none();
        let branch = !on_head && !new_thread;
        let thread = to.thread;
        let checkpoint = (!self.dry_run).then_some(id);
        Ok(Edited { thread, checkpoint, from: place.id, branch, new_thread, step, state, pending, next })
    }

    /// Applies the assignments; returns the changed fields and the whole state.
    fn edited(
        &self,
        loaded: &Loaded,
        sets: &[Assignment<'_>],
        secret: &SecretFields,
    ) -> Result<State, Failure> {
        let schema = &loaded.schema;
        let held = |field: FieldId| loaded.values.iter().find(|held| held.field == field);
        let named = loaded.values.iter().map(|held| (schema.field(held.field).name.clone(), &held.value));
        let named: BTreeMap<String, &Json> = named.collect();
        let mut state = Json::encode(&named).map_err(Failure::damaged)?;
        let mut touched: Vec<FieldId> = Vec::new();
        for set in sets {
            let field = self.field(loaded, set)?;
            let value = set.value(secret.has(schema.field(field)))?;
            state = set.path.insert(&state, &value).map_err(|error| Failure::nothing(error.to_string()))?;
            if !touched.contains(&field) {
                touched.push(field);
            }
        }
        let mut named: BTreeMap<String, Json> = state.decode().map_err(Failure::damaged)?;
        let mut fields = Vec::new();
        for field in touched {
            let name = &schema.field(field).name;
            let value = named.remove(name).expect("it was put there");
            match held(field) {
                Some(held) if held.value == value => {}
                Some(held) if !self.force => {
                    let (was, is) = (kind(&held.value), kind(&value));
                    if was != is && was != NULL && is != NULL {
                        return Err(Failure::unforced(format!(
                            "{name} is {was} and would become {is}, which its program may not be able to read"
                        )));
                    }
                    fields.push((field, value));
                }
                _ => fields.push((field, value)),
            }
        }
        if fields.is_empty() && self.node.is_none() {
            return Err(Failure::nothing("nothing was written: the state has these values already"));
        }
        let whole = state.decode().map_err(Failure::of)?;
        Ok(State { fields, whole })
    }

    /// Returns the field that an assignment changes.
    fn field(&self, loaded: &Loaded, set: &Assignment<'_>) -> Result<FieldId, Failure> {
        let schema = &loaded.schema;
        let names = schema.fields.iter().map(|field| field.name.as_str());
        let Some(field) = schema.find(set.field()) else {
            let all: Vec<&str> = names.collect();
            return Err(Failure::nothing(format!(
                "the state has no field {}; its fields are {}",
                set.field(),
                all.join(", ")
            )));
        };
        match schema.field(field).lifetime {
            Lifetime::Unstored => Err(Failure::unusable(format!(
                "{} is kept in memory only: nothing of it is stored",
                set.field()
            ))),
            Lifetime::Stored | Lifetime::OneStep => Ok(field),
        }
    }
}

/// An edited state.
struct State {
    /// The fields that changed.
    fields: Vec<(FieldId, Json)>,
    whole: Value,
}

const NULL: &str = "null";

/// Returns the kind of a JSON value.
fn kind(value: &Json) -> &'static str {
    match value.as_str().trim_start().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a text",
        Some(b't' | b'f') => "true or false",
        Some(b'n') => NULL,
        _ => "a number",
    }
}

/// Returns the graph that a checkpoint was planned with.
fn stored_graph(source: &Source, place: &CheckpointRef) -> Result<Json, Failure> {
    let stored = source.reader.topology(&place.thread, &place.at())?;
    stored.ok_or_else(|| Failure::nothing("the checkpoint has just been deleted"))
}

impl Answer for Edited {
    fn show(&self, page: &mut Page) {
        let Self { thread, checkpoint, from, branch, new_thread, step, state, pending, next } = self;
        let short = Short::among(checkpoint.iter().chain([from]).copied());
        let begun = match (checkpoint, *branch, *new_thread) {
            (Some(_), true, _) => "began a branch of ",
            (Some(_), _, true) => "began thread ",
            (Some(_), ..) => "edited ",
            (None, true, _) => "would begin a branch of ",
            (None, _, true) => "would begin thread ",
            (None, ..) => "would edit ",
        };
        let stored = match checkpoint {
            Some(id) => vec![plain("checkpoint "), short.span(*id), plain(format!(" (step {step})"))],
            None => vec![plain(format!("step {step}"))],
        };
        let spans = [plain(begun), span(NAME, thread.as_str()), plain(": ")].into_iter().chain(stored);
        page.line(spans.chain([plain(" on top of "), short.span(*from)]));
        state.iter().for_each(|difference| show_difference(page, difference));
        if *pending {
            page.line([plain("this waits for the other tasks of the superstep")]);
        }
        show_next(page, next);
    }
}
