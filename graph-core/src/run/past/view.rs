//! A checkpoint as a JSON document of a stable shape.

use std::collections::BTreeMap;
use std::string::{String, ToString};
use std::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::checkpoint::{AskRecord, Loaded, Source, rfc3339};
use crate::graph::Program;
use crate::id::{CheckpointId, ThreadId};
use crate::run::runtime::redact;
use crate::state::{Json, LoggedWrite, Schema};

/// A checkpoint as a document for tools and people, with the names of LangGraph's checkpoint document. Values of secret
/// fields are replaced by `"<secret>"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointView {
    /// The names of the checkpoint.
    pub config: ConfigView,
    /// The state, by field.
    pub values: BTreeMap<String, serde_json::Value>,
    /// The nodes that are next, in merge order.
    pub next: Vec<String>,
    /// The position of the checkpoint in its thread.
    pub metadata: MetadataView,
    /// The time at which it was stored, as an RFC 3339 text in UTC. For people: do not use it to order checkpoints.
    pub created_at: String,
    /// The parent checkpoint.
    pub parent_config: Option<ConfigView>,
    /// The next superstep's tasks.
    pub tasks: Vec<TaskView>,
}

/// The ids of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigView {
    /// The thread.
    pub thread_id: String,
    /// The path of the subgraph: the tasks that run it, from the root down, with `|` between them; empty for the root.
    pub checkpoint_ns: String,
    /// The checkpoint.
    pub checkpoint_id: String,
}

/// The position of a checkpoint in its thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetadataView {
    /// The source of the checkpoint: `input`, `loop`, `update` or `fork`.
    pub source: String,
    /// Its step: −1 for a thread's first input, 0 for the start, 1 for the first user superstep.
    pub step: i64,
    /// The run that wrote it.
    pub run_id: String,
    /// The writes of the superstep, by node and field. Several tasks of one node are a list; so are several writes of
    /// one task to one field, in order.
    pub writes: BTreeMap<String, serde_json::Value>,
    /// The user's own entries. One that is called like a member above is `user.source`, say.
    #[serde(flatten)]
    pub user: BTreeMap<String, serde_json::Value>,
}

impl MetadataView {
    /// Returns the name of an entry of the user's, changed if the document has a member with that name.
    fn user_name(name: &str) -> String {
        match name.trim_start_matches("user.") {
            "source" | "step" | "run_id" | "writes" => std::format!("user.{name}"),
            _ => name.to_string(),
        }
    }
}

/// A task of the next superstep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskView {
    /// The task.
    pub id: String,
    /// Its node.
    pub name: String,
    /// The item of `each`.
    pub input: Option<serde_json::Value>,
    /// Its open questions.
    pub interrupts: Vec<InterruptView>,
    /// `true` if the task has finished and waits for the other tasks of its superstep.
    pub finished: bool,
    /// The writes of a finished task, by field. Several writes to one field are a list, in order.
    pub result: Option<BTreeMap<String, serde_json::Value>>,
    /// The last failure of an unfinished task: kind, message and causes.
    pub error: Option<serde_json::Value>,
}

/// An open question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InterruptView {
    /// The id of the question, which an answer names.
    pub id: String,
    /// The question.
    pub value: serde_json::Value,
    /// The JSON Schema of the question; missing when the graph has no such node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question_schema: Option<serde_json::Value>,
    /// The JSON Schema of its answers; missing when the graph has no such node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_schema: Option<serde_json::Value>,
}

impl InterruptView {
    fn of(program: &Program, ask: &AskRecord) -> Self {
        let described = program.ask_of(ask);
        Self {
            id: ask.id.to_string(),
            value: value(&ask.question),
            question_schema: described.as_ref().map(|described| value(&described.question)),
            answer_schema: described.as_ref().map(|described| value(&described.answer)),
        }
    }
}

impl CheckpointView {
    /// Returns the view of a checkpoint of a thread of `program`.
    pub(crate) fn of(program: &Program, thread: &ThreadId, loaded: &Loaded) -> Self {
        let checkpoint = &loaded.checkpoint;
        let (root, below) = thread.levels();
        let config = |id: CheckpointId| ConfigView {
            thread_id: root.to_string(),
            checkpoint_ns: below.clone(),
            checkpoint_id: id.to_string(),
        };
        let field = |id| loaded.schema.field(id).name.clone();
        let mut writes: BTreeMap<String, Vec<serde_json::Value>> = BTreeMap::new();
        for task in &checkpoint.tasks {
            let wrote = by_field(&task.writes, &loaded.schema);
            let wrote = wrote.into_iter().collect::<serde_json::Map<_, _>>();
            writes.entry(task.node.to_string()).or_default().push(wrote.into());
        }
        let source = match checkpoint.source {
            Source::Input => "input",
            Source::Loop => "loop",
            Source::Update => "update",
            Source::Fork => "fork",
            Source::Pruned => "pruned",
        };
        let tasks = checkpoint.frontier.tasks.iter().filter(|next| !next.node.is_end()).map(|next| {
            let id = next.id(checkpoint.id, checkpoint.step);
            let open = loaded.asks.iter().filter(|ask| ask.task == id && ask.answer.is_none());
            let result = loaded.results.iter().find(|result| result.task == id && result.is_finished());
            let failure = loaded.failures.iter().find(|failure| failure.task == id);
            TaskView {
                id: id.to_string(),
                name: next.node.to_string(),
                input: next.input.as_ref().map(|input| match next.node.is_start() {
                    true => run_input(input, &loaded.schema),
                    false => value(input),
                }),
                interrupts: open.map(|ask| InterruptView::of(program, ask)).collect(),
                finished: result.is_some(),
                error: failure
                    .filter(|_| result.is_none())
                    .map(|failure| serde_json::to_value(&failure.error).expect("a report has a JSON form")),
                result: result.map(|result| by_field(&result.writes, &loaded.schema)),
            }
        });
        Self {
            config: config(checkpoint.id),
            values: loaded
                .values
                .iter()
                .map(|held| {
                    let shown = redact::value(&held.value, held.field, &loaded.schema);
                    (field(held.field), value(&shown))
                })
                .collect(),
            next: checkpoint.frontier.nodes().map(ToString::to_string).collect(),
            metadata: MetadataView {
                source: source.to_string(),
                step: checkpoint.step,
                run_id: checkpoint.run.to_string(),
                writes: one_or_list(writes),
                user: checkpoint
                    .metadata
                    .iter()
                    .map(|(name, entry)| (MetadataView::user_name(name), value(entry)))
                    .collect(),
            },
            created_at: rfc3339(checkpoint.id.unix_ms()),
            parent_config: checkpoint.parent.map(config),
            tasks: tasks.collect(),
        }
    }
}

/// Returns the writes of a task by field.
fn by_field(writes: &[LoggedWrite], schema: &Schema) -> BTreeMap<String, serde_json::Value> {
    let mut fields: BTreeMap<String, Vec<serde_json::Value>> = BTreeMap::new();
    for write in writes {
        fields.entry(schema.field(write.field).name.clone()).or_default().push(written(write, schema));
    }
    one_or_list(fields)
}

/// Converts a single value to itself, and several to a list.
fn one_or_list(all: BTreeMap<String, Vec<serde_json::Value>>) -> BTreeMap<String, serde_json::Value> {
    let one_or_list = |mut values: Vec<serde_json::Value>| match values.len() {
        1 => values.swap_remove(0),
        _ => values.into(),
    };
    all.into_iter().map(|(name, values)| (name, one_or_list(values))).collect()
}

fn written(write: &LoggedWrite, schema: &Schema) -> serde_json::Value {
    value(&redact::named(write, schema).value)
}

/// Returns the input of a run, which is stored as the writes of START.
fn run_input(input: &Json, schema: &Schema) -> serde_json::Value {
    let writes: Vec<LoggedWrite> = input.decode().expect("an input is stored as writes");
    serde_json::to_value(redact::writes(&writes, schema)).expect("writes have a JSON form")
}

fn value(json: &Json) -> serde_json::Value {
    json.decode().expect("stored text is JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_an_id_is_read_from_it() {
        let id = CheckpointId("01943d4e-7c00-7000-8000-000000000000".parse().expect("a UUID"));
        assert_eq!(rfc3339(id.unix_ms()), "2025-01-06T20:29:01.312Z");
    }
}
