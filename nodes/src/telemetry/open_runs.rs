//! Runs that are under way, as far as metrics go.

use std::collections::{BTreeMap, HashMap};

use superstep_core::id::{NodeName, RunId};
use superstep_core::run::PathSegment;

use super::signal::Signal;

/// The maximum number of runs that are remembered: a run that is dropped has no end that could be observed.
const MOST: usize = 4_096;

/// The runs that have begun and not ended; of too many, the latest.
#[derive(Debug, Default)]
pub(super) struct OpenRuns(BTreeMap<RunId, OpenRun>);

/// A run that is under way.
#[derive(Debug)]
pub(super) struct OpenRun {
    pub(super) graph: String,
    pub(super) began_ms: u64,
    tasks: HashMap<TaskKey, OpenTask>,
    /// The loops of the graph and of its subgraphs, by their place.
    loops: HashMap<Vec<PathSegment>, Loop>,
}

/// A task of a run: where its graph is, its superstep and its position.
pub(super) type TaskKey = (Vec<PathSegment>, i64, u32);

/// An attempt of a task that is under way.
pub(super) struct OpenTask {
    pub(super) node: NodeName,
    pub(super) began_ms: u64,
    /// The time spent waiting for models.
    pub(super) model_ms: u64,
    /// The signals of the attempt. They count when it finishes: an attempt that fails or pauses is made again, and
    /// emits them again.
    pub(super) signals: Vec<Signal>,
}

/// The state of a loop of responses, verifications and refinements.
#[derive(Debug, Default)]
pub(super) struct Loop {
    pub(super) is_verified: bool,
    pub(super) refinements: u32,
    pub(super) refining: Option<Refining>,
    /// The number of messages at the last response.
    pub(super) length: Option<u64>,
}

/// A refinement whose response is not verified yet.
#[derive(Debug)]
pub(super) struct Refining {
    pub(super) began_ms: u64,
    pub(super) score_before: Option<f64>,
}

impl OpenRuns {
    pub(super) fn begin(&mut self, run: RunId, graph: &NodeName, at_ms: u64) {
        while self.0.len() >= MOST {
            // Ids of runs begin with their time.
            self.0.pop_first();
        }
        let run_of = OpenRun {
            graph: graph.to_string(),
            began_ms: at_ms,
            tasks: HashMap::new(),
            loops: HashMap::new(),
        };
        self.0.insert(run, run_of);
    }

    pub(super) fn get(&mut self, run: RunId) -> Option<&mut OpenRun> {
        self.0.get_mut(&run)
    }

    pub(super) fn end(&mut self, run: RunId) -> Option<OpenRun> {
        self.0.remove(&run)
    }
}

impl OpenRun {
    pub(super) fn begin_task(&mut self, key: TaskKey, node: &NodeName, at_ms: u64) {
        let task = OpenTask { node: node.clone(), began_ms: at_ms, model_ms: 0, signals: Vec::new() };
        self.tasks.insert(key, task);
    }

    pub(super) fn task(&mut self, key: &TaskKey) -> Option<&mut OpenTask> {
        self.tasks.get_mut(key)
    }

    pub(super) fn end_task(&mut self, key: &TaskKey) -> Option<OpenTask> {
        self.tasks.remove(key)
    }

    pub(super) fn loop_at(&mut self, path: &[PathSegment]) -> &mut Loop {
        self.loops.entry(path.to_vec()).or_default()
    }

    pub(super) fn into_loops(self) -> impl Iterator<Item = Loop> {
        self.loops.into_values()
    }
}

impl std::fmt::Debug for OpenTask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenTask").field("node", &self.node).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_never_end_are_forgotten_one_day() {
        let mut runs = OpenRuns::default();
        let graph = NodeName::from("g");
        let id = |number: usize| -> RunId {
            serde_json::from_value(format!("00000000-0000-7000-8000-{number:012}").into()).unwrap()
        };
        for number in 0..=MOST {
            runs.begin(id(number), &graph, 0);
        }
        assert!(runs.get(id(0)).is_none() && runs.get(id(1)).is_some() && runs.get(id(MOST)).is_some());
    }
}
