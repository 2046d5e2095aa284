//! Edits as nodes: their plan, and edits of a stored checkpoint without the program's code.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use super::barrier::{self, Overwrites};
use super::command::Command;
use super::event::{Begin, Event, Restored};
use super::machine::{Limits, Machine};
use super::restore::{self, RestoreError, find};
use super::task::{PlannedTask, TaskNumber};
use crate::checkpoint::{
    Cause, Frontier, Loaded, NextTask, RouteRecord, TargetRecord, TaskRecord, TaskResult,
};
use crate::graph::{END, NodeId, Targets, Topology, each_item, to_node};
use crate::id::NodeName;
use crate::node::Item;
use crate::state::{Change, Json, Lifetime, Logged, LoggedWrite, Op, WriteKind};

/// A node as which a checkpoint is edited, with its result.
#[derive(Clone, Debug)]
pub struct EditAs {
    /// Its name.
    pub node: NodeName,
    /// The case of its decision, if it makes one.
    pub case: Option<String>,
    /// Its writes. Only overwrites can always be applied without a reducer.
    pub writes: Vec<LoggedWrite>,
}

/// The result of an edit as a node.
#[derive(Clone, Debug)]
pub enum Edited {
    /// The node's task is done, but other tasks of its superstep are not. All of them stay next.
    Task {
        /// The task's position among the next tasks.
        position: usize,
        /// The record of the task.
        record: TaskRecord,
        /// The targets of its decision.
        targets: Vec<TargetRecord>,
    },
    /// The superstep is complete.
    Superstep {
        /// The records of its tasks.
        tasks: Vec<TaskRecord>,
        /// The changes of the state.
        changes: Vec<Change>,
        /// The tasks that are next.
        frontier: Frontier,
        /// `true` if the node was not next. Tasks that are next again then keep their stored work.
        added: bool,
    },
}

/// The reason why a checkpoint cannot be edited as a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CannotEditAs {
    /// The graph has no such node.
    #[error("the graph has no node {node}; its nodes are {}", list(.nodes))]
    NoSuchNode {
        /// The given name.
        node: NodeName,
        /// The nodes of the graph.
        nodes: Vec<NodeName>,
    },
    /// The node decides, but no case was given.
    #[error("node {node} decides: name one of its cases, {}", .cases.join(", "))]
    Undecided {
        /// The node.
        node: NodeName,
        /// Its cases.
        cases: Vec<String>,
    },
    /// The node does not have the given case.
    #[error("node {node} has no case {case}{}", if .cases.is_empty() { ": it decides nothing".into() } else { alloc::format!("; its cases are {}", .cases.join(", ")) })]
    NoSuchCase {
        /// The node.
        node: NodeName,
        /// The given case.
        case: String,
        /// Its cases.
        cases: Vec<String>,
    },
    /// The edit needs code that only the program has.
    #[error("{0}: this needs the program's code")]
    NeedsCode(String),
    /// The edit would drop tasks that other nodes led to.
    #[error("an edit as {node} would drop next nodes that do not follow from it: {}", list(.next))]
    WouldDrop {
        /// The node.
        node: NodeName,
        /// The nodes that would be dropped.
        next: Vec<NodeName>,
    },
    /// The node's tasks have finished, and others of their superstep have not.
    #[error("node {node} has finished, and others of its superstep are next: edit as those first")]
    NotNext {
        /// The node.
        node: NodeName,
    },
    /// Two tasks wrote a field that allows one writer.
    #[error("{first} and {second} both write {field}")]
    Conflict {
        /// The field.
        field: String,
        /// The first task's node.
        first: NodeName,
        /// The second task's node.
        second: NodeName,
    },
    /// The stored checkpoint does not fit the graph.
    #[error(transparent)]
    Restore(#[from] RestoreError),
}

fn list(names: &[NodeName]) -> String {
    names.iter().map(NodeName::as_str).collect::<Vec<_>>().join(", ")
}

/// The plan of an edit as nodes. It refers to nodes by their positions in the edit.
pub(crate) enum Plan {
    /// These tasks get results, and others are still next.
    Results(Vec<(TaskNumber, usize)>),
    /// A superstep is complete.
    Superstep {
        /// The superstep, with all its tasks finished.
        restored: Restored,
        /// The tasks whose results come from the edit.
        given: Vec<(TaskNumber, usize)>,
        /// `true` if the superstep is added by the edit, and replaces the tasks that were next.
        added: bool,
    },
}

/// The reason why an edit has no plan.
pub(crate) enum NoPlan {
    /// The edit would drop these nodes, which other nodes led to.
    WouldDrop(Vec<NodeName>),
    /// The node at this position of the edit is not next, but others are.
    NotNext(usize),
}

/// Plans an edit as nodes, each with its targets, on the next tasks of a checkpoint. `ran` are the tasks that led
/// there: those of the last superstep, without later edits.
pub(crate) fn plan(
    topology: &Topology,
    head: Option<(&Loaded, &[TaskRecord])>,
    mut restored: Restored,
    nodes: Vec<(NodeId, Targets)>,
) -> Result<Plan, NoPlan> {
    let is_next = |node: NodeId| restored.tasks.iter().any(|task| task.node == node);
    let added = head.filter(|_| !nodes.iter().any(|(node, _)| is_next(*node)));
    let mut given = Vec::with_capacity(nodes.len());
    let mut others = Vec::new();
    if let Some((loaded, ran)) = added {
        let names: Vec<NodeName> = nodes.iter().map(|(node, _)| topology.node_name(*node).clone()).collect();
        let dropped = not_led_by(&names, loaded, ran);
        if !dropped.is_empty() {
            return Err(NoPlan::WouldDrop(dropped));
        }
        let has_run = |node: NodeId| ran.iter().any(|task| task.node == *topology.node_name(node));
        nodes.iter().filter(|(node, _)| has_run(*node)).for_each(|(node, _)| {
            restored.joins.take_back(topology, *node);
        });
        let (step, joins) = (restored.step, restored.joins);
        restored = Restored { step, tasks: Vec::new(), joins, finished: Vec::new(), failed: Vec::new() };
        others.extend(nodes.into_iter().enumerate());
    } else {
        let unfinished = restored.tasks.len() - restored.finished.len();
        for (position, (node, targets)) in nodes.into_iter().enumerate() {
            let is_open = |(task, planned): &(TaskNumber, &PlannedTask)| {
                planned.node == node && restored.finished.iter().all(|(finished, _)| finished != task)
            };
            match TaskNumber::all().zip(&restored.tasks).find(is_open) {
                Some((task, _)) => {
                    restored.finished.push((task, targets));
                    given.push((task, position));
                }
                None => others.push((position, (node, targets))),
            }
        }
        match others.first() {
            _ if given.len() == unfinished => {}
            Some((position, _)) => return Err(NoPlan::NotNext(*position)),
            None => return Ok(Plan::Results(given)),
        }
    }
    others.sort_by_key(|(_, (node, _))| topology.node(*node).rank);
    for (position, (node, targets)) in others {
        let task = TaskNumber::at(restored.tasks.len());
        restored.tasks.push(PlannedTask { node, cause: Cause::Input, input: None });
        restored.finished.push((task, targets));
        given.push((task, position));
    }
    Ok(Plan::Superstep { restored, given, added: added.is_some() })
}

/// Edits a checkpoint as a node without the program's code: the next tasks are planned from the stored topology.
/// `ran` are the tasks that led to the current ones: those of the last superstep, without later edits.
///
/// # Errors
/// Returns an error if there is no such node or case, if other work would be dropped, if writes conflict, or if the
/// program's code is needed: for a case with a target per item or with targets that depend on its payload, for
/// several decisions of one node, and for a reducer.
pub fn edit_as(
    topology: &Arc<Topology>,
    loaded: &Loaded,
    ran: &[TaskRecord],
    edit: EditAs,
) -> Result<Edited, CannotEditAs> {
    let node = topology.find(&edit.node).filter(|node| *node > NodeId::END);
    let Some(node) = node else {
        let nodes = topology.nodes().map(|(_, name)| name.clone()).collect();
        return Err(CannotEditAs::NoSuchNode { node: edit.node, nodes });
    };
    let (route, targets) = decision(topology, node, edit.case)?;
    let (writes, names) = (edit.writes, distinct(&targets));
    let record = TaskRecord { node: edit.node, writes, route, targets: names, handled: None };
    let base = &loaded.checkpoint;
    let result = |next: &NextTask| {
        let id = next.id(base.id, base.step);
        loaded.results.iter().find(|result| result.task == id && result.is_finished())
    };
    let restored = restored(topology, loaded, result)?;
    let nodes = vec![(node, stored_targets(topology, &targets)?)];
    let planned = plan(topology, Some((loaded, ran)), restored, nodes).map_err(|why| match why {
        NoPlan::WouldDrop(next) => CannotEditAs::WouldDrop { node: record.node.clone(), next },
        NoPlan::NotNext(_) => CannotEditAs::NotNext { node: record.node.clone() },
    })?;
    let (restored, given, added) = match planned {
        Plan::Results(given) => {
            let position = given.first().map_or(0, |(task, _)| task.index());
            return Ok(Edited::Task { position, record, targets });
        }
        Plan::Superstep { restored, given, added } => (restored, given, added),
    };
    let mut kept = base.frontier.kept.clone();
    let mut tasks = Vec::with_capacity(restored.tasks.len());
    for number in TaskNumber::all().take(restored.tasks.len()) {
        let next = base.frontier.tasks.get(number.index());
        let stored = next.and_then(&result).filter(|_| given.iter().all(|(task, _)| *task != number));
        let Some(result) = stored else {
            tasks.push(record.clone());
            continue;
        };
        kept.retain(|held| result.kept.as_ref().is_none_or(|new| new.key != held.key));
        kept.extend(result.kept.clone());
        let targets = distinct(result.targets.as_deref().unwrap_or_default());
        let TaskResult { node, writes, route, handled, .. } = result.clone();
        tasks.push(TaskRecord { node, writes, route, targets, handled });
    }
    kept.sort_by(|a, b| a.key.cmp(&b.key));
    let changes = changes(loaded, ran, &tasks)?;
    let frontier = Frontier { kept, ..barrier_of(topology, restored)? };
    Ok(Edited::Superstep { tasks, changes, frontier, added })
}

/// Returns the next tasks of a checkpoint, with the results of finished ones.
fn restored<'l>(
    topology: &Topology,
    loaded: &'l Loaded,
    result: impl Fn(&NextTask) -> Option<&'l TaskResult>,
) -> Result<Restored, CannotEditAs> {
    let Loaded { checkpoint, .. } = loaded;
    let (tasks, joins) =
        restore::restore(topology, &checkpoint.frontier, |_, input| Ok(Item::new(input.clone())))?;
    let mut finished = Vec::new();
    for (task, next) in TaskNumber::all().zip(&checkpoint.frontier.tasks) {
        let Some(result) = result(next) else { continue };
        let to = stored_targets(topology, result.targets.as_deref().unwrap_or_default())?;
        let instead = result.handled.as_ref().is_some_and(|handled| handled.instead);
        finished.push((task, if instead { to.instead() } else { to }));
    }
    Ok(Restored { step: checkpoint.step, tasks, joins, finished, failed: Vec::new() })
}

/// Returns the nodes of targets, each once.
fn distinct(targets: &[TargetRecord]) -> Vec<NodeName> {
    let mut names: Vec<NodeName> = Vec::new();
    for target in targets {
        if !names.contains(&target.node) {
            names.push(target.node.clone());
        }
    }
    names
}

/// Returns the decision of the node, and the targets that it leads to.
fn decision(
    topology: &Topology,
    node: NodeId,
    case: Option<String>,
) -> Result<(Option<RouteRecord>, Vec<TargetRecord>), CannotEditAs> {
    let name = topology.node_name(node).clone();
    let decisions: Vec<_> =
        topology.node(node).decisions.iter().filter(|decision| !decision.on_error).collect();
    let cases = || -> Vec<String> {
        decisions.iter().flat_map(|decision| &decision.cases).map(|case| case.case.clone()).collect()
    };
    let decision = match (&*decisions, &case) {
        ([], None) => return Ok((None, Vec::new())),
        ([], Some(_)) => None,
        ([only], _) => Some(only),
        _ => return Err(CannotEditAs::NeedsCode(alloc::format!("node {name} makes several decisions"))),
    };
    let Some(case) = case else {
        return Err(CannotEditAs::Undecided { node: name, cases: cases() });
    };
    let found = decision.and_then(|decision| decision.cases.iter().find(|held| held.case == case));
    let Some((decision, found)) = decision.zip(found) else {
        return Err(CannotEditAs::NoSuchCase { node: name, case, cases: cases() });
    };
    if found.targets.iter().any(|(_, each)| *each) || !decision.may_reach.is_empty() {
        let text = alloc::format!("where case {case} of node {name} leads depends on what it decides");
        return Err(CannotEditAs::NeedsCode(text));
    }
    let to = found
        .targets
        .iter()
        .map(|(target, _)| TargetRecord { node: topology.node_name(*target).clone(), input: None });
    let to = to.collect();
    let value = Json::encode(&case).expect("a text has a JSON form");
    Ok((Some(RouteRecord { case, value }), to))
}

fn stored_targets(topology: &Topology, targets: &[TargetRecord]) -> Result<Targets, CannotEditAs> {
    let mut all = END;
    for target in targets {
        let node = find(topology, &target.node)?;
        // The number of the graph distinguishes handles, which are not used here.
        all = all.and(match &target.input {
            None => to_node(0, node),
            Some(input) => each_item(0, node, Item::new(input.clone())),
        });
    }
    Ok(all)
}

/// Returns the next nodes that did not follow from `nodes`.
fn not_led_by(nodes: &[NodeName], loaded: &Loaded, ran: &[TaskRecord]) -> Vec<NodeName> {
    let led = |by: &u32| ran.get(*by as usize).is_some_and(|task| nodes.contains(&task.node));
    let is_led = |task: &&NextTask| match &task.cause {
        Cause::Input => false,
        Cause::Tasks(by) | Cause::Join(by) => by.iter().any(led),
        Cause::Each { by, .. } => led(by),
        Cause::Deferred(by) => by.iter().any(|node| nodes.contains(node)),
    };
    let tasks = loaded.checkpoint.frontier.tasks.iter().filter(|task| !task.node.is_end());
    tasks.filter(|task| !is_led(task)).map(|task| task.node.clone()).collect()
}

/// Returns the frontier after the barrier of a superstep with no task left to run.
fn barrier_of(topology: &Arc<Topology>, restored: Restored) -> Result<Frontier, CannotEditAs> {
    let mut machine = Machine::new(Arc::clone(topology), Limits::default());
    machine.handle(Event::Begin(Begin::Resume(restored.into())));
    while let Some(command) = machine.next_command() {
        if let Command::Commit(barrier) = command {
            let frontier = restore::store(topology, barrier.next(), machine.joins());
            return Ok(frontier.expect("items that were JSON have a JSON form"));
        }
    }
    Err(CannotEditAs::NeedsCode("the checkpoint ends a run in the middle of a graph".to_string()))
}

/// Returns the changes of the superstep.
fn changes(loaded: &Loaded, ran: &[TaskRecord], tasks: &[TaskRecord]) -> Result<Vec<Change>, CannotEditAs> {
    let schema = &loaded.schema;
    let all = || (0u32..).zip(tasks.iter().map(|task| &*task.writes));
    let shapes = all().flat_map(|(task, writes)| {
        writes.iter().map(move |write| match &write.write {
            Logged::Op(Op::Set(_)) => (task, write.field, WriteKind::Overwrite),
            _ => (task, write.field, WriteKind::Reduce),
        })
    });
    let overwrites = Overwrites::among(shapes, schema).map_err(|conflict| CannotEditAs::Conflict {
        field: schema.field(conflict.field).name.clone(),
        first: tasks[conflict.first as usize].node.clone(),
        second: tasks[conflict.second as usize].node.clone(),
    })?;
    let before = ran.iter().chain(&loaded.checkpoint.tasks).flat_map(|task| &task.writes);
    let is_written = |field| tasks.iter().flat_map(|task| &task.writes).any(|write| write.field == field);
    for write in before {
        let field = schema.fields.get(write.field.index());
        if let Some(field) = field.filter(|field| field.lifetime == Lifetime::OneStep)
            && !is_written(write.field)
        {
            let text = alloc::format!("field {} returns to its initial value after a superstep", field.name);
            return Err(CannotEditAs::NeedsCode(text));
        }
    }
    let reduced = |field| {
        let field = schema.field(field);
        let text =
            alloc::format!("what the superstep wrote to {} is merged by {}", field.name, field.reducer);
        Err(CannotEditAs::NeedsCode(text))
    };
    barrier::logged(reduced, all(), &overwrites)
}
