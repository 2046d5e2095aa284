//! States of threads as JSON.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use superstep_core::run::{CheckpointView, MetadataView, TaskView};

use super::checkpoint::checkpoint;
use super::{ids, run, time, values};

/// The place of a state: its subgraph, and the checkpoints of the graphs above.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Place {
    /// The namespace of the subgraph, as `node:task|node:task`; empty for the graph itself.
    pub(crate) namespace: String,
    /// The checkpoints of the graphs above, by namespace; empty for the graph itself.
    pub(crate) above: BTreeMap<String, String>,
    /// The task that runs the subgraph, as entries of the metadata of its checkpoints.
    pub(crate) task: Map<String, Value>,
}

impl Place {
    /// Returns the place of the subgraph of a task of this state's next superstep.
    pub(crate) fn below(&self, view: &CheckpointView, task: &TaskView) -> Self {
        let mut above = self.above.clone();
        above.insert(self.namespace.clone(), view.config.checkpoint_id.clone());
        let namespace = ids::below(&self.namespace, &task.name, &task.id);
        let paths = view.tasks.iter().zip(paths(view));
        let path = paths.into_iter().find(|(other, _)| other.id == task.id).map(|(_, path)| path);
        let trigger = match path.as_ref().is_some_and(|path| path[0] == PUSH) {
            true => PUSH.to_owned(),
            false => format!("branch:to:{}", task.name),
        };
        let entries = [
            ("checkpoint_ns", json!(namespace)),
            ("langgraph_checkpoint_ns", json!(namespace)),
            ("langgraph_step", json!(view.metadata.step + 1)),
            ("langgraph_node", json!(task.name)),
            ("langgraph_triggers", json!([trigger])),
            ("langgraph_path", json!(path)),
            ("checkpoint_map", json!(above)),
        ];
        Self {
            namespace,
            above,
            task: entries.map(|(name, entry)| (name.to_owned(), entry)).into_iter().collect(),
        }
    }
}

/// The subgraph of a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Nested {
    /// Its state as JSON, if the client asked for the states of subgraphs.
    pub(crate) state: Option<Value>,
    /// Its open questions as JSON, at all levels.
    pub(crate) interrupts: Vec<Value>,
}

/// Returns the state of a thread that has no checkpoint.
pub(crate) fn empty() -> Value {
    json!({
        "values": {}, "next": [], "tasks": [], "metadata": null, "created_at": null, "checkpoint": null,
        "parent_checkpoint": null, "interrupts": [], "checkpoint_id": null, "parent_checkpoint_id": null,
    })
}

/// Returns a state of a thread. `nested` are the subgraphs that have run for tasks of the next superstep, by the core's
/// id of the task.
pub(crate) fn state(view: &CheckpointView, place: &Place, nested: &BTreeMap<String, Nested>) -> Value {
    let names = |id: &str| {
        let mut names = checkpoint(&view.config.thread_id, &place.namespace, id);
        if !place.namespace.is_empty() {
            let mut map = place.above.clone();
            map.insert(place.namespace.clone(), id.to_owned());
            names["checkpoint_map"] = json!(map);
        }
        names
    };
    let parent = view.parent_config.as_ref().map(|parent| parent.checkpoint_id.as_str());
    let tasks = tasks(view, place, nested);
    let interrupts: Vec<Value> = tasks.iter().flat_map(interrupts_of).cloned().collect();
    let mut state = json!({
        "values": null,
        "next": next(view),
        "tasks": tasks,
        "metadata": metadata(view, place),
        "created_at": time::of_utc(&view.created_at),
        "checkpoint": names(&view.config.checkpoint_id),
        "parent_checkpoint": parent.map(names),
        "interrupts": interrupts,
        "checkpoint_id": view.config.checkpoint_id,
        "parent_checkpoint_id": parent,
    });
    // `json!` copies what it is given, and the values can be large.
    state["values"] = values_of(view);
    state
}

/// Returns the nodes of the next superstep whose tasks have not finished.
fn next(view: &CheckpointView) -> Vec<&str> {
    match view.tasks.is_empty() {
        true => view.next.iter().map(String::as_str).collect(),
        false => view.tasks.iter().filter(|task| !task.finished).map(|task| task.name.as_str()).collect(),
    }
}

/// Returns the values of a state, with messages in the form of clients.
pub(crate) fn values_of(view: &CheckpointView) -> Value {
    view.values
        .iter()
        .map(|(field, value)| (field.clone(), values::outgoing(value)))
        .collect::<Map<_, _>>()
        .into()
}

/// Returns the open questions of a state as JSON, by the task that asks.
pub(crate) fn interrupts_by_task(state: &Value) -> Map<String, Value> {
    let tasks = state["tasks"].as_array().into_iter().flatten();
    let open = tasks.filter(|task| interrupts_of(task).next().is_some());
    open.filter_map(|task| Some((task["id"].as_str()?.to_owned(), task["interrupts"].clone()))).collect()
}

fn interrupts_of(task: &Value) -> impl Iterator<Item = &Value> {
    task["interrupts"].as_array().into_iter().flatten()
}

/// Returns the metadata of a checkpoint. The entries of the server take precedence over the members of the core that
/// have the same names.
pub(crate) fn metadata(view: &CheckpointView, place: &Place) -> Value {
    let MetadataView { source, step, run_id, user, .. } = &view.metadata;
    let mut metadata = Map::new();
    metadata.insert("run_id".into(), run_id.as_str().into());
    metadata.insert("thread_id".into(), view.config.thread_id.as_str().into());
    for (name, value) in user {
        let name = name.strip_prefix("user.").filter(|name| *name == "run_id").unwrap_or(name);
        metadata.insert(name.to_owned(), value.clone());
    }
    metadata.extend(place.task.clone());
    metadata.insert("source".into(), source.as_str().into());
    metadata.insert("step".into(), (*step).into());
    metadata.insert("parents".into(), json!(place.above));
    metadata.into()
}

/// Returns the tasks of the next superstep.
pub(crate) fn tasks(view: &CheckpointView, place: &Place, nested: &BTreeMap<String, Nested>) -> Vec<Value> {
    let thread = &view.config.thread_id;
    let shown = view.tasks.iter().zip(paths(view)).map(|(task, path)| {
        let own = task.interrupts.iter().map(|asked| {
            run::interrupt(&asked.id, values::outgoing(&asked.value), asked.answer_schema.clone())
        });
        let nested = nested.get(&task.id);
        let below = nested.into_iter().flat_map(|nested| &nested.interrupts).cloned();
        let namespace = || ids::below(&place.namespace, &task.name, &task.id);
        let named = nested.filter(|nested| nested.state.is_none());
        json!({
            "id": ids::task(&task.id),
            "name": task.name,
            "path": path,
            "error": task.error.as_ref().map(message_of),
            "interrupts": own.chain(below).collect::<Vec<_>>(),
            "checkpoint": named.map(|_| json!({ "thread_id": thread, "checkpoint_ns": namespace() })),
            "state": nested.and_then(|nested| nested.state.clone()),
            "result": result(task),
        })
    });
    shown.collect()
}

/// Returns the path of each task: how it was planned. Tasks of `each` are numbered.
fn paths(view: &CheckpointView) -> Vec<Value> {
    let mut numbers = 0..;
    let path = |task: &TaskView| match task.input.as_ref().filter(|_| task.name != START) {
        Some(_) => json!([PUSH, numbers.next(), false]),
        None => json!([PULL, task.name]),
    };
    view.tasks.iter().map(path).collect()
}

/// The first part of the path of a task that an edge or a decision planned.
pub(crate) const PULL: &str = "__pregel_pull";

/// The first part of the path of a task of `each`.
pub(crate) const PUSH: &str = "__pregel_push";

/// The node that stands for the start of a run.
const START: &str = "__start__";

fn result(task: &TaskView) -> Option<Value> {
    let writes = task.result.as_ref()?;
    Some(
        writes
            .iter()
            .map(|(field, value)| (field.clone(), values::written(value)))
            .collect::<Map<_, _>>()
            .into(),
    )
}

/// Adds the results of the tasks of a superstep that is over. `next` is the metadata of the next checkpoint, which has
/// the writes of a superstep's tasks by node.
pub(crate) fn add_results(view: &mut CheckpointView, next: &MetadataView) {
    if next.source != "loop" {
        return;
    }
    let nodes: Vec<String> = view.tasks.iter().map(|task| task.name.clone()).collect();
    for (at, task) in view.tasks.iter_mut().enumerate().filter(|(_, task)| task.result.is_none()) {
        let same = nodes.iter().filter(|node| **node == task.name).count();
        let nth = nodes[..at].iter().filter(|node| **node == task.name).count();
        let wrote = match next.writes.get(&task.name) {
            Some(Value::Array(tasks)) if tasks.len() == same => tasks.get(nth),
            wrote => wrote.filter(|_| same == 1),
        };
        let wrote = wrote.and_then(Value::as_object);
        task.result = wrote.map(|wrote| wrote.clone().into_iter().collect());
    }
}

fn message_of(report: &Value) -> Value {
    report.get("message").cloned().unwrap_or_else(|| report.clone())
}

#[cfg(test)]
mod tests;
