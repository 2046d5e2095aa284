//! The payloads of the modes `tasks`, `checkpoints` and `debug`.

use serde_json::{Map, Value, json};
use superstep_core::run::{CheckpointView, ConfigView, Interrupt, PathSegment};

use super::track::{TaskPlace, Track};
use crate::wire::checkpoint::checkpoint as checkpoint_names;
use crate::wire::state::Place;
use crate::wire::{run, state, values};

/// Returns the questions of an event as JSON.
pub(super) fn interrupts(asked: &[Interrupt]) -> Value {
    let shown = asked.iter().map(|asked| {
        let question: Value = asked.question.decode().unwrap_or_default();
        let schema = asked.answer_schema.as_ref().and_then(|schema| schema.decode().ok());
        run::interrupt(&asked.id.to_string(), values::outgoing(&question), schema)
    });
    shown.collect()
}

/// Returns the start of a task.
pub(crate) fn task_started(track: &Track, path: &[PathSegment], task: &TaskPlace) -> Value {
    json!({
        "id": task.id,
        "name": task.node,
        "input": track.input(path, task),
        "triggers": task.triggers(),
        "metadata": track.run_metadata(),
    })
}

/// Returns the end of a task.
pub(crate) fn task_ended(task: &TaskPlace, error: Option<&str>, result: Option<Value>) -> Value {
    json!({
        "id": task.id,
        "name": task.node,
        "error": error,
        "result": result.unwrap_or_else(|| json!({})),
        "interrupts": [],
    })
}

/// Returns the pause of tasks that ask, with their questions. A question names its node only: of several tasks of one
/// node, each gets one question if there are as many, and the first gets all otherwise.
pub(super) fn tasks_paused(paused: &[TaskPlace], depth: usize, asked: &[Interrupt]) -> Vec<Value> {
    let of_node = |asked: &&Interrupt, node: &str| match asked.path.get(depth) {
        Some(above) => above.as_str() == node,
        None => asked.node.as_str() == node,
    };
    let shown = paused.iter().enumerate().map(|(position, task)| {
        let same: Vec<usize> = paused
            .iter()
            .enumerate()
            .filter(|(_, other)| other.node == task.node)
            .map(|(at, _)| at)
            .collect();
        let questions: Vec<Interrupt> =
            asked.iter().filter(|asked| of_node(asked, &task.node)).cloned().collect();
        let nth = same.iter().position(|at| *at == position).unwrap_or(0);
        let own = match same.len() == questions.len() {
            true => &questions[nth..=nth],
            false if nth == 0 => &questions[..],
            false => &[],
        };
        let mut ended = task_ended(task, None, None);
        ended["interrupts"] = interrupts(own);
        ended
    });
    shown.collect()
}

/// Returns a stored checkpoint.
pub(super) fn checkpoint(track: &Track, namespace: &str, view: &CheckpointView) -> Value {
    let config = |config: &ConfigView| {
        let mut configurable = Map::new();
        for (name, value) in [
            ("checkpoint_ns", namespace),
            ("run_id", &track.run),
            ("thread_id", &track.thread),
            ("graph_id", &track.graph),
            ("assistant_id", &track.assistant),
            ("checkpoint_id", &config.checkpoint_id),
        ] {
            configurable.insert(name.into(), value.into());
        }
        json!({ "configurable": configurable })
    };
    let place = Place { namespace: namespace.to_owned(), ..Place::default() };
    let mut tasks = state::tasks(view, &place, &Default::default());
    for task in tasks.iter_mut().filter_map(Value::as_object_mut) {
        task.remove("path");
        task.remove("checkpoint");
        for name in ["result", "error"] {
            if task.get(name).is_some_and(Value::is_null) {
                task.remove(name);
            }
        }
    }
    json!({
        "config": config(&view.config),
        "parent_config": view.parent_config.as_ref().map(config),
        "values": state::values_of(view),
        "metadata": { "source": view.metadata.source, "step": view.metadata.step, "parents": {} },
        "next": view.next,
        "tasks": tasks,
    })
}

/// Returns a checkpoint with its names, as the mode `debug` has it.
pub(super) fn debug_checkpoint(track: &Track, namespace: &str, view: &CheckpointView) -> Value {
    let mut payload = checkpoint(track, namespace, view);
    let named = |config: &ConfigView| checkpoint_names(&config.thread_id, namespace, &config.checkpoint_id);
    let parent = view.parent_config.as_ref().map(named);
    payload["checkpoint"] = checkpoint_names(&view.config.thread_id, namespace, &view.config.checkpoint_id);
    payload["parent_checkpoint"] = json!(parent);
    payload
}

/// Returns an event of the mode `debug`.
pub(super) fn debug(step: i64, at: &str, kind: &str, payload: Value) -> Value {
    json!({ "step": step, "timestamp": at, "type": kind, "payload": payload })
}
