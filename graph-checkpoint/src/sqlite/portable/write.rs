//! Stores a document.

use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use superstep_core::checkpoint::{Carried, Checkpoint, StoreError};
use superstep_core::id::{CheckpointId, ThreadId};

use crate::history::rows::ThreadRow;
use crate::pending::Seen;
use crate::portable::document::Document;
use crate::portable::plan::{Plan, Row, Taken, Target, missing};
use crate::portable::{Export, ImportTarget};
use crate::sqlite::error::sqlite;
use crate::sqlite::history::branch;
use crate::sqlite::history::changes::{Fields, MAP_EVERY};
use crate::sqlite::history::described::Described;
use crate::sqlite::history::gather::Tails;
use crate::sqlite::history::rows::CheckpointRow;
use crate::sqlite::pending;
use crate::sqlite::pending::emitted;
use crate::sqlite::pending::key::WorkKey;
use crate::sqlite::read::named;
use crate::sqlite::read::reader::{self, Material};
use crate::sqlite::saver::SqliteSaver;
use crate::sqlite::write::cache::WriteCache;
use crate::sqlite::write::commit::insert_thread;
use crate::sqlite::write::insert::{Spot, Versions};
use crate::sqlite::write::queue::Kind;

#[async_trait]
impl ImportTarget for SqliteSaver {
    async fn import(&self, export: Export, name: &ThreadId) -> Result<(), StoreError> {
        let name = name.clone();
        self.write(Kind::Long, move |turn| turn.cache.import(&export.document, &name).map(Ok)).await
    }
}

impl WriteCache {
    /// Stores a document as the thread `name`. Errors are detected before anything is written.
    pub(crate) fn import(&mut self, document: &Document, name: &ThreadId) -> Result<(), StoreError> {
        let plan = Plan::of(self, document, name, self.next_thread()?..)?;
        self.carry_out_import(&plan)?;
        self.forget();
        Ok(())
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
                    Row::Adopted(thread) if self.work(thread, seq)?.is_empty() => thread,
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
                    (plan.renamed(&part.name), head)
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

impl Target for WriteCache {
    fn thread(&self, name: &ThreadId) -> Result<Option<i64>, StoreError> {
        Ok(ThreadRow::find(&self.connection, name)?.map(|row| row.id))
    }

    fn taken(&self, id: CheckpointId) -> Result<Option<Taken>, StoreError> {
        let Some(seq) = CheckpointRow::seq_of(&self.connection, id)? else { return Ok(None) };
        let owner = CheckpointRow::visit(&self.connection, seq, |row, _| Ok(row.thread))?;
        Ok(Some(Taken { seq, owner, name: ThreadRow::get(&self.connection, owner)?.name }))
    }

    fn checkpoint(&self, seq: i64) -> Result<Checkpoint, StoreError> {
        Ok(reader::checkpoint(&self.connection, seq, &mut Material::default())?.checkpoint)
    }

    fn work(&self, thread: i64, seq: i64) -> Result<Carried, StoreError> {
        let head = ThreadRow::get(&self.connection, thread)?.head == seq;
        pending::on(&self.connection, Seen { seq, worker: thread, head })
    }
}
