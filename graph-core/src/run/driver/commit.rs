//! The driver's part of the barrier: merges, logs and stores a superstep.

use std::boxed::Box;
use std::cell::Cell;
use std::sync::Arc;
use std::vec::Vec;

use super::drive::Driver;
use super::slot::Slot;
use crate::checkpoint::{At, Checkpoint, Commit, Committed, Frontier, Kept, Source, TaskRecord};
use crate::engine::barrier::{self, Conflict, Overwrites};
use crate::engine::{Barrier, Event, restore};
use crate::graph::NodeId;
use crate::id::{CheckpointId, NodeName};
use crate::node::Record;
use crate::run::runtime::error::RunError;
use crate::run::runtime::event::EventKind;
use crate::run::runtime::outcome::InputStatus;
use crate::state::{Change, CodecError, ErasedUpdate, FieldId, Json, Op, caught};
use tokio_util::sync::CancellationToken;

impl Driver {
    /// Merges and stores a superstep, and reports the outcome to the machine.
    pub(crate) async fn commit(&mut self, barrier: Box<Barrier>) -> Result<(), RunError> {
        let committed = match self.merge_superstep(&barrier) {
            Ok(None) => Committed::New,
            Ok(Some(checkpoint)) => self.store(checkpoint, barrier.is_last()).await?,
            Err(error) => {
                self.unmergeable = Some(error);
                self.machine.handle(Event::Unmergeable(barrier));
                return Ok(());
            }
        };
        let is_stored = matches!(committed, Committed::New | Committed::Already);
        if is_stored {
            self.stored(&barrier);
            if self.stops.drain.as_ref().is_some_and(CancellationToken::is_cancelled) {
                self.machine.handle(Event::Drain);
            }
        }
        self.machine.handle(Event::Committed(barrier, committed));
        if is_stored {
            self.next_superstep().await;
        }
        Ok(())
    }

    /// Merges the superstep's writes into the state, and creates the checkpoint to store, if there is a saver.
    fn merge_superstep(&mut self, barrier: &Barrier) -> Result<Option<Arc<Checkpoint>>, RunError> {
        let overwrites = match self.superstep.slots.len() {
            0 | 1 => Overwrites::default(),
            _ => Overwrites::find(self.updates(), &self.runtime.program.schema)
                .map_err(|conflict| self.conflict(barrier, conflict))?,
        };
        self.keep_subgraphs()?;
        let reset = self.merge(barrier, &overwrites)?;
        if let Some(delta) = &mut self.delta
            && barrier.ran().all(|node| node != NodeId::START)
        {
            delta.add(self.superstep.slots.iter().map(Slot::writes));
        }
        if self.cell.saver.is_none() {
            self.base.step = barrier.step;
            return Ok(None);
        }
        let codec = |reason| RunError::Encode { what: "the state".into(), reason };
        let changes = self.changes(&overwrites, reset).map_err(codec)?;
        self.checkpoint(barrier, changes).map(Some)
    }

    /// Records the checkpoints from which subgraphs that keep their state continue. Each kept state may be used
    /// once in a superstep, because two runs would start from the same checkpoint.
    fn keep_subgraphs(&mut self) -> Result<(), RunError> {
        let mut all = self
            .superstep
            .slots
            .iter()
            .filter_map(|slot| slot.output.as_ref()?.record().kept.as_ref())
            .peekable();
        if all.peek().is_none() {
            return Ok(());
        }
        let mut latest: Vec<Kept> = Vec::new();
        for kept in all {
            if latest.iter().any(|other| other.key == kept.key) {
                return Err(RunError::KeptTwice { step: self.base.step + 1, key: kept.key.clone() });
            }
            latest.push(kept.clone());
        }
        let mut held = self.cell.kept.lock();
        held.retain(|old| latest.iter().all(|new| new.key != old.key));
        held.append(&mut latest);
        held.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(())
    }

    fn updates(&self) -> impl Iterator<Item = (u32, &dyn ErasedUpdate)> {
        let updates = self.superstep.slots.iter().map(|slot| slot.output.as_ref()?.update.as_deref());
        (0u32..).zip(updates).filter_map(|(task, update)| Some((task, update?)))
    }

    /// Applies the updates to the state. Returns the fields that last for one superstep and were reset.
    fn merge(&mut self, barrier: &Barrier, overwrites: &Overwrites) -> Result<Vec<FieldId>, RunError> {
        let one_step = &self.runtime.one_step_fields;
        let mut written = Vec::new();
        if !one_step.is_empty() {
            for (_, update) in self.updates() {
                let fields = (0..update.len()).map(|index| update.shape(index).0);
                written.extend(fields.filter(|field| one_step.contains(field)));
            }
            let outputs = self.superstep.slots.iter().filter_map(|slot| slot.output.as_ref());
            written.extend(outputs.flat_map(|output| &output.record().one_step));
            written.sort_unstable();
            written.dedup();
        }
        let mut updates = (0u32..)
            .zip(&mut self.superstep.slots)
            .filter_map(|(task, slot)| Some((task, slot.output.as_mut()?.update.take()?)))
            .peekable();
        if updates.peek().is_none() && self.base.ephemeral.is_empty() && written.is_empty() {
            return Ok(Vec::new());
        }
        let (state, indexes) = self.base.state.writable();
        let merging = Cell::new(0);
        let updates = updates.inspect(|(task, _)| merging.set(*task));
        if let Err(panic) = caught(|| barrier::apply(state, indexes, updates, overwrites)) {
            let node = self.merged_node(barrier, merging.get());
            return Err(RunError::Reducer {
                step: barrier.step,
                node,
                message: self.secrets().hide_text(&panic),
            });
        }
        // The checkpoint of an input changes nothing, so fields that were set before it keep their values until START
        // has merged the input.
        if one_step.is_empty() || barrier.source == Source::Input {
            return Ok(Vec::new());
        }
        let initial = &*self.runtime.program.initial;
        Ok(barrier::reset_ephemeral(state, initial, &mut self.base.ephemeral, &written))
    }

    /// Returns the changes of the superstep, in their stored form.
    fn changes(&self, overwrites: &Overwrites, reset: Vec<FieldId>) -> Result<Vec<Change>, CodecError> {
        if self.base.older.is_some() {
            return barrier::whole(&*self.base.state, &self.runtime.program.schema);
        }
        let writes = self.superstep.slots.iter().map(Slot::writes);
        let mut changes = barrier::changes(&*self.base.state, (0u32..).zip(writes), overwrites)?;
        if self.base.checkpoint.is_none() {
            let unwritten = |seed: &&Change| changes.iter().all(|change| change.field != seed.field);
            let seeds: Vec<_> = self.runtime.seeds.iter().filter(unwritten).cloned().collect();
            changes.extend(seeds);
        }
        for field in reset {
            let ops = std::vec![Op::Set(self.base.state.encode_field(field)?)];
            changes.push(Change { field, ops });
        }
        changes.sort_unstable_by_key(|change| change.field);
        Ok(changes)
    }

    fn checkpoint(&mut self, barrier: &Barrier, changes: Vec<Change>) -> Result<Arc<Checkpoint>, RunError> {
        let program = &self.runtime.program;
        let codec = |reason| RunError::Encode { what: "an item of `each`".into(), reason };
        let mut frontier =
            restore::store(&program.topology, barrier.next(), self.machine.joins()).map_err(codec)?;
        frontier.kept.clone_from(&self.cell.kept.lock());
        if barrier.source == Source::Input {
            self.put_input(&mut frontier)?;
        }
        let tasks = barrier.ran().zip(&mut self.superstep.slots).map(|(node, slot)| {
            let mut targets: Vec<NodeName> = Vec::new();
            for target in slot.targets.iter().flatten() {
                if !targets.contains(&target.node) {
                    targets.push(target.node.clone());
                }
            }
            let (writes, record) = slot.output.take().unwrap_or_default().into_stored();
            let Record { route, handled, .. } = record;
            TaskRecord { node: program.topology.node_name(node).clone(), writes, route, targets, handled }
        });
        Ok(Arc::new(Checkpoint {
            id: CheckpointId(self.runtime.ambient.id()),
            parent: self.base.checkpoint,
            run: self.cell.run,
            step: barrier.step,
            source: if self.as_nodes.is_some() { Source::Update } else { barrier.source },
            schema: program.schema_fingerprint,
            topology: program.description.topology_fingerprint,
            changes,
            tasks: tasks.collect(),
            frontier,
            metadata: self.cell.metadata.clone(),
        }))
    }

    fn put_input(&self, frontier: &mut Frontier) -> Result<(), RunError> {
        let input = self.input.as_ref().expect("a run that begins with an input has one");
        let start = frontier.tasks.iter_mut().find(|task| task.node.is_start());
        let start = start.expect("an input checkpoint leads to START");
        let encoded = Json::encode(&input.writes);
        start.input = Some(encoded.map_err(|reason| RunError::Encode { what: "the input".into(), reason })?);
        Ok(())
    }

    /// Stores the checkpoint of the superstep, durably. The checkpoint of an input is stored together with START's, so
    /// that a run waits for the store once before its first node.
    async fn store(&mut self, checkpoint: Arc<Checkpoint>, is_last: bool) -> Result<Committed, RunError> {
        let (id, step, source) = (checkpoint.id, checkpoint.step, checkpoint.source);
        let mut commit = Commit {
            thread: self.cell.thread.clone(),
            graph: self.runtime.program.topology.name.clone(),
            expected: self.base.checkpoint,
            recorded: (source != Source::Input).then(|| self.superstep.known()),
            carried: self.as_nodes.as_ref().map(|as_nodes| {
                Box::new(as_nodes.carried(&self.runtime.program, &self.cell.thread, &checkpoint))
            }),
            input: None,
            checkpoint,
            emitted: self.recorder.as_ref().map_or_else(Vec::new, |recorder| recorder.take(step)),
            is_last,
        };
        let committed = if source == Source::Input {
            self.waiting_input = Some(Box::new(commit));
            Committed::New
        } else {
            if let Some(input) = self.waiting_input.take() {
                commit = Commit {
                    expected: input.expected,
                    recorded: input.recorded,
                    input: Some(input.checkpoint),
                    ..commit
                };
            }
            self.send(commit).await?
        };
        match committed {
            Committed::New | Committed::Already => {
                self.base.checkpoint = Some(id);
                self.base.step = step;
                self.base.older = None;
            }
            // The state was merged with results that another run's records replace, and unrecorded results were moved
            // into the checkpoint, so everything is read again.
            Committed::Outrun(_) => self.base.checkpoint = None,
            Committed::Adopt(_) | Committed::Conflict { .. } => {}
        }
        Ok(committed)
    }

    /// Stores the input's checkpoint alone, because START did not reach its barrier.
    pub(crate) async fn store_input(&mut self) -> Result<(), RunError> {
        let Some(commit) = self.waiting_input.take() else { return Ok(()) };
        match self.send(*commit).await? {
            Committed::New | Committed::Already => Ok(()),
            Committed::Outrun(_) | Committed::Adopt(_) | Committed::Conflict { .. } => {
                let thread = self.cell.thread.clone();
                Err(RunError::Superseded { thread, input: InputStatus::NotGiven })
            }
        }
    }

    /// Sends a commit to the store, and reports the events that waited for it.
    async fn send(&mut self, commit: Commit) -> Result<Committed, RunError> {
        let saver = self.cell.saver.as_ref().expect("a checkpoint is built for a saver");
        let (input, checkpoint) = (commit.input.clone(), Arc::clone(&commit.checkpoint));
        let (is_first, is_last) = (commit.expected.is_none(), commit.is_last);
        let committed = saver.commit(commit).await;
        let mut untold = self.untold.take();
        if committed.is_err() {
            // START has run, but it is unknown whether the input is stored.
            untold.retain(|event| !matches!(event, EventKind::CheckpointSaved { .. }));
            untold.drain(..).for_each(|event| self.tell(event));
        }
        let committed = committed?;
        match committed {
            Committed::New | Committed::Already => {
                let changes = input.iter().chain([&checkpoint]).flat_map(|stored| &stored.changes);
                self.base.state.follow(changes);
                // If the routing failed after START's merge, that merge is not stored with the input.
                if checkpoint.source != Source::Input {
                    self.base.state.stored();
                }
                self.base.is_last = is_last;
                self.base.stored = Some(checkpoint);
                untold.into_iter().for_each(|event| self.tell(event));
                Ok(committed)
            }
            // Another driver of the run created the thread first: its head is loaded, to continue from it.
            Committed::Conflict { .. } if self.is_unread && is_first => {
                let begun = self.runtime.load(&self.cell.thread, At::Head).await?;
                Ok(begun.map_or(committed, |head| Committed::Adopt(Box::new(head))))
            }
            committed => Ok(committed),
        }
    }

    /// Reports a completed barrier. The barrier of an input has not changed any values yet.
    fn stored(&self, barrier: &Barrier) {
        if barrier.source != Source::Input {
            self.values();
        }
        let Some(id) = self.base.checkpoint.filter(|_| self.cell.saver.is_some()) else { return };
        self.emit(|driver| {
            let name = |node: NodeId| driver.runtime.program.topology.node_name(node).clone();
            let next = barrier.next().map(|task| name(task.node)).filter(|node| !node.is_end()).collect();
            EventKind::CheckpointSaved { id, step: barrier.step, source: barrier.source, next }
        });
    }

    /// Returns the name of the node that ran the barrier's task with this position.
    fn merged_node(&self, barrier: &Barrier, task: u32) -> NodeName {
        let node = barrier.ran().nth(task as usize).expect("a task that wrote did run");
        self.runtime.program.topology.node_name(node).clone()
    }

    fn conflict(&self, barrier: &Barrier, conflict: Conflict) -> RunError {
        RunError::Conflict {
            step: barrier.step,
            field: self.runtime.program.schema.field(conflict.field).name.clone(),
            first: self.merged_node(barrier, conflict.first),
            second: self.merged_node(barrier, conflict.second),
            overwrites: conflict.overwrites,
        }
    }
}
