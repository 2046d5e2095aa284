//! Explains why a task ran: its chain of causes, back to the input.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;
use superstep_core::checkpoint::{Cause, NextTask, Source, StepRecord};
use superstep_core::id::{CheckpointId, NodeName};

/// The causes of a task, newest first: the task itself, the tasks that planned it, and so on, back to the input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Why {
    /// One entry for each superstep of the chain.
    pub steps: Vec<WhyStep>,
}

/// The tasks of one superstep that led to the task in question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WhyStep {
    /// The step of the superstep.
    pub step: i64,
    /// The checkpoint on which they were planned: the one before, or an older one if edits followed it.
    pub planned_on: CheckpointId,
    /// The tasks.
    pub tasks: Vec<Reason>,
}

/// A planned task with its causes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The task's position in its superstep.
    pub task: u32,
    /// Its node.
    pub node: NodeName,
    /// The causes of the task.
    pub by: Vec<Via>,
}

/// A cause of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "via", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Via {
    /// The input of a run.
    Input,
    /// A plain edge from this task.
    Edge {
        /// The task, in the superstep before.
        task: u32,
        /// Its node.
        node: NodeName,
    },
    /// A decision of this task: its route, or a branch.
    Decision {
        /// The task, in the superstep before.
        task: u32,
        /// Its node.
        node: NodeName,
        /// The case of its route, if it has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        case: Option<String>,
    },
    /// A join that this task completed.
    Join {
        /// The task, in the superstep before.
        task: u32,
        /// Its node.
        node: NodeName,
    },
    /// An item of an `each` of this task.
    Each {
        /// The task, in the superstep before.
        task: u32,
        /// Its node.
        node: NodeName,
        /// The case of its route, if it has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        case: Option<String>,
        /// The position of the item among those that the task sent.
        index: u32,
    },
    /// A deferred node that became ready: these nodes led to it, in this superstep or in earlier ones.
    Deferred {
        /// The nodes.
        nodes: Vec<NodeName>,
    },
    /// An edit, which planned the task without running another one.
    Edit,
}

impl Via {
    /// Returns the position of the task in the previous superstep that this cause names.
    fn task(&self) -> Option<u32> {
        match self {
            Self::Edge { task, .. }
            | Self::Decision { task, .. }
            | Self::Join { task, .. }
            | Self::Each { task, .. } => Some(*task),
            Self::Input | Self::Deferred { .. } | Self::Edit => None,
        }
    }
}

/// An error for a node that neither ran in the superstep nor is planned next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("node {node:?} neither ran in the superstep of checkpoint {checkpoint} nor is next there; {}", known(.nodes))]
pub struct NotPlanned {
    /// The node.
    pub node: NodeName,
    /// The checkpoint.
    pub checkpoint: CheckpointId,
    /// The nodes that ran or are planned next.
    pub nodes: Vec<NodeName>,
}

fn known(nodes: &[NodeName]) -> String {
    match nodes {
        [] => "no node did or is".into(),
        nodes => format!(
            "these did or are: {}",
            nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        ),
    }
}

/// Returns the causes of `node` at the newest of `steps`. `steps` is a checkpoint with its whole past, newest first.
/// Explains the node's tasks that are planned next there; if there are none, those that ran in the checkpoint's
/// superstep.
///
/// # Errors
/// Returns an error if the node neither ran nor is planned next.
pub fn why(steps: &[StepRecord], node: &NodeName) -> Result<Why, NotPlanned> {
    let Some(newest) = steps.first() else { return Ok(Why { steps: Vec::new() }) };
    let of_node = |step: &StepRecord| -> Vec<u32> {
        let tasks = (0..).zip(&step.checkpoint.frontier.tasks);
        tasks.filter(|(_, task)| task.node == *node).map(|(position, _)| position).collect()
    };
    let planned = (0..steps.len().min(2)).find(|at| !of_node(&steps[*at]).is_empty());
    let Some(first) = planned else {
        let checkpoint = &newest.checkpoint;
        let mut nodes: Vec<NodeName> = checkpoint.tasks.iter().map(|task| task.node.clone()).collect();
        nodes.extend(checkpoint.frontier.nodes().cloned());
        nodes.dedup();
        return Err(NotPlanned { node: node.clone(), checkpoint: checkpoint.id, nodes });
    };
    // The tasks to explain: the place of the checkpoint on which they were planned, then the step in which they ran, and
    // their positions.
    let step = steps[first].checkpoint.step + 1;
    let mut wanted = BTreeMap::from([(
        first,
        BTreeMap::from([(Reverse(step), BTreeSet::from_iter(of_node(&steps[first])))]),
    )]);
    let mut found = Vec::new();
    while let Some((at, groups)) = wanted.pop_first() {
        let Some(planned) = steps.get(at).map(|step| &step.checkpoint) else { break };
        for (Reverse(step), positions) in groups {
            let mut tasks = Vec::new();
            for position in positions {
                let Some(next) = planned.frontier.tasks.get(position as usize) else { continue };
                if let Some(kept) = kept(&steps[at..], next) {
                    wanted.entry(at + 1).or_default().entry(Reverse(step)).or_default().insert(kept);
                    continue;
                }
                let by = ways(&steps[at], next);
                for task in by.iter().filter_map(Via::task).filter(|task| was_planned(&steps[at..], *task)) {
                    wanted.entry(at + 1).or_default().entry(Reverse(planned.step)).or_default().insert(task);
                }
                tasks.push(Reason { task: position, node: next.node.clone(), by });
            }
            if !tasks.is_empty() {
                found.push(WhyStep { step, planned_on: planned.id, tasks });
            }
        }
    }
    Ok(Why { steps: found })
}

/// Returns the position of a planned task before an edit, if the newest of `steps` is an edit that kept it. Its cause
/// is among the tasks that ran before the edit.
fn kept(steps: &[StepRecord], next: &NextTask) -> Option<u32> {
    let [edit, before, ..] = steps else { return None };
    let is_edit = edit.checkpoint.tasks.iter().all(|task| task.node.is_edit());
    if edit.checkpoint.source != Source::Update || !is_edit {
        return None;
    }
    let is_same = |old: &NextTask| old.node == next.node && old.cause == next.cause;
    (0..).zip(&before.checkpoint.frontier.tasks).find(|(_, old)| is_same(old)).map(|(position, _)| position)
}

/// Returns `true` if the task at a position of the newest of `steps` was planned on the one before: those of an edit
/// were not.
fn was_planned(steps: &[StepRecord], position: u32) -> bool {
    let [step, before, ..] = steps else { return false };
    let at = position as usize;
    let planned = before.checkpoint.frontier.tasks.get(at);
    step.checkpoint.tasks.get(at).zip(planned).is_some_and(|(ran, planned)| ran.node == planned.node)
}

/// Returns the causes of a task that is planned next at `step`.
fn ways(step: &StepRecord, next: &NextTask) -> Vec<Via> {
    let ran = &step.checkpoint.tasks;
    let task = |position: u32| ran.get(position as usize).map(|task| (position, task));
    let case =
        |task: &superstep_core::checkpoint::TaskRecord| task.route.as_ref().map(|route| route.case.clone());
    match &next.cause {
        Cause::Input => vec![Via::Input],
        Cause::Tasks(positions) | Cause::Join(positions) if ran.is_empty() && !positions.is_empty() => {
            vec![Via::Edit]
        }
        Cause::Tasks(_) | Cause::Each { .. } if ran.iter().any(|task| task.node.is_edit()) => vec![Via::Edit],
        Cause::Tasks(positions) => {
            let ways = positions.iter().copied().filter_map(task).map(|(position, task)| {
                let node = task.node.clone();
                match task.targets.contains(&next.node) {
                    true => Via::Decision { task: position, node, case: case(task) },
                    false => Via::Edge { task: position, node },
                }
            });
            ways.collect()
        }
        Cause::Join(positions) => {
            let tasks = positions.iter().copied().filter_map(task);
            tasks.map(|(position, task)| Via::Join { task: position, node: task.node.clone() }).collect()
        }
        Cause::Each { by, index } => {
            let way = task(*by).map(|(position, task)| Via::Each {
                task: position,
                node: task.node.clone(),
                case: case(task),
                index: *index,
            });
            way.into_iter().collect()
        }
        Cause::Deferred(nodes) => vec![Via::Deferred { nodes: nodes.clone() }],
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decided =
            |case: &Option<String>| case.as_ref().map(|case| format!(" → {case}")).unwrap_or_default();
        match self {
            Self::Input => f.write_str("the input"),
            Self::Edge { node, .. } => write!(f, "an edge from {node}"),
            Self::Decision { node, case: Some(case), .. } => write!(f, "the route {node} → {case}"),
            Self::Decision { node, case: None, .. } => write!(f, "a branch of {node}"),
            Self::Join { node, .. } => write!(f, "a join that {node} completed"),
            Self::Each { node, case, index, .. } => write!(f, "item {index} of {node}{}", decided(case)),
            Self::Deferred { nodes } => {
                let names: Vec<&str> = nodes.iter().map(NodeName::as_str).collect();
                write!(f, "its turn after {}", names.join(", "))
            }
            Self::Edit => f.write_str("an edit"),
        }
    }
}

#[cfg(test)]
mod tests {
    use superstep_core::checkpoint::{Positions, RouteRecord};
    use superstep_core::state::Json;

    use super::*;
    use crate::material::past;

    /// Formats each step as a line.
    fn lines(steps: &[StepRecord], node: &str) -> Vec<String> {
        let why = why(steps, &node.into()).unwrap();
        let reason = |reason: &Reason| {
            let by: Vec<String> = reason.by.iter().map(ToString::to_string).collect();
            format!("{} by {}", reason.node, by.join(" and "))
        };
        let line = |step: &WhyStep| step.tasks.iter().map(reason).collect::<Vec<_>>().join("; ");
        why.steps.iter().map(|step| format!("{}: {}", step.step, line(step))).collect()
    }

    #[test]
    fn what_led_to_a_task_is_reported_back_to_the_input() {
        let steps = past(&[vec![("a", vec![])], vec![("b", vec![]), ("c", vec![])], vec![("d", vec![])]]);
        assert_eq!(
            lines(&steps, "d"),
            [
                "2: d by an edge from b and an edge from c",
                "1: b by an edge from a; c by an edge from a",
                "0: a by the input"
            ]
        );
        // At the checkpoint before d ran it is next.
        assert_eq!(lines(&steps[1..], "d").len(), 3);
        assert_eq!(lines(&steps[1..], "b"), ["1: b by an edge from a", "0: a by the input"]);
    }

    /// Positions in the causes of the tasks that an edit kept were once taken for positions among the edit's own tasks.
    #[test]
    fn tasks_that_an_edit_kept_have_the_cause_from_before() {
        let mut steps = past(&[
            vec![("a", vec![]), ("b", vec![])],
            vec![("__edit__", vec![])],
            vec![("c", vec![]), ("d", vec![])],
        ]);
        steps[1].checkpoint.source = Source::Update;
        let by = |position| Cause::Tasks(Positions::from_slice(&[position]));
        let tasks = [("c", by(1)), ("d", by(0))];
        let next = tasks.map(|(node, cause)| NextTask { node: node.into(), cause, input: None });
        steps[1].checkpoint.frontier.tasks = next.to_vec();
        steps[2].checkpoint.frontier.tasks = next.to_vec();
        assert_eq!(lines(&steps, "c"), ["2: c by an edge from b", "0: b by the input"]);
        assert_eq!(lines(&steps[1..], "c"), lines(&steps, "c"));
        assert_eq!(why(&steps, &"c".into()).unwrap().steps[0].planned_on, steps[2].checkpoint.id);
        // This one was added by the edit.
        steps[2].checkpoint.frontier.tasks.pop();
        assert_eq!(lines(&steps, "d"), ["2: d by an edit"]);
    }

    #[test]
    fn routes_joins_and_items_are_named() {
        let mut steps = past(&[vec![("a", vec![])], vec![("b", vec![]), ("b", vec![])], vec![("d", vec![])]]);
        let a = &mut steps[2].checkpoint.tasks[0];
        a.route = Some(RouteRecord { case: "Each".into(), value: Json::null() });
        a.targets = vec!["b".into()];
        for (index, next) in (0..).zip(&mut steps[2].checkpoint.frontier.tasks) {
            next.cause = Cause::Each { by: 0, index };
        }
        steps[1].checkpoint.frontier.tasks[0].cause = Cause::Join(Positions::from_slice(&[1]));
        assert_eq!(
            lines(&steps, "d"),
            ["2: d by a join that b completed", "1: b by item 1 of a → Each", "0: a by the input"]
        );
        let a = &mut steps[2].checkpoint.frontier.tasks;
        a.iter_mut().for_each(|next| next.cause = Cause::Tasks(Positions::from_slice(&[0])));
        assert_eq!(lines(&steps, "d")[1], "1: b by the route a → Each");
        steps[2].checkpoint.tasks[0].route = None;
        assert_eq!(lines(&steps, "d")[1], "1: b by a branch of a");
        steps[1].checkpoint.frontier.tasks[0].cause = Cause::Deferred(vec!["a".into(), "b".into()]);
        assert_eq!(lines(&steps, "d"), ["2: d by its turn after a, b"]);
    }

    #[test]
    fn a_node_that_did_not_run_is_reported_with_those_that_did() {
        let steps = past(&[vec![("a", vec![])], vec![("b", vec![])]]);
        let error = why(&steps[1..], &"x".into()).unwrap_err().to_string();
        assert!(error.ends_with("nor is next there; these did or are: a, b"), "{error}");
    }
}
