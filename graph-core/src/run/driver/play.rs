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
use crate::checkpoint::{At, Carrier, Cause, CheckpointerExt, Loaded, TaskRecord, TaskResult};
use crate::engine::{Arrivals, Begin, Command, Ending, Event, PlannedTask, Restored, TaskNumber, not_led_by};
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
) -> Result<(Box<Driver>, Option<Loaded>, Restored), RunError> {
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
            Some(played) => (played.check)(outcome, &self.base.state.share())
                .map_err(|error| self.fails(node, NodeError::new(NodeErrorKind::Failed, error)))?,
            None => outcome,
        };
        self.play_of(node, Attempt::played(program, node, self.base.state.share(), outcome))
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
            plays.push(self.play_of(node, Attempt::routed(program, node, self.base.state.share(), done))?);
        }
        Ok(plays)
    }

    fn fails(&self, node: NodeId, error: NodeError) -> RunError {
        RunError::Node(NodeFailure {
            node: self.name(node),
            step: self.base.step + 1,
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
        let mut played: Vec<TaskNumber> = Vec::new();
        let mut stray = Vec::new();
        for Play { node, done, targets } in plays {
            let is_open = |(task, planned): &(TaskNumber, &PlannedTask)| {
                planned.node == node && restored.finished.iter().all(|(finished, _)| finished != task)
            };
            let Some((task, _)) = TaskNumber::all().zip(&restored.tasks).find(is_open) else {
                stray.push(Play { node, done, targets });
                continue;
            };
            let recorded = self.recorded(&targets)?;
            let slot = &mut self.superstep[task];
            (slot.output, slot.targets) = (Some(done), recorded);
            restored.finished.push((task, targets));
            played.push(task);
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
    async fn put_results(mut self, loaded: &Loaded, played: &[TaskNumber]) -> Result<CheckpointId, RunError> {
        let fields = FieldMap::new(&loaded.schema, &self.runtime.program.schema);
        let id = CheckpointId(self.runtime.ambient.id());
        let step = loaded.checkpoint.step + 1;
        let own = Own { program: &self.runtime.program, fields: &fields };
        let mut carrier = Carrier::new(&self.cell.thread, loaded, &own);
        for (number, next) in TaskNumber::all().zip(&loaded.checkpoint.frontier.tasks) {
            let task = next.id(id, step);
            if !played.contains(&number) {
                carrier.carry(next, task);
                continue;
            }
            let slot = &mut self.superstep[number];
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
        let next = not_led_by(&nodes, &loaded, &ran);
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
        self.superstep.slots.clear();
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
            let task = TaskNumber::at(restored.tasks.len());
            let recorded = self.recorded(&targets)?;
            let mut slot = Slot::default();
            (slot.output, slot.targets) = (Some(done), recorded);
            self.superstep.slots.push(slot);
            restored.tasks.push(PlannedTask { node, cause: Cause::Input, input: None });
            restored.finished.push((task, targets));
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
        Ok(self.base.checkpoint.expect("a barrier that was passed with a saver has a checkpoint"))
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

/// Returns `true` if an outcome has a decision of the type that the node makes.
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

#[cfg(test)]
mod tests {
    use async_trait::async_trait;

    use super::*;
    use crate::checkpoint::{Around, Checkpointer, Commit, Committed, MemorySaver, Source, StoreError};
    use crate::graph::{END, START, StateGraph};
    use crate::state::State;

    #[derive(State, Clone, Debug, Default)]
    struct Log {
        text: std::string::String,
    }

    /// A store with another driver, which records a result just before an edit is stored.
    struct Overtaken(MemorySaver);

    #[async_trait]
    impl Around for Overtaken {
        fn inner(&self) -> &dyn Checkpointer {
            &self.0
        }

        async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
            let head = self.0.read(&commit.thread, At::Head).await?;
            if let Some(head) = head.filter(|_| commit.checkpoint.source == Source::Update) {
                let next = &head.checkpoint.frontier.tasks[0];
                let result = TaskResult {
                    task: next.id(head.checkpoint.id, head.checkpoint.step),
                    node: next.node.clone(),
                    writes: Vec::new(),
                    route: None,
                    targets: Some(Vec::new()),
                    kept: None,
                    handled: None,
                    emitted: None,
                };
                self.0.record_result(&commit.thread, head.checkpoint.id, result).await?;
            }
            self.0.commit(commit).await
        }
    }

    /// It was reported as made, with the checkpoint that it was to be made on, and was not there.
    #[test]
    fn an_edit_that_another_driver_overtakes_is_superseded() {
        let mut g = StateGraph::<Log>::new("g");
        let a = g.node("a", || async { Log::update() });
        g.edge(START, a);
        g.edge(a, END);
        let graph = g.compile().expect("sound").checkpointer(Overtaken(MemorySaver::new()));
        let thread = graph.thread("t");
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let edited = runtime.block_on(async {
            let run = thread.run(Log::update()).interrupt_before(a).await.expect("it stops at a");
            assert!(run.checkpoint.is_some());
            thread.edit_as(a, Log::update().text("edited")).await
        });
        assert!(matches!(edited, Err(RunError::Superseded { .. })), "{edited:?}");
    }
}
