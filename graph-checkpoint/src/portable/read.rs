//! Selects the parts of a document, and reads them from rows.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, btree_map};

use superstep_core::checkpoint::{Carried, Checkpoint, CheckpointName, Emitted, StoreError};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::state::Json;

use super::document::{CheckpointPart, Document, ThreadPart, TopologyPart, WorkPart};
use crate::error::corrupt;
use crate::history::rows::ThreadRow;
use crate::pending::Seen;

/// The rows from which a document is read, in one snapshot.
pub(crate) trait Rows {
    /// The places of the schema and the topology of a checkpoint.
    type Described;

    /// Returns the rows of a thread and of the threads below it, by name.
    fn on_or_below(&self, thread: &ThreadId) -> Result<Vec<ThreadRow>, StoreError>;

    fn thread(&self, id: i64) -> Result<ThreadRow, StoreError>;

    /// Returns the names of a thread, with the positions of their checkpoints.
    fn names(&self, thread: i64) -> Result<Vec<(CheckpointName, i64)>, StoreError>;

    /// Returns checkpoints that were written on a thread. All others of it are in the pasts of these, of its head, and
    /// of those with names.
    fn ends(&self, thread: i64) -> Result<Vec<i64>, StoreError>;

    fn link(&self, seq: i64) -> Result<Link, StoreError>;

    /// Returns the positions from which the subgraphs continue whose state a checkpoint keeps, and adds the rows of
    /// their threads to `named`.
    fn kept(&self, seq: i64, named: &mut Vec<i64>) -> Result<Vec<i64>, StoreError>;

    fn checkpoint(&self, seq: i64) -> Result<(Checkpoint, Self::Described), StoreError>;

    fn schema(&self, described: &Self::Described) -> Result<Option<Json>, StoreError>;

    /// Returns a topology with the name of its graph.
    fn topology(&self, described: &Self::Described) -> Result<Option<(String, Json)>, StoreError>;

    fn emitted(&self, seq: i64) -> Result<Vec<(u32, Emitted)>, StoreError>;

    fn work(&self, seen: Seen) -> Result<Carried, StoreError>;
}

/// The place of a checkpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) id: CheckpointId,
    pub(crate) parent: Option<i64>,
    pub(crate) thread: i64,
}

/// Reads the thread with all its data. Nothing else is read, so damage elsewhere does not matter.
pub(crate) fn read(rows: &impl Rows, thread: &ThreadId) -> Result<Option<Document>, StoreError> {
    if thread.is_below() {
        return Ok(None);
    }
    let own = rows.on_or_below(thread)?;
    if own.iter().all(|row| row.name != *thread) {
        return Ok(None);
    }
    Selection::of(rows, thread, own)?.document(rows).map(Some)
}

/// The parts that belong to a thread.
struct Selection {
    /// All threads that are related to the document, by their rows.
    rows: HashMap<i64, ThreadRow>,
    /// The rows of the threads in the document, in its order.
    threads: Vec<i64>,
    /// The threads whose heads are in the document.
    headed: BTreeSet<i64>,
    /// The checkpoints, with the threads on which they were written.
    checkpoints: BTreeMap<i64, i64>,
    /// The threads that continue each checkpoint.
    continued: BTreeMap<i64, BTreeSet<i64>>,
}

impl Selection {
    /// `own` are the rows of the thread and of those below it.
    fn of(source: &impl Rows, thread: &ThreadId, mut own: Vec<ThreadRow>) -> Result<Self, StoreError> {
        // The remains of a deleted thread of this name do not belong to the thread.
        own.retain(|row| row.name.before_deletion() == row.name);
        let mut open = Vec::new();
        for row in &own {
            open.push(row.head);
            open.extend(source.names(row.id)?.into_iter().map(|(_, seq)| seq));
            open.extend(source.ends(row.id)?);
        }
        let mut named = Vec::new();
        let mut checkpoints: BTreeMap<i64, i64> = BTreeMap::new();
        let mut continued: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
        while let Some(seq) = open.pop() {
            if checkpoints.contains_key(&seq) {
                continue;
            }
            let link = source.link(seq)?;
            checkpoints.insert(seq, link.thread);
            if let Some(parent) = link.parent {
                continued.entry(parent).or_default().insert(link.thread);
                open.push(parent);
            }
            open.extend(source.kept(seq, &mut named)?);
        }
        let headed: BTreeSet<i64> = own.iter().map(|row| row.id).chain(named).collect();
        let mut rows: HashMap<i64, ThreadRow> = own.into_iter().map(|row| (row.id, row)).collect();
        for id in headed.iter().chain(checkpoints.values()) {
            if let Entry::Vacant(entry) = rows.entry(*id) {
                entry.insert(source.thread(*id)?);
            }
        }
        // The order: the exported thread, then the others by their first checkpoints, then those without checkpoints of
        // their own.
        let root = rows.values().find(|row| row.name == *thread).map(|row| row.id);
        let mut threads: Vec<i64> = Vec::new();
        let mut idle: Vec<i64> = headed.iter().copied().collect();
        idle.sort_by_key(|id| rows.get(id).map(|row| row.name.clone()));
        for id in root.into_iter().chain(checkpoints.values().copied()).chain(idle) {
            if !threads.contains(&id) {
                threads.push(id);
            }
        }
        Ok(Self { rows, threads, headed, checkpoints, continued })
    }

    fn document(&self, source: &impl Rows) -> Result<Document, StoreError> {
        let threads = self.threads.iter().map(|id| {
            let row = self.row(*id)?;
            let head = match self.headed.contains(id) {
                true => Some(source.link(row.head)?.id),
                false => None,
            };
            let names = match head {
                Some(_) => self.names(source, row.id)?,
                None => BTreeMap::new(),
            };
            let (name, graph) = (row.name.before_deletion(), row.graph.as_str().into());
            Ok(ThreadPart { name, graph, head, names })
        });
        let mut document = Document::new(threads.collect::<Result<_, StoreError>>()?);
        for (seq, owner) in &self.checkpoints {
            let (checkpoint, described) = source.checkpoint(*seq)?;
            let missing =
                |what| corrupt(format_args!("checkpoint row {seq}"), format_args!("its {what} is missing"));
            if let btree_map::Entry::Vacant(entry) = document.schemas.entry(checkpoint.schema) {
                entry.insert(source.schema(&described)?.ok_or_else(|| missing("schema"))?);
            }
            if let btree_map::Entry::Vacant(entry) = document.topologies.entry(checkpoint.topology) {
                let (graph, topology) = source.topology(&described)?.ok_or_else(|| missing("topology"))?;
                entry.insert(TopologyPart { graph, topology });
            }
            document.checkpoints.push(CheckpointPart {
                thread: self.position(*owner),
                checkpoint,
                emitted: source.emitted(*seq)?,
                work: self.work(source, *seq, *owner)?,
            });
        }
        Ok(document)
    }

    /// Returns the work of the document's threads on top of a checkpoint: of the threads that continue it, of those
    /// whose head it is, and of the thread on which it was written.
    fn work(&self, source: &impl Rows, seq: i64, owner: i64) -> Result<Vec<WorkPart>, StoreError> {
        let mut workers = self.continued.get(&seq).cloned().unwrap_or_default();
        workers.extend(self.headed.contains(&owner).then_some(owner));
        for id in &self.headed {
            if self.row(*id)?.head == seq {
                workers.insert(*id);
            }
        }
        let mut positions: Vec<(usize, i64)> =
            workers.into_iter().map(|worker| (self.position(worker), worker)).collect();
        positions.sort_unstable();
        let mut parts = Vec::new();
        for (position, worker) in positions {
            let head = self.headed.contains(&worker) && self.row(worker)?.head == seq;
            let work = source.work(Seen { seq, worker, head })?;
            if !work.is_empty() {
                parts.push(WorkPart::of(position, work));
            }
        }
        Ok(parts)
    }

    /// Returns the names of a thread for checkpoints of the document.
    fn names(
        &self,
        source: &impl Rows,
        thread: i64,
    ) -> Result<BTreeMap<CheckpointName, CheckpointId>, StoreError> {
        let named = source.names(thread)?.into_iter();
        let named = named.filter(|(_, seq)| self.checkpoints.contains_key(seq));
        named.map(|(name, seq)| Ok((name, source.link(seq)?.id))).collect()
    }

    fn row(&self, id: i64) -> Result<&ThreadRow, StoreError> {
        self.rows.get(&id).ok_or_else(|| corrupt(format_args!("thread row {id}"), "the row is missing"))
    }

    fn position(&self, id: i64) -> usize {
        self.threads.iter().position(|held| *held == id).expect("the threads of all checkpoints are listed")
    }
}
