//! Reads a document from a file.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, btree_map};

use superstep_core::checkpoint::{CheckpointName, StoreError};
use superstep_core::id::{CheckpointId, ThreadId};

use super::document::{CheckpointPart, Document, ThreadPart, TopologyPart, WorkPart};
use crate::connection::Connection;
use crate::error::corrupt;
use crate::history::branch;
use crate::history::described::{Key, schema_text, topology_part};
use crate::history::rows::{CheckpointRow, ThreadRow};
use crate::pending;
use crate::pending::emitted;
use crate::pending::key::Seen;
use crate::read::named;
use crate::read::reader::{self, Material, Read};
use crate::write::delete::{kept, place};

/// Reads the thread with all its data. Nothing else is read, so damage elsewhere does not matter.
pub(super) fn read(connection: &Connection, thread: &ThreadId) -> Result<Option<Document>, StoreError> {
    if thread.is_below() || ThreadRow::find(connection, thread)?.is_none() {
        return Ok(None);
    }
    Selection::of(connection, thread)?.document(connection).map(Some)
}

/// The parts of a file that belong to a thread.
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
    fn of(connection: &Connection, thread: &ThreadId) -> Result<Self, StoreError> {
        // The remains of a deleted thread of this name do not belong to the thread.
        let mut own = ThreadRow::on_or_below(connection, thread)?;
        own.retain(|row| row.name.before_deletion() == row.name);
        let mut open = Vec::new();
        for row in &own {
            open.push(row.head);
            open.extend(named::of(connection, row.id)?.into_iter().map(|(_, seq)| seq));
            open.extend(branch::of(connection, row.id)?);
        }
        let mut named = Vec::new();
        let mut checkpoints: BTreeMap<i64, i64> = BTreeMap::new();
        let mut continued: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
        while let Some(seq) = open.pop() {
            if checkpoints.contains_key(&seq) {
                continue;
            }
            let row = CheckpointRow::visit(connection, seq, |row, _| Ok(row))?;
            checkpoints.insert(seq, row.thread);
            if let Some(parent) = row.parent {
                continued.entry(parent).or_default().insert(row.thread);
                open.push(parent);
            }
            open.extend(
                kept(connection, place(seq), &mut named)?.into_iter().map(|kept| kept.0.cast_signed()),
            );
        }
        let headed: BTreeSet<i64> = own.iter().map(|row| row.id).chain(named).collect();
        let mut rows: HashMap<i64, ThreadRow> = own.into_iter().map(|row| (row.id, row)).collect();
        for id in headed.iter().chain(checkpoints.values()) {
            if let Entry::Vacant(entry) = rows.entry(*id) {
                entry.insert(ThreadRow::get(connection, *id)?);
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

    fn document(&self, connection: &Connection) -> Result<Document, StoreError> {
        let threads = self.threads.iter().map(|id| {
            let row = self.row(*id)?;
            let head = match self.headed.contains(id) {
                true => Some(head_id(connection, row)?),
                false => None,
            };
            let names = match head {
                Some(_) => self.names(connection, row.id)?,
                None => BTreeMap::new(),
            };
            let (name, graph) = (row.name.before_deletion(), row.graph.as_str().into());
            Ok(ThreadPart { name, graph, head, names })
        });
        let mut document = Document::new(threads.collect::<Result<_, StoreError>>()?);
        let mut material = Material::default();
        for (seq, owner) in &self.checkpoints {
            let Read { row, checkpoint, .. } = reader::checkpoint(connection, *seq, &mut material)?;
            let missing =
                |what| corrupt(format_args!("checkpoint row {seq}"), format_args!("its {what} is missing"));
            if let btree_map::Entry::Vacant(entry) = document.schemas.entry(checkpoint.schema) {
                let text = schema_text(connection, Key::Row(row.schema))?;
                entry.insert(text.ok_or_else(|| missing("schema"))?);
            }
            if let btree_map::Entry::Vacant(entry) = document.topologies.entry(checkpoint.topology) {
                let part = topology_part(connection, Key::Row(row.topology))?;
                let (graph, topology) = part.ok_or_else(|| missing("topology"))?;
                entry.insert(TopologyPart { graph, topology });
            }
            document.checkpoints.push(CheckpointPart {
                thread: self.position(*owner),
                checkpoint,
                emitted: emitted::of(connection, *seq)?,
                work: self.work(connection, *seq, *owner)?,
            });
        }
        Ok(document)
    }

    /// Returns the work of the document's threads on top of a checkpoint: of the threads that continue it, of those
    /// whose head it is, and of the thread on which it was written.
    fn work(&self, connection: &Connection, seq: i64, owner: i64) -> Result<Vec<WorkPart>, StoreError> {
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
            let work = pending::on(connection, Seen { seq, worker, head })?;
            if !work.is_empty() {
                parts.push(WorkPart::of(position, work));
            }
        }
        Ok(parts)
    }

    /// Returns the names of a thread for checkpoints of the document.
    fn names(
        &self,
        connection: &Connection,
        thread: i64,
    ) -> Result<BTreeMap<CheckpointName, CheckpointId>, StoreError> {
        let named = named::of(connection, thread)?.into_iter();
        let named = named.filter(|(_, seq)| self.checkpoints.contains_key(seq));
        let named =
            named.map(|(name, seq)| Ok((name, CheckpointRow::visit(connection, seq, |row, _| Ok(row.id))?)));
        named.collect()
    }

    fn row(&self, id: i64) -> Result<&ThreadRow, StoreError> {
        self.rows.get(&id).ok_or_else(|| corrupt(format_args!("thread row {id}"), "the row is missing"))
    }

    fn position(&self, id: i64) -> usize {
        self.threads.iter().position(|held| *held == id).expect("the threads of all checkpoints are listed")
    }
}

fn head_id(connection: &Connection, row: &ThreadRow) -> Result<CheckpointId, StoreError> {
    CheckpointRow::visit(connection, row.head, |row, _| Ok(row.id))
}
