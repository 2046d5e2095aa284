//! The position of a run, followed through its log: its supersteps, tasks and states at all levels.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use superstep_core::run::{CheckpointView, EventKind, PathSegment, RunEvent};
use superstep_nodes::node::{ConversationLength, ModelCall, Reasoning, ToolRun};

use crate::log::{LogEntry, Logged};
use crate::wire::state::{PULL, PUSH};
use crate::wire::{ids, state, values};

/// The names of the events that this framework's nodes emit for their own observers.
const OF_FRAMEWORK: [&str; 9] = [
    ModelCall::EVENT,
    ToolRun::EVENT,
    ConversationLength::EVENT,
    Reasoning::EVENT,
    TOOL,
    "verification",
    "compaction",
    "refinement",
    "routing",
];

/// The name of the events of tool calls.
pub(crate) const TOOL: &str = "tool";

/// Returns `true` for a custom event of this framework's nodes, which no client of a graph expects.
pub(crate) fn is_of_framework(name: &str) -> bool {
    OF_FRAMEWORK.contains(&name)
}

/// The place of a graph or subgraph in a run: the step and the position of each task above.
type Path = Vec<(i64, u32)>;

fn path_of(path: &[PathSegment]) -> Path {
    path.iter().map(|segment| (segment.step, segment.task)).collect()
}

/// A run, and the position that its log has reached.
#[derive(Debug, Default)]
pub(crate) struct Track {
    /// The run.
    pub(crate) run: String,
    /// The graph.
    pub(crate) graph: String,
    /// The assistant.
    pub(crate) assistant: String,
    /// The thread.
    pub(crate) thread: String,
    /// The metadata of the run.
    pub(crate) metadata: Map<String, Value>,
    levels: HashMap<Path, Level>,
}

/// A graph or a subgraph in a run.
#[derive(Debug, Default)]
pub(crate) struct Level {
    /// The state after the last superstep, in the form of clients.
    pub(crate) values: Map<String, Value>,
    /// The tasks of the current superstep.
    tasks: Vec<TaskPlace>,
    /// The inputs of the next superstep's tasks of `each`, by task, with their positions among those tasks.
    inputs: HashMap<String, (Value, usize)>,
    /// The positions of tasks of the current superstep whose result was cached.
    cached: Vec<u32>,
    /// The positions of tasks of the current superstep that ask.
    paused: Vec<u32>,
}

/// A task of a superstep.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TaskPlace {
    /// Its id, in the form of clients.
    pub(crate) id: String,
    /// Its node.
    pub(crate) node: String,
    /// Its superstep.
    pub(crate) step: i64,
    /// The namespace of the task itself: that of its subgraph, if it has one.
    pub(crate) namespace: String,
    /// The item of `each` that it works on, and its position.
    pub(crate) item: Option<(Value, usize)>,
}

impl TaskPlace {
    /// Returns the path of the task, as its thread's states have it.
    pub(crate) fn path(&self) -> Value {
        match &self.item {
            Some((_, position)) => json!([PUSH, position, false]),
            None => json!([PULL, self.node]),
        }
    }

    /// Returns the names of the channels that started the task.
    pub(crate) fn triggers(&self) -> Value {
        match &self.item {
            Some(_) => json!([PUSH]),
            None => json!([format!("branch:to:{}", self.node)]),
        }
    }
}

impl Track {
    /// Follows an entry of the log.
    pub(crate) fn follow(&mut self, entry: &LogEntry, view: Option<&CheckpointView>) {
        match &entry.what {
            Logged::Begun { graph, assistant, metadata, .. } => {
                self.run.clone_from(&entry.run);
                self.graph.clone_from(graph);
                self.assistant.clone_from(assistant);
                self.metadata.clone_from(metadata);
                self.levels.clear();
            }
            Logged::Event { event } => self.on_event(event, view),
            Logged::Ended { .. } => {}
        }
    }

    fn on_event(&mut self, event: &RunEvent, view: Option<&CheckpointView>) {
        match &event.kind {
            EventKind::RunStarted { thread, .. } if event.path.is_empty() => {
                thread.as_str().clone_into(&mut self.thread);
            }
            EventKind::SuperstepStarted { step, nodes, tasks } => {
                let above = self.namespace(&event.path);
                let level = self.level_mut(&event.path);
                let started = nodes.iter().enumerate().map(|(position, node)| {
                    let id = tasks.get(position).map(ToString::to_string).unwrap_or_default();
                    TaskPlace {
                        namespace: ids::below(&above, node.as_str(), &id),
                        item: level.inputs.get(&id).cloned(),
                        id: ids::task(&id),
                        node: node.to_string(),
                        step: *step,
                    }
                });
                level.tasks = started.collect();
                level.cached.clear();
                level.paused.clear();
            }
            EventKind::TaskFinished { task, cached: true, .. } => {
                self.level_mut(&event.path).cached.push(*task)
            }
            EventKind::TaskPaused { task, .. } => self.level_mut(&event.path).paused.push(*task),
            _ => {}
        }
        if let Some(view) = view {
            self.level_mut(&event.path).stored(view);
        }
    }

    fn level_mut(&mut self, path: &[PathSegment]) -> &mut Level {
        self.levels.entry(path_of(path)).or_default()
    }

    /// Returns the state of a graph or subgraph after its last superstep.
    pub(crate) fn values(&self, path: &[PathSegment]) -> Map<String, Value> {
        self.levels.get(&path_of(path)).map(|level| level.values.clone()).unwrap_or_default()
    }

    /// Returns a task of the current superstep. One that the log does not name has an empty id.
    pub(crate) fn task(&self, path: &[PathSegment], step: i64, task: u32, node: &str) -> TaskPlace {
        let level = self.levels.get(&path_of(path));
        let known = level
            .and_then(|level| level.tasks.get(usize::try_from(task).ok()?))
            .filter(|known| known.step == step);
        known.cloned().unwrap_or_else(|| TaskPlace {
            id: String::new(),
            node: node.to_owned(),
            step,
            namespace: ids::below(&self.namespace(path), node, ""),
            item: None,
        })
    }

    /// Returns `true` if the result of a task of the current superstep was cached.
    pub(crate) fn is_cached(&self, path: &[PathSegment], task: u32) -> bool {
        self.levels.get(&path_of(path)).is_some_and(|level| level.cached.contains(&task))
    }

    /// Returns the tasks of the current superstep that ask, once.
    pub(crate) fn take_paused(&mut self, path: &[PathSegment]) -> Vec<TaskPlace> {
        let level = self.level_mut(path);
        let paused = std::mem::take(&mut level.paused);
        let tasks =
            paused.into_iter().filter_map(|task| level.tasks.get(usize::try_from(task).ok()?).cloned());
        tasks.collect()
    }

    /// Returns the namespace of a subgraph; empty for the graph itself.
    pub(crate) fn namespace(&self, path: &[PathSegment]) -> String {
        match path.split_last() {
            None => String::new(),
            Some((last, above)) => self.task(above, last.step, last.task, last.node.as_str()).namespace,
        }
    }

    /// Returns the input of a task: its item, or the state before its superstep.
    pub(crate) fn input(&self, path: &[PathSegment], task: &TaskPlace) -> Value {
        match &task.item {
            Some((item, _)) => item.clone(),
            None => self.values(path).into(),
        }
    }

    /// Returns the metadata of a run's events: its ids and its own entries.
    pub(crate) fn run_metadata(&self) -> Map<String, Value> {
        let mut metadata = self.metadata.clone();
        for (name, value) in [
            ("run_id", &self.run),
            ("thread_id", &self.thread),
            ("graph_id", &self.graph),
            ("assistant_id", &self.assistant),
        ] {
            metadata.insert(name.into(), value.as_str().into());
        }
        metadata
    }

    /// Returns the metadata of a task's events.
    pub(crate) fn task_metadata(&self, task: &TaskPlace) -> Map<String, Value> {
        let mut metadata = self.run_metadata();
        for (name, value) in [
            ("langgraph_step", json!(task.step)),
            ("langgraph_node", json!(task.node)),
            ("langgraph_triggers", task.triggers()),
            ("langgraph_path", task.path()),
            ("langgraph_checkpoint_ns", json!(task.namespace)),
        ] {
            metadata.insert(name.into(), value);
        }
        metadata
    }
}

impl Level {
    fn stored(&mut self, view: &CheckpointView) {
        if let Value::Object(values) = state::values_of(view) {
            self.values = values;
        }
        let items = view.tasks.iter().filter(|task| task.name != "__start__");
        let items = items.filter_map(|task| Some((task.id.clone(), values::outgoing(task.input.as_ref()?))));
        self.inputs = items.enumerate().map(|(position, (id, item))| (id, (item, position))).collect();
    }
}
