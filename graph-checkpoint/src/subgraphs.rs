//! The subgraphs that the tasks of a thread ran.

use std::collections::{BTreeSet, HashMap};

use superstep_core::id::{CheckpointId, NodeName, TaskId, ThreadId};

use crate::history::decode::Planned;

/// A subgraph that a task of a thread has run, on a thread of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Subgraph {
    /// The thread of the subgraph.
    pub thread: ThreadId,
    /// The node whose task runs it.
    pub node: NodeName,
    /// The number of this run, from 1, among the node's runs on the thread above that are in the file. Runs are
    /// numbered in the order in which they were planned, and within a superstep in the order of their tasks.
    pub number: usize,
    /// The key under which its state is kept, if it is.
    pub key: Option<String>,
    /// The checkpoint on which its task was planned. An edit plans the task again.
    pub planned_on: CheckpointId,
    /// The position of the task in its superstep.
    pub position: u32,
}

/// The subgraphs of a thread, as the checkpoints with their plans are read.
pub(crate) struct Finding<'t> {
    thread: &'t ThreadId,
    /// The threads below it.
    wanted: BTreeSet<ThreadId>,
    links: HashMap<TaskId, ThreadId>,
    found: Vec<Subgraph>,
    /// The indexes in `found`.
    at: HashMap<ThreadId, usize>,
    keys: HashMap<ThreadId, String>,
    /// The number of subgraphs that were found for each node.
    counts: HashMap<NodeName, usize>,
}

impl<'t> Finding<'t> {
    /// `wanted` are the threads directly below it, and `links` those of tasks that edits planned again.
    pub(crate) fn new(
        thread: &'t ThreadId,
        wanted: BTreeSet<ThreadId>,
        links: HashMap<TaskId, ThreadId>,
    ) -> Self {
        let (found, at, keys) = (Vec::new(), HashMap::new(), HashMap::new());
        Self { thread, wanted, links, found, at, keys, counts: HashMap::new() }
    }

    /// Returns the subgraphs that were found.
    pub(crate) fn found(mut self) -> Vec<Subgraph> {
        self.found.iter_mut().for_each(|subgraph| subgraph.key = self.keys.remove(&subgraph.thread));
        self.found
    }

    /// Records the subgraphs that the tasks planned on a checkpoint run, and the keys of those whose state is kept
    /// there. The checkpoints come from older to newer.
    pub(crate) fn learn(&mut self, base: CheckpointId, step: i64, Planned { tasks, kept }: Planned) {
        self.keys.extend(kept.into_iter().map(|kept| (kept.thread, kept.key)));
        for (position, task) in (0..).zip(tasks) {
            let id = task.id(base, step);
            let thread = self.links.get(&id).cloned().unwrap_or_else(|| self.thread.below(id));
            if !self.wanted.contains(&thread) {
                continue;
            }
            if let Some(at) = self.at.get(&thread) {
                let known = &mut self.found[*at];
                (known.planned_on, known.position) = (base, position);
                continue;
            }
            self.at.insert(thread.clone(), self.found.len());
            let node = task.node;
            let count = self.counts.entry(node.clone()).or_insert(0);
            *count += 1;
            let number = *count;
            self.found.push(Subgraph { thread, node, number, key: None, planned_on: base, position });
        }
    }
}
