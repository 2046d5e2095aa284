//! Playing a node on a stored checkpoint, without the program's code: what follows is planned from the stored wiring.

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
use crate::checkpoint::{Cause, Frontier, Loaded, NextTask, RouteRecord, TargetRecord, TaskRecord};
use crate::graph::{END, NodeId, Targets, Topology, each_item, to_node};
use crate::id::NodeName;
use crate::node::Item;
use crate::state::{Change, Json, Lifetime, Logged, LoggedWrite, Op, WriteKind};

/// A node to record as run, without running it.
#[derive(Clone, Debug)]
pub struct Play {
    /// Its name.
    pub node: NodeName,
    /// The case of its decision, where it makes one.
    pub case: Option<String>,
    /// Its writes. Only overwrites are sure to need no reducer.
    pub writes: Vec<LoggedWrite>,
}

/// The result of a play.
#[derive(Clone, Debug)]
pub enum Played {
    /// The node's task is done, and other tasks of its superstep are not: all of them stay next.
    Task {
        /// The task, by its position among those that are next.
        position: usize,
        /// The record of the task.
        record: TaskRecord,
        /// Where its decision sends it.
        targets: Vec<TargetRecord>,
    },
    /// Its superstep is over.
    Superstep {
        /// The records of its tasks.
        tasks: Vec<TaskRecord>,
        /// The changes of the state.
        changes: Vec<Change>,
        /// The tasks that are next.
        frontier: Frontier,
        /// `true` if the node was not next, so that tasks which are next again keep their stored work.
        anew: bool,
    },
}

/// Why a node cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CannotPlay {
    /// There is no such node.
    #[error("the graph has no node {node}; its nodes are {}", list(.nodes))]
    NoSuchNode {
        /// The name that was given.
        node: NodeName,
        /// The nodes there are.
        nodes: Vec<NodeName>,
    },
    /// The node decides, and nothing says how.
    #[error("node {node} decides: name one of its cases, {}", .cases.join(", "))]
    Undecided {
        /// The node.
        node: NodeName,
        /// Its cases.
        cases: Vec<String>,
    },
    /// The node does not decide so.
    #[error("node {node} has no case {case}{}", if .cases.is_empty() { ": it decides nothing".into() } else { alloc::format!("; its cases are {}", .cases.join(", ")) })]
    NoSuchCase {
        /// The node.
        node: NodeName,
        /// The case that was given.
        case: String,
        /// Its cases.
        cases: Vec<String>,
    },
    /// It takes code that only the program has.
    #[error("{0}: that takes the program's own code")]
    NeedsCode(String),
    /// Work that other nodes have led to would be dropped.
    #[error("playing {node} would drop what is next and did not follow from it: {}", list(.next))]
    WouldDrop {
        /// The node.
        node: NodeName,
        /// The nodes that would be dropped.
        next: Vec<NodeName>,
    },
    /// Two tasks wrote what only one may write.
    #[error("{first} and {second} both write {field}")]
    Conflict {
        /// The field.
        field: String,
        /// The first of them.
        first: NodeName,
        /// The second.
        second: NodeName,
    },
    /// The stored checkpoint does not fit the graph.
    #[error(transparent)]
    Restore(#[from] RestoreError),
}

fn list(names: &[NodeName]) -> String {
    names.iter().map(NodeName::as_str).collect::<Vec<_>>().join(", ")
}

/// Plays a node on a checkpoint. `ran` are the tasks that led to what is next: those of the last superstep, behind all
/// edits.
///
/// # Errors
/// When there is no such node or case, other work would be dropped, writes conflict, or it takes the program's code: a
/// case with a target for each item or that depends on its payload, several decisions of one node, a reducer.
pub fn play(
    topology: &Arc<Topology>,
    loaded: &Loaded,
    ran: &[TaskRecord],
    play: Play,
) -> Result<Played, CannotPlay> {
    let node = topology.find(&play.node).filter(|node| *node > NodeId::END);
    let Some(node) = node else {
        let nodes = topology.nodes().map(|(_, name)| name.clone()).collect();
        return Err(CannotPlay::NoSuchNode { node: play.node, nodes });
    };
    let (route, targets) = decision(topology, node, play.case)?;
    let mut names: Vec<NodeName> = Vec::new();
    for target in &targets {
        if !names.contains(&target.node) {
            names.push(target.node.clone());
        }
    }
    let record = TaskRecord { node: play.node, writes: play.writes, route, targets: names, handled: None };
    let base = &loaded.checkpoint;
    let (planned, joins) =
        restore::restore(topology, &base.frontier, |_, input| Ok(Item::new(input.clone())))?;
    let mut restored =
        Restored { step: base.step, tasks: planned, joins, finished: Vec::new(), failed: Vec::new() };
    let result = |next: &NextTask| {
        let id = next.id(base.id, base.step);
        loaded.results.iter().find(|result| result.task == id && result.is_finished())
    };
    let is_open = |next: &&NextTask| next.node == record.node && result(next).is_none();
    let next = &base.frontier.tasks;

    if let Some(position) = next.iter().position(|next| is_open(&next)) {
        if next.iter().filter(|next| result(next).is_none()).count() > 1 {
            return Ok(Played::Task { position, record, targets });
        }
        let mut tasks = Vec::with_capacity(next.len());
        let mut kept = base.frontier.kept.clone();
        for (at, next) in TaskNumber::all().zip(next) {
            let Some(result) = result(next) else {
                restored.finished.push((at, stored_targets(topology, &targets)?));
                tasks.push(record.clone());
                continue;
            };
            let mut to = stored_targets(topology, result.targets.as_deref().unwrap_or_default())?;
            if result.handled.as_ref().is_some_and(|handled| handled.instead) {
                to = to.instead();
            }
            restored.finished.push((at, to));
            kept.retain(|held| result.kept.as_ref().is_none_or(|new| new.key != held.key));
            kept.extend(result.kept.clone());
            let mut targets: Vec<NodeName> = Vec::new();
            for target in result.targets.iter().flatten() {
                if !targets.contains(&target.node) {
                    targets.push(target.node.clone());
                }
            }
            let (writes, route, handled) =
                (result.writes.clone(), result.route.clone(), result.handled.clone());
            tasks.push(TaskRecord { node: next.node.clone(), writes, route, targets, handled });
        }
        kept.sort_by(|a, b| a.key.cmp(&b.key));
        let changes = changes(loaded, ran, &tasks)?;
        let frontier = Frontier { kept, ..barrier_of(topology, restored)? };
        return Ok(Played::Superstep { tasks, changes, frontier, anew: false });
    }

    let dropped = not_led_by(core::slice::from_ref(&record.node), loaded, ran);
    if !dropped.is_empty() {
        return Err(CannotPlay::WouldDrop { node: record.node, next: dropped });
    }
    if ran.iter().any(|task| task.node == record.node) {
        restored.joins.take_back(topology, node);
    }
    restored.tasks = vec![PlannedTask { node, cause: Cause::Input, input: None }];
    restored.finished = vec![(TaskNumber::at(0), stored_targets(topology, &targets)?)];
    let tasks = vec![record];
    let changes = changes(loaded, ran, &tasks)?;
    let frontier = Frontier { kept: base.frontier.kept.clone(), ..barrier_of(topology, restored)? };
    Ok(Played::Superstep { tasks, changes, frontier, anew: true })
}

/// Returns the decision of the node, and the targets that it leads to.
fn decision(
    topology: &Topology,
    node: NodeId,
    case: Option<String>,
) -> Result<(Option<RouteRecord>, Vec<TargetRecord>), CannotPlay> {
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
        _ => return Err(CannotPlay::NeedsCode(alloc::format!("node {name} makes several decisions"))),
    };
    let Some(case) = case else {
        return Err(CannotPlay::Undecided { node: name, cases: cases() });
    };
    let found = decision.and_then(|decision| decision.cases.iter().find(|held| held.case == case));
    let Some((decision, found)) = decision.zip(found) else {
        return Err(CannotPlay::NoSuchCase { node: name, case, cases: cases() });
    };
    if found.targets.iter().any(|(_, each)| *each) || !decision.may_reach.is_empty() {
        let text = alloc::format!("where case {case} of node {name} leads depends on what it decides");
        return Err(CannotPlay::NeedsCode(text));
    }
    let to = found
        .targets
        .iter()
        .map(|(target, _)| TargetRecord { node: topology.node_name(*target).clone(), input: None });
    let to = to.collect();
    let value = Json::encode(&case).expect("a text has a JSON form");
    Ok((Some(RouteRecord { case, value }), to))
}

fn stored_targets(topology: &Topology, targets: &[TargetRecord]) -> Result<Targets, CannotPlay> {
    let mut all = END;
    for target in targets {
        let node = find(topology, &target.node)?;
        // The graph's number tells handles apart, and there are none.
        all = all.and(match &target.input {
            None => to_node(0, node),
            Some(input) => each_item(0, node, Item::new(input.clone())),
        });
    }
    Ok(all)
}

/// Returns the nodes that are next and did not follow from `nodes`.
pub(crate) fn not_led_by(nodes: &[NodeName], loaded: &Loaded, ran: &[TaskRecord]) -> Vec<NodeName> {
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

/// Returns the frontier behind the barrier of a superstep in which nothing is left to run.
fn barrier_of(topology: &Arc<Topology>, restored: Restored) -> Result<Frontier, CannotPlay> {
    let mut machine = Machine::new(Arc::clone(topology), Limits::default());
    machine.handle(Event::Begin(Begin::Resume(restored)));
    while let Some(command) = machine.next_command() {
        if let Command::Commit(barrier) = command {
            let frontier = restore::store(topology, barrier.next(), machine.joins());
            return Ok(frontier.expect("items that were JSON have a JSON form"));
        }
    }
    Err(CannotPlay::NeedsCode("the checkpoint ends a run in the middle of a graph".to_string()))
}

/// Returns the changes of the superstep.
fn changes(loaded: &Loaded, ran: &[TaskRecord], tasks: &[TaskRecord]) -> Result<Vec<Change>, CannotPlay> {
    let schema = &loaded.schema;
    let all = || (0u32..).zip(tasks.iter().map(|task| &*task.writes));
    let shapes = all().flat_map(|(task, writes)| {
        writes.iter().map(move |write| match &write.write {
            Logged::Op(Op::Set(_)) => (task, write.field, WriteKind::Overwrite),
            _ => (task, write.field, WriteKind::Reduce),
        })
    });
    let overwrites = Overwrites::among(shapes, schema).map_err(|conflict| CannotPlay::Conflict {
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
            return Err(CannotPlay::NeedsCode(text));
        }
    }
    let reduced = |field| {
        let field = schema.field(field);
        let text =
            alloc::format!("what the superstep wrote to {} is merged by {}", field.name, field.reducer);
        Err(CannotPlay::NeedsCode(text))
    };
    barrier::logged(reduced, all(), &overwrites)
}
