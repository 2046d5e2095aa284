//! The barrier as the driver does it: merge, log, store.

use std::boxed::Box;
use std::sync::Arc;
use std::vec::Vec;

use super::attempt::Output;
use super::driver::{AtBarrier, Driver};
use super::error::RunError;
use super::event::EventKind;
use crate::checkpoint::{Checkpoint, Commit, Committed, Frontier, Source, TaskRecord};
use crate::engine::barrier::{self, Conflict, Overwrites};
use crate::engine::restore;
use crate::graph::NodeId;
use crate::id::{CheckpointId, NodeName};
use crate::state::{Change, CodecError, ErasedUpdate, FieldId, Json, LoggedWrite, Op};

impl Driver {
    /// Merges the superstep's writes into the state and stores the checkpoint.
    pub(super) async fn commit(&mut self) -> Result<AtBarrier, RunError> {
        let stored = self.cell.saver.is_some();
        let outputs: Vec<Output> = self
            .slots
            .iter_mut()
            .map(|slot| slot.output.take().unwrap_or_default())
            .collect();
        let mut records = Vec::new();
        let mut updates = Vec::with_capacity(outputs.len());
        let mut lit = Vec::new();
        for (task, output) in (0u32..).zip(outputs) {
            if let Some(update) = output.update {
                self.light(&*update, &mut lit);
                updates.push((task, update));
            }
            if stored {
                records.push((output.writes, output.route));
            }
        }
        let overwrites = match self.overwrites(&updates) {
            Ok(overwrites) => overwrites,
            Err(conflict) => return Ok(AtBarrier::Conflicted(self.conflict(conflict))),
        };
        let changes = self.merge(updates, &records, &overwrites, lit)?;
        let barrier = self.machine.barrier().expect("the machine waits at its barrier");
        let step = barrier.step;
        if !stored {
            self.step = step;
            return Ok(AtBarrier::Passed);
        }
        let checkpoint = self.checkpoint(changes, records)?;
        self.store(checkpoint).await
    }

    fn overwrites(&self, updates: &[(u32, Box<dyn ErasedUpdate>)]) -> Result<Overwrites, Conflict> {
        if updates.len() < 2 {
            return Ok(Overwrites::default());
        }
        let updates: Vec<(u32, &dyn ErasedUpdate)> =
            updates.iter().map(|(task, update)| (*task, &**update)).collect();
        Overwrites::find(&updates, &self.runtime.program.schema)
    }

    /// Notes which fields that live for one superstep are written in this one.
    fn light(&self, update: &dyn ErasedUpdate, lit: &mut Vec<FieldId>) {
        if self.runtime.one_step_fields.is_empty() {
            return;
        }
        let fields = (0..update.len()).map(|index| update.shape(index).0);
        lit.extend(fields.filter(|field| self.runtime.one_step_fields.contains(field)));
    }

    /// Applies the updates, and says what changed when that is stored.
    fn merge(
        &mut self,
        updates: Vec<(u32, Box<dyn ErasedUpdate>)>,
        records: &[(Vec<LoggedWrite>, Option<crate::checkpoint::RouteRecord>)],
        overwrites: &Overwrites,
        lit: Vec<FieldId>,
    ) -> Result<Vec<Change>, RunError> {
        let loop_step = self
            .machine
            .barrier()
            .is_some_and(|barrier| barrier.source == Source::Loop);
        if updates.is_empty() && self.lit.is_empty() && !self.rewrite {
            return Ok(Vec::new());
        }
        if Arc::get_mut(&mut self.state).is_none() {
            self.state = self.state.duplicate();
        }
        let state = Arc::get_mut(&mut self.state).expect("a state that nobody else holds");
        barrier::apply(state, updates, overwrites);
        // An input checkpoint changes nothing, so what was lit before it stays so until START has merged it.
        let dimmed = if loop_step {
            barrier::dim(state, &self.lit, &lit)
        } else {
            Vec::new()
        };
        if loop_step {
            self.lit = lit;
        }
        if self.cell.saver.is_none() {
            return Ok(Vec::new());
        }
        let codec = |reason| RunError::Encode {
            what: "the state".into(),
            reason,
        };
        let writes = (0u32..)
            .zip(records)
            .map(|(task, (writes, _))| (task, writes.as_slice()));
        let mut changes = barrier::changes(&*self.state, writes, overwrites).map_err(codec)?;
        if self.rewrite {
            self.rewrite = false;
            return self.whole().map_err(codec);
        }
        for field in dimmed {
            let ops = std::vec![Op::Set(self.state.encode_field(field).map_err(codec)?)];
            changes.push(Change { field, ops });
        }
        changes.sort_by_key(|change| change.field);
        Ok(changes)
    }

    /// Every stored field, written whole.
    fn whole(&self) -> Result<Vec<Change>, CodecError> {
        let schema = &self.runtime.program.schema;
        let stored = schema
            .ids()
            .filter(|id| schema.field(*id).lifetime != crate::state::Lifetime::Unstored);
        stored
            .map(|field| {
                Ok(Change {
                    field,
                    ops: std::vec![Op::Set(self.state.encode_field(field)?)],
                })
            })
            .collect()
    }

    fn checkpoint(
        &self,
        changes: Vec<Change>,
        records: Vec<(Vec<LoggedWrite>, Option<crate::checkpoint::RouteRecord>)>,
    ) -> Result<Checkpoint, RunError> {
        let program = &self.runtime.program;
        let barrier = self.machine.barrier().expect("the machine waits at its barrier");
        let codec = |reason| RunError::Encode {
            what: "an item of `each`".into(),
            reason,
        };
        let mut frontier =
            restore::store(&program.topology, &barrier.next, self.machine.joins()).map_err(codec)?;
        if barrier.source == Source::Input {
            self.store_input(&mut frontier)?;
        }
        let tasks =
            barrier
                .ran
                .iter()
                .zip(records)
                .zip(&self.slots)
                .map(|((node, (writes, route)), slot)| {
                    let mut targets: Vec<NodeName> = Vec::new();
                    for target in slot.targets.iter().flatten() {
                        if !targets.contains(&target.node) {
                            targets.push(target.node.clone());
                        }
                    }
                    TaskRecord {
                        node: program.topology.node_name(*node).clone(),
                        writes,
                        route,
                        targets,
                    }
                });
        Ok(Checkpoint {
            id: CheckpointId(self.runtime.ambient.id()),
            parent: self.base,
            run: self.cell.run,
            step: barrier.step,
            source: barrier.source,
            schema: self.runtime.schema_fingerprint,
            topology: program.description.topology_fingerprint,
            changes,
            tasks: tasks.collect(),
            frontier,
            metadata: self.metadata.clone(),
        })
    }

    fn store_input(&self, frontier: &mut Frontier) -> Result<(), RunError> {
        let input = self
            .input
            .as_ref()
            .expect("a run that begins with an input has one");
        let start = frontier
            .tasks
            .iter_mut()
            .find(|task| task.node.as_str() == crate::graph::START_NAME);
        let start = start.expect("an input checkpoint leads to START");
        let encoded = Json::encode(&input.writes);
        start.input = Some(encoded.map_err(|reason| RunError::Encode {
            what: "the input".into(),
            reason,
        })?);
        Ok(())
    }

    async fn store(&mut self, checkpoint: Checkpoint) -> Result<AtBarrier, RunError> {
        let saver = self
            .cell
            .saver
            .clone()
            .expect("a checkpoint is built for a saver");
        let (id, step, source) = (checkpoint.id, checkpoint.step, checkpoint.source);
        let commit = Commit {
            thread: self.cell.thread.clone(),
            graph: self.runtime.program.topology.name.clone(),
            expected: self.base,
            checkpoint,
        };
        match saver.commit(commit).await? {
            Committed::New | Committed::Already => {}
            Committed::Adopt(loaded) => return Ok(AtBarrier::Adopted(loaded)),
            Committed::Conflict { .. } => return Ok(AtBarrier::Superseded),
        }
        self.base = Some(id);
        self.step = step;
        self.emit(|driver| {
            let barrier = driver
                .machine
                .barrier()
                .expect("the machine waits at its barrier");
            let name = |node: NodeId| driver.runtime.program.topology.node_name(node).clone();
            let next = barrier.next.iter().map(|task| name(task.node)).collect();
            EventKind::CheckpointSaved {
                id,
                step,
                source,
                next,
            }
        });
        Ok(AtBarrier::Passed)
    }

    fn conflict(&self, conflict: Conflict) -> RunError {
        let program = &self.runtime.program;
        let barrier = self.machine.barrier().expect("the machine waits at its barrier");
        let name = |task: u32| program.topology.node_name(barrier.ran[task as usize]).clone();
        RunError::Conflict {
            step: barrier.step,
            field: program.schema.field(conflict.field).name.clone(),
            first: name(conflict.first),
            second: name(conflict.second),
            overwrites: conflict.overwrites,
        }
    }
}
