//! The threads of the subgraphs that the tasks of a thread ran.

use std::collections::{BTreeSet, HashMap};

use superstep_core::checkpoint::{EffectRecord, StoreError};
use superstep_core::id::{CheckpointId, NodeName, TaskId, ThreadId};

use crate::connection::Connection;
use crate::error::sqlite;
use crate::history::decode::{self, Planned};
use crate::history::rows::{CheckpointRow, ThreadRow};
use crate::pending;
use crate::pending::key::Seen;

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

/// Returns the subgraphs that tasks of a thread ran, in the order of their numbers, except those whose plans were
/// pruned.
pub(crate) fn subgraphs(connection: &Connection, thread: &ThreadId) -> Result<Vec<Subgraph>, StoreError> {
    // The remains of a deleted thread of this name also belong to its past.
    let all = ThreadRow::on_or_below(connection, thread)?;
    let (own, mut below): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|row| row.name.before_deletion() == *thread);
    below.retain(|row| row.name.above().as_ref() == Some(thread));
    if below.is_empty() {
        return Ok(Vec::new());
    }
    let mut bases = BTreeSet::new();
    let mut links = HashMap::new();
    for row in &own {
        add_bases(connection, row, &mut bases)?;
        add_links(connection, row, &mut links)?;
    }
    let mut finding = Finding::new(thread, below.into_iter().map(|row| row.name).collect(), links);
    for seq in bases {
        CheckpointRow::visit(connection, seq, |row, manifest| {
            finding.learn(row.id, row.step, decode::planned(manifest)?);
            Ok(())
        })?;
    }
    Ok(finding.found())
}

/// Adds the checkpoints on which the thread may have planned tasks: its own, those that they continue, and its head.
fn add_bases(
    connection: &Connection,
    thread: &ThreadRow,
    bases: &mut BTreeSet<i64>,
) -> Result<(), StoreError> {
    let mut own = connection
        .prepare_cached("SELECT seq, parent FROM checkpoint WHERE thread = ? ORDER BY seq")
        .map_err(sqlite)?;
    let mut rows = own.query([thread.id]).map_err(sqlite)?;
    bases.insert(thread.head);
    while let Some(row) = rows.next().map_err(sqlite)? {
        bases.insert(row.get(0).map_err(sqlite)?);
        bases.extend(row.get::<_, Option<i64>>(1).map_err(sqlite)?);
    }
    Ok(())
}

/// Adds the threads of the subgraphs of tasks that edits planned again.
fn add_links(
    connection: &Connection,
    thread: &ThreadRow,
    links: &mut HashMap<TaskId, ThreadId>,
) -> Result<(), StoreError> {
    let mut all = connection
        .prepare_cached("SELECT DISTINCT base FROM effect WHERE thread = ? AND substr(name, 1, 1) = char(31)")
        .map_err(sqlite)?;
    let linking = all.query_map([thread.id], |row| row.get(0)).map_err(sqlite)?;
    for seq in linking {
        let seq = seq.map_err(sqlite)?;
        let effects = pending::effect::on(connection, Seen { seq, worker: thread.id, head: true })?;
        let named = |effect: &EffectRecord| Some((effect.id.task, effect.subgraph()?));
        links.extend(effects.iter().filter_map(named));
    }
    Ok(())
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
