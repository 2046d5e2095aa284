//! Edits as nodes: a given outcome replaces the run of each node.

use std::boxed::Box;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::vec::Vec;

use super::attempt::{Attempt, End};
use super::begin::driver;
use super::drive::Driver;
use super::edit::{AsNodes, Own, put_on_top};
use super::given::{self, Given, Outcome};
use super::order::{Order, Verb};
use super::slot::Slot;
use crate::checkpoint::{At, Carrier, CheckpointerExt, Loaded, TaskRecord, TaskResult};
use crate::engine::{Arrivals, Begin, Command, Ending, Event, NoPlan, Plan, Restored, TaskNumber, plan_edit};
use crate::error::{NodeError, NodeErrorKind};
use crate::graph::{NodeId, NodeProgram, Selected, Targets};
use crate::id::{CheckpointId, NodeName, RunId, ThreadId};
use crate::node::{Done, Record};
use crate::run::runtime::error::{NodeFailure, RunError};
use crate::run::runtime::field_map::FieldMap;
use crate::run::runtime::outcome::InputStatus;
use crate::run::runtime::shared::Runtime;
use crate::run::runtime::thread_error::ThreadError;
use crate::state::ErasedUpdate;

/// A node of an edit, with its result and its targets.
struct AsNode {
    node: NodeId,
    done: Done,
    targets: Targets,
}

pub(crate) async fn edit_as(
    runtime: Arc<Runtime>,
    thread: ThreadId,
    outcomes: Vec<Given>,
) -> Result<CheckpointId, RunError> {
    let (driver, loaded, restored) = restore(&runtime, &thread).await?;
    let mut nodes = Vec::with_capacity(outcomes.len());
    for Given { node, outcome } in outcomes {
        nodes.push(driver.given(&node, outcome)?);
    }
    let ran = match &loaded {
        Some(loaded) => last_ran(&runtime, &thread, loaded).await?,
        None => Vec::new(),
    };
    driver.edit_as(loaded, &ran, restored, nodes).await
}

/// Edits as the node that ran last, with its own decision and another update.
pub(crate) async fn edit_as_last(
    runtime: &Arc<Runtime>,
    thread: &ThreadId,
    update: Box<dyn ErasedUpdate>,
) -> Result<CheckpointId, RunError> {
    let (driver, loaded, restored) = restore(runtime, thread).await?;
    let loaded = loaded.ok_or_else(|| ThreadError::NeverRan(thread.clone()))?;
    let ran = last_ran(runtime, thread, &loaded).await?;
    let nodes = driver.last(&ran, update)?;
    driver.edit_as(Some(loaded), &ran, restored, nodes).await
}

/// Reads the thread's head. Returns a driver for it, and the next tasks.
async fn restore(
    runtime: &Arc<Runtime>,
    thread: &ThreadId,
) -> Result<(Box<Driver>, Option<Loaded>, Restored), RunError> {
    if thread.is_below() {
        return Err(RunError::Subgraph { thread: thread.clone() });
    }
    let loaded = runtime.registered(runtime.load(thread, At::Head)).await?;
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
    if let Some(loaded) = &loaded {
        restored = driver.restore(loaded.clone())?;
    }
    Ok((driver, loaded, restored))
}

impl Driver {
    fn name(&self, node: NodeId) -> NodeName {
        self.runtime.program.topology.node_name(node).clone()
    }

    /// Creates a node of an edit from its given outcome.
    fn given(&self, node: &Selected, outcome: Outcome) -> Result<AsNode, RunError> {
        let program = &self.runtime.program;
        let node = self.runtime.selected(node)?.expect("an edit names one node");
        let code = program.node(node);
        let outcome = match outcome {
            Outcome::Typed(outcome) => outcome.map_err(|error| self.fails(node, error))?,
            Outcome::Json(outcome) => given::read(program, code, &self.name(node), outcome)?,
        };
        if !fits(code, &outcome) {
            return Err(ThreadError::WrongDecision { node: self.name(node) }.into());
        }
        let outcome = match &code.given {
            Some(given) => (given.check)(outcome, &self.base.state.share())
                .map_err(|error| self.fails(node, NodeError::new(NodeErrorKind::Failed, error)))?,
            None => outcome,
        };
        self.leads(node, Attempt::given(program, node, self.base.state.share(), outcome))
    }

    /// Returns the node that ran last, with the decision that it made and another update, once per task.
    fn last(&self, ran: &[TaskRecord], update: Box<dyn ErasedUpdate>) -> Result<Vec<AsNode>, RunError> {
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
        let mut nodes = Vec::with_capacity(ran.len());
        // The first task gets the update; the other tasks of the node write nothing.
        for task in ran {
            let update = match update.take() {
                Some(update) => update,
                None => program.initial.decode_update(&[]).map_err(codec)?,
            };
            let writes = update.encode().map_err(codec)?;
            let record =
                Record { route: task.route.clone(), handled: task.handled.clone(), ..Record::default() };
            let done = Done::stored(update, writes, record);
            nodes.push(self.leads(node, Attempt::routed(program, node, self.base.state.share(), done))?);
        }
        Ok(nodes)
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

    fn leads(&self, node: NodeId, end: End) -> Result<AsNode, RunError> {
        match end {
            End::Finished { done, targets: Ok(targets) } => Ok(AsNode { node, done, targets }),
            End::Finished { targets: Err(error), .. } => Err(self.fails(node, *error)),
            End::Failed(error) => Err(self.fails(node, error)),
            End::Paused(_) => unreachable!("nothing runs, so nothing asks"),
        }
    }

    /// Makes the edit: stores the results of some of the next tasks, or passes the barrier of a complete superstep.
    async fn edit_as(
        mut self,
        loaded: Option<Loaded>,
        ran: &[TaskRecord],
        restored: Restored,
        nodes: Vec<AsNode>,
    ) -> Result<CheckpointId, RunError> {
        let topology = Arc::clone(&self.runtime.program.topology);
        let names: Vec<NodeName> = nodes.iter().map(|as_node| self.name(as_node.node)).collect();
        let (mut led, mut results) = (Vec::with_capacity(nodes.len()), Vec::with_capacity(nodes.len()));
        for AsNode { node, done, targets } in nodes {
            results.push(Some((done, self.recorded(&targets)?)));
            led.push((node, targets));
        }
        let head = loaded.as_ref().map(|loaded| (loaded, ran));
        let planned = plan_edit(&topology, head, restored, led).map_err(|why| match why {
            NoPlan::WouldDrop(next) => ThreadError::WouldDrop { nodes: names.clone(), next },
            NoPlan::NotNext(position) => ThreadError::NotNext { node: names[position].clone() },
        })?;
        let (Plan::Results(given) | Plan::Superstep { given, .. }) = &planned;
        if let Plan::Superstep { restored, added, .. } = &planned {
            if *added {
                self.superstep.slots.clear();
            }
            self.superstep.slots.resize_with(restored.tasks.len(), Slot::default);
        }
        for (task, position) in given {
            let (done, targets) = results[*position].take().expect("a node of an edit has one task");
            let slot = &mut self.superstep[*task];
            (slot.output, slot.targets) = (Some(done), targets);
        }
        match (planned, loaded) {
            (Plan::Superstep { restored, added, .. }, loaded) => {
                self.as_nodes = Some(Box::new(AsNodes { onto: loaded.filter(|_| added) }));
                self.pass_barrier(restored).await
            }
            (Plan::Results(given), Some(loaded)) => {
                let tasks: Vec<TaskNumber> = given.into_iter().map(|(task, _)| task).collect();
                self.put_results(&loaded, &tasks).await
            }
            (Plan::Results(_), None) => unreachable!("nothing is next on a thread that never ran"),
        }
    }

    /// Stores the results of some of the next tasks as an edit.
    async fn put_results(
        mut self,
        loaded: &Loaded,
        finished: &[TaskNumber],
    ) -> Result<CheckpointId, RunError> {
        let fields = FieldMap::new(&loaded.schema, &self.runtime.program.schema);
        let id = CheckpointId(self.runtime.ambient.id());
        let step = loaded.checkpoint.step + 1;
        let own = Own { program: &self.runtime.program, fields: &fields };
        let mut carrier = Carrier::new(&self.cell.thread, loaded, &own);
        for (number, next) in TaskNumber::all().zip(&loaded.checkpoint.frontier.tasks) {
            let task = next.id(id, step);
            if !finished.contains(&number) {
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
        let edited =
            put_on_top(&self.runtime, &self.cell.thread, loaded, id, None, carried, BTreeMap::new()).await;
        edited.map_err(RunError::from)
    }

    /// Passes the barrier of a superstep with no task left to run.
    async fn pass_barrier(mut self, restored: Restored) -> Result<CheckpointId, RunError> {
        self.machine.handle(Event::Begin(Begin::Resume(restored.into())));
        // The driver passes this barrier and stops.
        self.machine.handle(Event::Drain);
        loop {
            match self.machine.next_command().expect("a machine that nothing waits for goes on to its end") {
                Command::Commit(barrier) => self.commit(barrier).await?,
                // An edit applies only to the checkpoint that its caller has read.
                Command::Adopt(_) | Command::Stop(Ending::Superseded) => {
                    let thread = self.cell.thread.clone();
                    return Err(RunError::Superseded { thread, input: InputStatus::NotGiven });
                }
                Command::Stop(Ending::Unmergeable) => {
                    return Err(self.unmergeable.take().expect("the barrier left its error"));
                }
                Command::Stop(_) => break,
                // If results cannot be merged, the edit stores none.
                Command::Record { .. } => {}
                command => unreachable!("every task of an edit has its outcome: {command:?}"),
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

/// Returns the tasks that led to the next ones: those of the last superstep, before all edits.
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
    if let Some(given) = &code.given {
        return outcome.decision.as_ref().is_none_or(|route| (given.fits)(&**route));
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

    /// Such an edit used to be reported as made, with its checkpoint, but was not stored.
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
