//! Editing as a node: an outcome that a node might have had, in the place of its run.

use std::boxed::Box;
use std::sync::Arc;
use std::vec::Vec;

use super::attempt::{Attempt, End};
use super::begin::driver;
use super::drive::Driver;
use super::edit::{Own, Played, put_on_top};
use super::order::{Order, Verb};
use super::slot::Slot;
use crate::checkpoint::{At, Carrier, Cause, Loaded, NextTask, TaskRecord, TaskResult};
use crate::engine::{Arrivals, Begin, Command, Ending, Event, PlannedTask, Restored};
use crate::error::{NodeError, NodeErrorKind};
use crate::graph::{NodeId, NodeProgram, Selected, Targets};
use crate::id::{CheckpointId, NodeName, RunId, ThreadId};
use crate::node::{Done, Record};
use crate::run::runtime::error::{NodeFailure, RunError, ThreadError};
use crate::run::runtime::field_map::FieldMap;
use crate::run::runtime::outcome::InputStatus;
use crate::run::runtime::shared::Runtime;
use crate::state::ErasedUpdate;

/// A node, with the outcome that it is said to have had.
pub(crate) type GivenOutcome = (Selected, Result<Done, NodeError>);

/// A played node, with where it leads.
struct Play {
    node: NodeId,
    done: Done,
    targets: Targets,
}

pub(crate) async fn play(
    runtime: Arc<Runtime>,
    thread: ThreadId,
    outcomes: Vec<GivenOutcome>,
) -> Result<CheckpointId, RunError> {
    let (driver, loaded, restored) = restore(&runtime, &thread).await?;
    let mut plays = Vec::with_capacity(outcomes.len());
    for (node, outcome) in outcomes {
        plays.push(driver.given(&node, outcome)?);
    }
    let Some(loaded) = loaded else {
        return driver.play_all(restored, plays).await;
    };
    if plays.iter().any(|play| restored.tasks.iter().any(|task| task.node == play.node)) {
        return driver.play_next(loaded, restored, plays).await;
    }
    let ran = last_ran(&runtime, &thread, &loaded).await?;
    driver.play_anew(loaded, ran, restored, plays).await
}

/// Plays the node that ran last once more, with its own decision and another update.
pub(crate) async fn play_last(
    runtime: &Arc<Runtime>,
    thread: &ThreadId,
    update: Box<dyn ErasedUpdate>,
) -> Result<CheckpointId, RunError> {
    let (driver, loaded, restored) = restore(runtime, thread).await?;
    let loaded = loaded.ok_or_else(|| ThreadError::NeverRan(thread.clone()))?;
    let ran = last_ran(runtime, thread, &loaded).await?;
    let plays = driver.last(&ran, update)?;
    driver.play_anew(loaded, ran, restored, plays).await
}

/// Reads the thread's head. Returns a driver on it, and what is next there.
async fn restore(
    runtime: &Arc<Runtime>,
    thread: &ThreadId,
) -> Result<(Driver, Option<Loaded>, Restored), RunError> {
    if thread.is_below() {
        return Err(RunError::Subgraph { thread: thread.clone() });
    }
    runtime.register().await?;
    let loaded = runtime.load(thread, At::Head).await?;
    let mut order = Order::new(Verb::Resume, thread.clone());
    order.metadata = loaded.as_ref().map(|loaded| loaded.checkpoint.of_request()).unwrap_or_default();
    let (mut driver, _) = driver(runtime, order, RunId(runtime.ambient.id()), None, None)?;
    let mut restored = Restored {
        step: -1,
        tasks: Vec::new(),
        joins: Arrivals::none(&runtime.program.topology),
        finished: Vec::new(),
        failed: Vec::new(),
    };
    if let Some(loaded) = &loaded
        && let Begin::Resume(found) = driver.restore(loaded.clone())?
    {
        restored = found;
    }
    Ok((driver, loaded, restored))
}

impl Driver {
    fn name(&self, node: NodeId) -> NodeName {
        self.runtime.program.topology.node_name(node).clone()
    }

    /// A play as it was given.
    fn given(&self, node: &Selected, outcome: Result<Done, NodeError>) -> Result<Play, RunError> {
        let program = &self.runtime.program;
        let node = self.runtime.selected(node)?.expect("an edit names one node");
        let outcome = outcome.map_err(|error| self.fails(node, error))?;
        let code = program.node(node);
        if !fits(code, &outcome) {
            return Err(ThreadError::WrongDecision { node: self.name(node) }.into());
        }
        let outcome = match &code.played {
            Some(played) => (played.check)(outcome, &self.state.share())
                .map_err(|error| self.fails(node, NodeError::new(NodeErrorKind::Failed, error)))?,
            None => outcome,
        };
        self.play_of(node, Attempt::played(program, node, self.state.share(), outcome))
    }

    /// The node that ran last once more, with the decision that it made and another update.
    fn last(&self, ran: &[TaskRecord], update: Box<dyn ErasedUpdate>) -> Result<Vec<Play>, RunError> {
        let program = &self.runtime.program;
        let mut candidates: Vec<NodeName> = Vec::new();
        for task in ran {
            if !candidates.contains(&task.node) {
                candidates.push(task.node.clone());
            }
        }
        let [only] = &candidates[..] else {
            return Err(ThreadError::WhichNode { candidates }.into());
        };
        let node = self.runtime.selected(&Selected::Named(only.clone()))?.expect("a name is one node's");
        let codec = |reason| RunError::Encode { what: "the edit".into(), reason };
        let mut update = Some(update);
        let mut plays = Vec::with_capacity(ran.len());
        // The update is the first task's; the others of the node have nothing to write.
        for task in ran {
            let update = match update.take() {
                Some(update) => update,
                None => program.initial.decode_update(&[]).map_err(codec)?,
            };
            let writes = update.encode().map_err(codec)?;
            let record =
                Record { route: task.route.clone(), handled: task.handled.clone(), ..Record::default() };
            let done = Done::stored(update, writes, record);
            plays.push(self.play_of(node, Attempt::routed(program, node, self.state.share(), done))?);
        }
        Ok(plays)
    }

    fn fails(&self, node: NodeId, error: NodeError) -> RunError {
        RunError::Node(NodeFailure {
            node: self.name(node),
            step: self.step + 1,
            attempt: 1,
            error,
            handling: None,
        })
    }

    fn play_of(&self, node: NodeId, end: End) -> Result<Play, RunError> {
        match end {
            End::Finished { done, targets: Ok(targets) } => Ok(Play { node, done, targets }),
            End::Finished { targets: Err(error), .. } | End::Failed(error) => Err(self.fails(node, error)),
            End::Paused(_) => unreachable!("nothing runs, so nothing asks"),
        }
    }

    /// Finishes tasks that are next; the others stay next.
    async fn play_next(
        mut self,
        loaded: Loaded,
        mut restored: Restored,
        plays: Vec<Play>,
    ) -> Result<CheckpointId, RunError> {
        let unfinished = restored.tasks.len() - restored.finished.len();
        let mut played: Vec<u32> = Vec::new();
        let mut stray = Vec::new();
        for Play { node, done, targets } in plays {
            let is_open = |position: &u32| {
                restored.tasks[*position as usize].node == node
                    && restored.finished.iter().all(|(finished, _)| finished != position)
            };
            let width = u32::try_from(restored.tasks.len()).expect("a superstep has fewer than 2^32 tasks");
            let Some(position) = (0..width).find(is_open) else {
                stray.push(Play { node, done, targets });
                continue;
            };
            let slot = &mut self.slots[position as usize];
            slot.output = Some(done);
            self.slots[position as usize].targets = self.recorded(&targets)?;
            restored.finished.push((position, targets));
            played.push(position);
        }
        if played.len() == unfinished {
            return self.play_all(restored, stray).await;
        }
        if let Some(stray) = stray.first() {
            return Err(ThreadError::NotNext { node: self.name(stray.node) }.into());
        }
        self.put_results(&loaded, &played).await
    }

    /// Stores results of some of the next tasks, as an edit of its own.
    async fn put_results(mut self, loaded: &Loaded, played: &[u32]) -> Result<CheckpointId, RunError> {
        let fields = FieldMap::new(&loaded.schema, &self.runtime.program.schema);
        let id = CheckpointId(self.runtime.ambient.id());
        let step = loaded.checkpoint.step + 1;
        let own = Own { program: &self.runtime.program, fields: &fields };
        let mut carrier = Carrier::new(&self.cell.thread, loaded, &own);
        for (position, next) in (0u32..).zip(&loaded.checkpoint.frontier.tasks) {
            let task = next.id(id, step);
            if !played.contains(&position) {
                carrier.carry(next, task);
                continue;
            }
            let slot = &mut self.slots[position as usize];
            let (writes, record) = slot.output.take().unwrap_or_default().into_stored();
            carrier.carried.results.push(TaskResult {
                task,
                node: next.node.clone(),
                writes,
                route: record.route,
                targets: slot.targets.take(),
                handled: None,
                kept: None,
                emitted: None,
            });
        }
        let carried = carrier.carried;
        let edited = put_on_top(&self.runtime, &self.cell.thread, loaded, id, None, carried).await;
        edited.map_err(RunError::from)
    }

    /// Plays nodes that are not next: what follows from them is next.
    async fn play_anew(
        mut self,
        loaded: Loaded,
        ran: Vec<TaskRecord>,
        mut restored: Restored,
        plays: Vec<Play>,
    ) -> Result<CheckpointId, RunError> {
        let nodes: Vec<NodeName> = plays.iter().map(|play| self.name(play.node)).collect();
        let led = |task: &NextTask| {
            let led = |by: &u32| ran.get(*by as usize).is_some_and(|task| nodes.contains(&task.node));
            match &task.cause {
                Cause::Input => false,
                Cause::Tasks(by) | Cause::Join(by) => by.iter().any(led),
                Cause::Each { by, .. } => led(by),
                Cause::Deferred(by) => by.iter().any(|node| nodes.contains(node)),
            }
        };
        let tasks = loaded.checkpoint.frontier.tasks.iter().filter(|task| !task.node.is_end());
        let next: Vec<NodeName> = tasks.filter(|task| !led(task)).map(|task| task.node.clone()).collect();
        if !next.is_empty() {
            return Err(ThreadError::WouldDrop { nodes, next }.into());
        }
        let topology = Arc::clone(&self.runtime.program.topology);
        for play in
            plays.iter().filter(|play| ran.iter().any(|task| task.node == *topology.node_name(play.node)))
        {
            restored.joins.take_back(&topology, play.node);
        }
        restored.tasks.clear();
        restored.finished.clear();
        restored.failed.clear();
        self.slots.clear();
        self.played = Some(Box::new(Played { onto: Some(loaded) }));
        self.play_all(restored, plays).await
    }

    /// Passes the barrier of a superstep in which nothing is left to run, with these plays beside its own tasks.
    async fn play_all(
        mut self,
        mut restored: Restored,
        mut plays: Vec<Play>,
    ) -> Result<CheckpointId, RunError> {
        let topology = Arc::clone(&self.runtime.program.topology);
        plays.sort_by_key(|play| topology.node(play.node).rank);
        for Play { node, done, targets } in plays {
            let position =
                u32::try_from(restored.tasks.len()).expect("a superstep has fewer than 2^32 tasks");
            let recorded = self.recorded(&targets)?;
            let mut slot = Slot::default();
            (slot.output, slot.targets) = (Some(done), recorded);
            self.slots.push(slot);
            restored.tasks.push(PlannedTask { node, cause: Cause::Input, input: None });
            restored.finished.push((position, targets));
        }
        self.played.get_or_insert_default();
        self.machine.handle(Event::Begin(Begin::Resume(restored)));
        // It passes its barrier, and goes no further.
        self.machine.handle(Event::Drain);
        loop {
            match self.machine.next_command().expect("a machine that nothing waits for goes on to its end") {
                Command::Commit(barrier) => self.commit(barrier).await?,
                // An edit is made on what its caller has seen.
                Command::Adopt(_) | Command::Stop(Ending::Superseded) => {
                    let thread = self.cell.thread.clone();
                    return Err(RunError::Superseded { thread, input: InputStatus::NotGiven });
                }
                Command::Stop(Ending::Unmergeable) => {
                    return Err(self.unmergeable.take().expect("the barrier left its error"));
                }
                Command::Stop(_) => break,
                // Results that cannot be merged are no results of an edit.
                Command::Record { .. } => {}
                command => unreachable!("every task of a played superstep has its outcome: {command:?}"),
            }
        }
        let saver = self.cell.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
        saver.flush(&self.cell.thread).await?;
        Ok(self.base.expect("a barrier that was passed with a saver has a checkpoint"))
    }

    fn recorded(&self, targets: &Targets) -> Result<Option<Vec<crate::checkpoint::TargetRecord>>, RunError> {
        let codec = |reason| RunError::Encode { what: "an item of `each`".into(), reason };
        self.record_targets(targets).map_err(codec)
    }
}

/// The tasks that led to what is next: those of the last superstep, behind all edits.
async fn last_ran(
    runtime: &Runtime,
    thread: &ThreadId,
    loaded: &Loaded,
) -> Result<Vec<TaskRecord>, ThreadError> {
    let is_edit = |node: &NodeName| node.is_edit();
    if !loaded.checkpoint.tasks.iter().any(|task| is_edit(&task.node)) {
        return Ok(loaded.checkpoint.tasks.clone());
    }
    let saver = runtime.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
    let mut older = loaded.checkpoint.parent;
    while let Some(from) = older {
        let page = saver.history(thread, At::Id(from), 16).await?;
        older = page.last().and_then(|oldest| oldest.parent);
        if let Some(found) = page.iter().find(|line| !line.ran.iter().any(is_edit)) {
            let found = runtime.load(thread, At::Id(found.id)).await?;
            return Ok(found.map(|found| found.checkpoint.tasks).unwrap_or_default());
        }
    }
    Ok(Vec::new())
}

/// Whether an outcome has the decision that a node makes.
fn fits(code: &NodeProgram, outcome: &Done) -> bool {
    if let Some(played) = &code.played {
        return outcome.decision.as_ref().is_none_or(|route| (played.fits)(&**route));
    }
    match (&code.router, &outcome.decision) {
        (Some(router), Some(route)) => (**route).type_id() == router.decides,
        (Some(_), None) => false,
        (None, Some(route)) => route.is::<()>(),
        (None, None) => true,
    }
}
