//! Checks the tables other than that of the checkpoints.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;
use superstep_core::checkpoint::StoreError;
use superstep_core::id::{CheckpointId, NodeName};
use superstep_core::store::AccessError;
use uuid::Uuid;

use super::checkpoints::Referred;
use super::known::{SegmentState, read};
use super::{Check, Finding, Unused, problem};
use crate::error::corrupt;
use crate::history::manifest::Bodies;
use crate::history::rows::ThreadRow;
use crate::sqlite::history::described::{Key, schema, topology_text};
use crate::sqlite::history::locator::LOCATE_EVERY;
use crate::sqlite::history::long_texts::{BODY_BYTES, BodyTable};
use crate::sqlite::history::segment::Segment;
use crate::sqlite::pending::ask;
use crate::sqlite::pending::effect;
use crate::sqlite::pending::emitted;
use crate::sqlite::pending::key::{Visit, WorkKey};
use crate::sqlite::pending::results;
use crate::sqlite::read::named;
use crate::sqlite::store;
use crate::sqlite::write::lease;

/// The names of a graph's nodes.
#[derive(Deserialize)]
struct Nodes {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    name: NodeName,
}

impl Check<'_> {
    fn ids(&mut self, table: &'static str) -> Vec<i64> {
        let sql = format!("SELECT id FROM {table} ORDER BY id");
        self.findings.guard(table, || read(self.connection, &sql, |row| row.get(0)))
    }

    /// Checks schemas and topologies.
    pub(super) fn described(&mut self) {
        let gone = || corrupt("the row", "the row is missing");
        for id in self.ids("schema") {
            self.counts.schemas += 1;
            match schema(self.connection, Key::Row(id)).and_then(|found| found.ok_or_else(gone)) {
                Ok((_, _, schema)) => drop(self.known.schemas.insert(id, schema)),
                Err(error) => self.findings.add("schema", Some(id), problem(error)),
            }
        }
        for id in self.ids("topology") {
            self.counts.topologies += 1;
            let text = topology_text(self.connection, Key::Row(id)).and_then(|found| found.ok_or_else(gone));
            let nodes = text.and_then(|text| {
                let parsed: Result<Nodes, _> = text.decode();
                parsed.map_err(|error| corrupt("the row", error))
            });
            match nodes {
                Ok(Nodes { nodes }) => {
                    let names = nodes.into_iter().map(|node| node.name).collect();
                    self.known.topologies.insert(id, names);
                }
                Err(error) => self.findings.add("topology", Some(id), problem(error)),
            }
        }
    }

    /// Checks the segments, each with all its operations.
    pub(super) fn segments(&mut self) {
        for id in self.ids("segment") {
            self.counts.segments += 1;
            let bodies = Referred { there: &self.known.bodies, used: (&mut self.used).into() };
            let sound = Segment::find(self.connection, id).and_then(|segment| {
                segment.check(&bodies)?;
                Ok((segment.ends.len() + segment.text.len() + segment.whole.map_or(0, |whole| whole.len()))
                    as u64)
            });
            let sound = self.ignore_unopened(sound).map(Option::unwrap_or_default);
            let (is_sound, bytes) = (sound.is_ok(), *sound.as_ref().unwrap_or(&0));
            if let Err(error) = sound {
                self.findings.add("segment", Some(id), problem(error));
            }
            self.known.segments.insert(id, SegmentState { is_sound, is_used: false, bytes });
        }
    }

    /// Checks threads, and the locations of their heads.
    pub(super) fn threads(&mut self) {
        for id in self.ids("thread") {
            self.counts.threads += 1;
            let name = self.known.threads.get(&id).cloned();
            let (checkpoint, problem) = match ThreadRow::get(self.connection, id) {
                Err(error) => (None, problem(error)),
                Ok(row) => match self.known.checkpoints.get(&row.head) {
                    Some(head) if head.thread != 0 => continue,
                    _ => (None, format!("its head, checkpoint row {}, is missing", row.head)),
                },
            };
            self.findings.0.push(Finding {
                table: "thread",
                row: Some(id),
                thread: name,
                checkpoint,
                problem,
            });
        }
    }

    /// Checks the index on ids: its entries, and missing ones.
    pub(super) fn locators(&mut self) {
        let rows = self.findings.guard("locator", || {
            read(self.connection, "SELECT id, seq FROM locator", |row| {
                let id: [u8; 16] = row.get(0)?;
                Ok((CheckpointId(Uuid::from_bytes(id)), row.get::<_, i64>(1)?))
            })
        });
        let mut located = HashSet::new();
        for (id, seq) in rows.into_iter().filter(|(id, _)| !id.0.is_nil()) {
            match self.known.checkpoints.get(&seq) {
                Some(known) if known.id == id => drop(located.insert(seq)),
                other => {
                    let problem = match other {
                        Some(_) => format!("it names checkpoint row {seq}, which is another one"),
                        None => format!("it names checkpoint row {seq}, which is missing"),
                    };
                    self.findings.0.push(Finding {
                        table: "locator",
                        row: None,
                        thread: None,
                        checkpoint: Some(id),
                        problem,
                    });
                }
            }
        }
        let last = self.known.checkpoints.keys().next_back().copied().unwrap_or(0);
        let entered = self.known.checkpoints.range(..=last / LOCATE_EVERY * LOCATE_EVERY);
        let lost: Vec<i64> = entered
            .filter(|(seq, known)| known.thread != 0 && !located.contains(*seq))
            .map(|(seq, _)| *seq)
            .collect();
        for seq in lost {
            self.found("checkpoint", seq, seq, "it is not in the locator, so it cannot be found by its id");
        }
    }

    /// Checks results, questions, effects, and emitted events.
    pub(super) fn work(&mut self) {
        self.counts.pending = self.on_top("pending", results::check);
        self.counts.asks = self.on_top("ask", ask::check);
        self.counts.effects = self.on_top("effect", effect::check);
        let mut rows = Vec::new();
        self.findings.guard("emitted", || {
            emitted::check(self.connection, |id, seq, sound| rows.push((id, seq, sound)))
        });
        for (id, seq, sound) in rows {
            self.counts.emitted += 1;
            match self.ignore_unopened(sound).map(drop) {
                Err(error) => self.found("emitted", id, seq, problem(error)),
                Ok(()) if !self.is_checkpoint(seq) => {
                    let problem = format!("it belongs to checkpoint row {seq}, which is missing");
                    self.found("emitted", id, seq, problem);
                }
                Ok(()) => {}
            }
        }
    }

    /// Checks the leases.
    pub(super) fn leases(&mut self) {
        let mut rows = Vec::new();
        self.findings.guard("lease", || {
            lease::visit(self.connection, |fence, lease| {
                rows.push((fence, lease));
                Ok(())
            })
        });
        for (fence, lease) in rows {
            self.counts.leases += 1;
            if let Err(error) = lease {
                self.findings.add("lease", Some(fence), problem(error));
            }
        }
    }

    /// Checks the names of checkpoints.
    pub(super) fn names(&mut self) {
        let mut rows = Vec::new();
        self.findings.guard("named", || {
            named::check(self.connection, |id, thread, seq, sound| rows.push((id, thread, seq, sound)))
        });
        for (id, thread, seq, sound) in rows {
            self.counts.names += 1;
            match sound {
                Err(error) => self.found("named", id, seq, problem(error)),
                Ok(()) if !self.known.threads.contains_key(&thread) => {
                    let problem = format!("it belongs to thread row {thread}, which is missing");
                    self.found("named", id, seq, problem);
                }
                Ok(()) if !self.is_checkpoint(seq) => {
                    self.found("named", id, seq, format!("it names checkpoint row {seq}, which is missing"));
                }
                Ok(()) => {}
            }
        }
    }

    pub(super) fn is_checkpoint(&self, seq: i64) -> bool {
        self.known.checkpoints.get(&seq).is_some_and(|known| known.thread != 0)
    }

    fn on_top(
        &mut self,
        table: &'static str,
        check: impl FnOnce(&crate::sqlite::connection::Connection, &mut Visit<'_>) -> Result<(), StoreError>,
    ) -> u64 {
        let mut rows = Vec::new();
        let connection = self.connection;
        self.findings
            .guard(table, || check(connection, &mut |id, place, sound| rows.push((id, place, sound))));
        let count = rows.len() as u64;
        for (id, WorkKey { thread, base }, sound) in rows {
            let thread_name = self.known.threads.get(&thread).cloned();
            let problem = match self.ignore_unopened(sound).map(drop) {
                Err(error) => problem(error),
                Ok(()) if thread_name.is_none() => {
                    format!("it belongs to thread row {thread}, which is missing")
                }
                Ok(()) if !self.is_checkpoint(base) => {
                    format!("it stands on checkpoint row {base}, which is missing")
                }
                Ok(()) => continue,
            };
            let checkpoint = self.known.checkpoints.get(&base).map(|known| known.id);
            self.findings.0.push(Finding { table, row: Some(id), thread: thread_name, checkpoint, problem });
        }
        count
    }

    /// Checks the entries of the store, if the file has one.
    pub(super) fn items(&mut self) {
        let mut rows = Vec::new();
        let read = store::check(self.connection, |id, problem| rows.push((id, problem)));
        if let Err(error) = read {
            self.findings.add("item", None, format_args!("it cannot be read: {error}"));
        }
        for (id, damage) in rows {
            self.counts.items += 1;
            match damage {
                None => {}
                Some(AccessError::Damaged { place, reason }) => {
                    self.findings.add("item", Some(id), format_args!("{place}: {reason}"));
                }
                Some(other) => self.findings.add("item", Some(id), other),
            }
        }
    }

    /// Checks the long texts; returns those that nothing refers to.
    pub(super) fn unused(&mut self) -> Unused {
        let mut unused = Unused::default();
        let is_unused = |segment: &&SegmentState| segment.is_sound && !segment.is_used;
        let is_told = !self.connection.is_unopened();
        for segment in self.known.segments.values().filter(is_unused).filter(|_| is_told) {
            unused.segments += 1;
            unused.bytes += segment.bytes;
        }
        let sizes: BTreeMap<i64, u64> = self
            .findings
            .guard("body", || {
                read(self.connection, BODY_BYTES, |row| {
                    Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()))
                })
            })
            .into_iter()
            .collect();
        for (id, bytes) in sizes {
            self.counts.bodies += 1;
            let found = BodyTable(self.connection).find(id);
            if let Err(error) = self.ignore_unopened(found) {
                self.findings.add("body", Some(id), problem(error));
            }
            if !self.used.contains(&id) && !self.connection.is_unopened() {
                unused.bodies += 1;
                unused.bytes += bytes;
            }
        }
        unused
    }
}
