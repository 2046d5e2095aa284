//! Stores a document.

use std::collections::{HashMap, HashSet};

use superstep_core::checkpoint::{Carried, Checkpoint, EffectRecord, StoreError, TaskResult};
use superstep_core::id::{CheckpointId, ThreadId};

use super::document::{CheckpointPart, Document, ThreadPart, WorkPart};
use crate::error::{corrupt, sqlite};
use crate::history::branch;
use crate::history::described::Described;
use crate::history::gather::Tails;
use crate::history::manifest::{Fields, MAP_EVERY};
use crate::history::rows::{CheckpointRow, ThreadRow};
use crate::pending;
use crate::pending::emitted;
use crate::pending::key::{Seen, WorkKey};
use crate::read::named;
use crate::read::reader::{self, Material};
use crate::write::cache::WriteCache;
use crate::write::commit::insert_thread;
use crate::write::insert::{Spot, Versions};

impl WriteCache {
    /// Stores a document as the thread `name`. Errors are detected before anything is written.
    pub(crate) fn import(&mut self, document: &Document, name: &ThreadId) -> Result<(), StoreError> {
        let plan = self.plan_import(document, name)?;
        self.carry_out_import(&plan)?;
        self.forget();
        Ok(())
    }

    fn plan_import<'d>(&self, document: &'d Document, name: &'d ThreadId) -> Result<Plan<'d>, StoreError> {
        let mut rows = Vec::with_capacity(document.threads.len());
        for (next, part) in (self.next_thread()?..).zip(&document.threads) {
            let held = match part.head {
                Some(_) => ThreadRow::find(&self.connection, &renamed(&part.name, document, name))?,
                None => None,
            };
            rows.push(match held {
                // A subgraph's thread may have been imported as the past of another one, without the thread above it.
                Some(held) if document.is_own(part) && held.name.is_below() => Row::Adopted(held.id),
                Some(held) if document.is_own(part) => return Err(StoreError::ThreadExists(held.name)),
                Some(held) => Row::Held(held.id),
                None => Row::New(next),
            });
        }
        let mut plan = Plan { document, name, rows, held: HashMap::new() };
        for part in &document.checkpoints {
            let id = part.checkpoint.id;
            let Some(seq) = CheckpointRow::seq_of(&self.connection, id)? else {
                if let Row::Held(_) = plan.rows[part.thread] {
                    return Err(StoreError::ThreadExists(document.threads[part.thread].name.clone()));
                }
                continue;
            };
            // A shared checkpoint may have been imported with another thread.
            let owner = CheckpointRow::visit(&self.connection, seq, |row, _| Ok(row.thread))?;
            let name = ThreadRow::get(&self.connection, owner)?.name;
            let is_remnant = name.before_deletion() != name;
            let is_left = is_remnant || self.is_orphan(&name)?;
            if !is_left && document.is_own(&document.threads[part.thread]) {
                return Err(StoreError::CheckpointExists(id));
            }
            let held = reader::checkpoint(&self.connection, seq, &mut Material::default())?;
            if held.checkpoint != plan.checkpoint(part) {
                return Err(StoreError::CheckpointDiffers(id));
            }
            plan.held.insert(id, seq);
            if is_remnant
                && !plan.rows.contains(&Row::Adopted(owner))
                && matches!(plan.rows[part.thread], Row::New(_))
            {
                plan.rows[part.thread] = Row::Adopted(owner);
            }
        }
        for part in &document.checkpoints {
            for work in &part.work {
                if let (Row::Adopted(thread), Some(seq)) =
                    (plan.rows[work.thread], plan.held.get(&part.checkpoint.id))
                {
                    let held = self.work_at(thread, *seq)?;
                    if !held.is_empty() && held != plan.work(work) {
                        return Err(StoreError::CheckpointDiffers(part.checkpoint.id));
                    }
                }
            }
        }
        // A thread that only contributes a shared past is not needed if all of that already exists.
        for (position, row) in plan.rows.iter_mut().enumerate() {
            let mut own = document.checkpoints.iter().filter(|part| part.thread == position);
            if document.threads[position].head.is_none()
                && own.all(|part| plan.held.contains_key(&part.checkpoint.id))
            {
                *row = Row::None;
            }
        }
        Ok(plan)
    }

    /// Returns `true` if this is the thread of a subgraph whose root does not exist: it is kept only for the threads
    /// that continue from it.
    fn is_orphan(&self, thread: &ThreadId) -> Result<bool, StoreError> {
        let mut root = thread.clone();
        while let Some(above) = root.above() {
            root = above;
        }
        Ok(root != *thread && ThreadRow::find(&self.connection, &root)?.is_none())
    }

    /// Returns the stored work of a thread on a checkpoint.
    fn work_at(&self, thread: i64, seq: i64) -> Result<Carried, StoreError> {
        let head = ThreadRow::get(&self.connection, thread)?.head == seq;
        pending::on(&self.connection, Seen { seq, worker: thread, head })
    }

    fn carry_out_import(&mut self, plan: &Plan<'_>) -> Result<(), StoreError> {
        for (fingerprint, text) in &plan.document.schemas {
            Described::Schema { text: text.as_str() }.keep(&self.connection, *fingerprint)?;
        }
        for (fingerprint, part) in &plan.document.topologies {
            let topology = Described::Topology { graph: &part.graph, text: part.topology.as_str() };
            topology.keep(&self.connection, *fingerprint)?;
        }
        let mut seqs = plan.held.clone();
        // The newest checkpoint of each thread that was written by this import.
        let mut newest: HashMap<usize, i64> = HashMap::new();
        let mut last: Option<Last> = None;
        let first = self.last_seq + 1;
        for part in &plan.document.checkpoints {
            let id = part.checkpoint.id;
            let seq = match seqs.get(&id) {
                Some(seq) => *seq,
                None => {
                    let seq = self.last_seq + 1;
                    let parent = match part.checkpoint.parent {
                        Some(parent) => Some(*seqs.get(&parent).ok_or_else(|| missing(parent))?),
                        None => None,
                    };
                    let thread = plan.rows[part.thread].id();
                    let thread = thread.expect("a thread on which something is written has a row");
                    let at = Written { seq, parent, thread };
                    last = Some(self.write(&plan.checkpoint(part), at, last)?);
                    emitted::keep(&self.connection, seq, &part.emitted)?;
                    self.last_seq = seq;
                    seqs.insert(id, seq);
                    newest.insert(part.thread, seq);
                    seq
                }
            };
            for work in &part.work {
                let thread = match plan.rows[work.thread] {
                    Row::New(thread) => thread,
                    Row::Adopted(thread) if self.work_at(thread, seq)?.is_empty() => thread,
                    _ => continue,
                };
                pending::carry(&self.connection, WorkKey { thread, base: seq }, &plan.work(work))?;
            }
            CheckpointRow::locate(&self.connection, seq)?;
        }
        for (position, part) in plan.document.threads.iter().enumerate() {
            let (Row::New(row) | Row::Adopted(row)) = plan.rows[position] else { continue };
            let (name, head) = match part.head {
                Some(head) => {
                    let head = *seqs.get(&head).ok_or_else(|| missing(head))?;
                    (renamed(&part.name, plan.document, plan.name), head)
                }
                // For a thread that only contributes a shared past, only that past is stored, as for a deleted thread.
                None => match newest.get(&position) {
                    Some(head) => (part.name.remnant(head.cast_unsigned()), *head),
                    None => continue,
                },
            };
            match plan.rows[position] {
                Row::Adopted(_) => {
                    let found = ThreadRow::get(&self.connection, row)?;
                    found.rename(&self.connection, &name, head)?;
                }
                _ => insert_thread(&self.connection, row, &name, part.graph.as_str(), head)?,
            }
            for (name, id) in &part.names {
                let seq = *seqs.get(id).ok_or_else(|| missing(*id))?;
                if named::find(&self.connection, row, name)?.is_none() {
                    named::keep(&self.connection, row, name, seq)?;
                }
            }
        }
        // A thread that existed for others already has some of the checkpoints.
        let is_adopted = plan.rows.iter().any(|row| matches!(row, Row::Adopted(_)));
        let written: HashSet<i64> = plan.rows.iter().filter_map(|row| row.written()).collect();
        branch::find(&self.connection, if is_adopted { 0 } else { first }, |thread| written.contains(&thread))
    }

    /// Writes a checkpoint's row. `last` is the checkpoint that was written before it, usually its parent.
    fn write(
        &mut self,
        checkpoint: &Checkpoint,
        at: Written,
        last: Option<Last>,
    ) -> Result<Last, StoreError> {
        let (schema_row, schema) = self.schema(checkpoint.schema)?;
        let topology = self.topology(checkpoint.topology)?;
        let base = match (at.parent, last) {
            (None, _) => Versions {
                schema: None,
                fields: Fields::new(),
                since_map: MAP_EVERY,
                tails: Tails::default(),
                size: None,
            },
            (Some(parent), Some(last)) if last.seq == parent => last.versions,
            (Some(parent), _) => {
                let (fields, since_map) = reader::fields_at(&self.connection, parent)?;
                let read = reader::checkpoint(&self.connection, parent, &mut Material::default())?;
                Versions {
                    schema: Some(read.checkpoint.schema),
                    fields,
                    since_map,
                    tails: Tails::default(),
                    size: None,
                }
            }
        };
        let spot = Spot { seq: at.seq, parent: at.parent, thread: at.thread, schema: schema_row, topology };
        let base = self.carried(base, checkpoint.schema, &schema)?;
        let versions = self.put(checkpoint, &spot, base)?.map_err(sqlite)?;
        Ok(Last { seq: at.seq, versions })
    }
}

/// The plan of an import.
struct Plan<'d> {
    document: &'d Document,
    /// The new name of the thread.
    name: &'d ThreadId,
    /// The rows of the document's threads.
    rows: Vec<Row>,
    /// The checkpoints that are already in the file.
    held: HashMap<CheckpointId, i64>,
}

/// The row of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    New(i64),
    /// The thread already exists completely.
    Held(i64),
    /// The thread existed only for the threads that share its past, and becomes complete.
    Adopted(i64),
    /// Nothing is written for the thread.
    None,
}

impl Row {
    /// Returns the row of a thread that is created or completed.
    fn written(self) -> Option<i64> {
        match self {
            Self::New(id) | Self::Adopted(id) => Some(id),
            Self::Held(_) | Self::None => None,
        }
    }

    fn id(self) -> Option<i64> {
        match self {
            Self::New(id) | Self::Held(id) | Self::Adopted(id) => Some(id),
            Self::None => None,
        }
    }
}

/// The position of a checkpoint's row.
struct Written {
    seq: i64,
    parent: Option<i64>,
    thread: i64,
}

/// The checkpoint that was written last, with its versions.
struct Last {
    seq: i64,
    versions: Versions,
}

impl Plan<'_> {
    fn renames(&self) -> bool {
        self.document.root().name != *self.name
    }

    fn checkpoint(&self, part: &CheckpointPart) -> Checkpoint {
        let mut checkpoint = part.checkpoint.clone();
        if self.renames() {
            for kept in &mut checkpoint.frontier.kept {
                kept.thread = renamed(&kept.thread, self.document, self.name);
            }
        }
        checkpoint
    }

    fn work(&self, part: &WorkPart) -> Carried {
        let mut work = part.carried();
        if self.renames() {
            let kept = |result: &mut TaskResult| {
                if let Some(kept) = &mut result.kept {
                    kept.thread = renamed(&kept.thread, self.document, self.name);
                }
            };
            work.results.iter_mut().for_each(kept);
            let linked = |effect: EffectRecord| match effect.subgraph() {
                Some(thread) => effect.with_subgraph(&renamed(&thread, self.document, self.name)),
                None => effect,
            };
            work.effects = work.effects.into_iter().map(linked).collect();
        }
        work
    }
}

/// Returns the name of a document's thread once the document's root thread is called `name`.
fn renamed(thread: &ThreadId, document: &Document, name: &ThreadId) -> ThreadId {
    let ThreadPart { name: root, .. } = document.root();
    match thread.as_str().strip_prefix(root.as_str()) {
        Some(below) if thread.is_on_or_below(root) => format!("{name}{below}").into(),
        _ => thread.clone(),
    }
}

fn missing(id: CheckpointId) -> StoreError {
    corrupt("the export", format_args!("checkpoint {id} is missing"))
}
