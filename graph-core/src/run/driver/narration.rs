//! The events that the driver reports to its observers.

use super::drive::Driver;
use crate::engine::TaskNumber;
use crate::graph::NodeId;
use crate::id::{CheckpointId, NodeName, TaskId};
use crate::node::Done;
use crate::run::runtime::event::EventKind;
use crate::run::runtime::redact;
use crate::run::runtime::stream::view::View;

impl Driver {
    /// Builds and logs an event, if the log has readers.
    pub(crate) fn emit(&self, event: impl FnOnce(&Self) -> EventKind) {
        if self.log.is_some() {
            self.tell(event(self));
        }
    }

    /// Logs an event. While an input waits to be stored, its events wait as well.
    pub(crate) fn tell(&self, event: EventKind) {
        if self.waiting_input.is_some() {
            self.untold.borrow_mut().push(event);
        } else if let Some(log) = &self.log {
            log.write(event);
        }
    }

    /// Reports a finished task, and its writes by field name if a view needs them.
    pub(crate) fn task_finished(&self, task: TaskNumber, recorded: bool) {
        let Some(log) = &self.log else { return };
        let (node, step) = self.place(task);
        let (slot, schema) = (&self.superstep[task], &self.runtime.program.schema);
        let record = slot.output.as_ref().map(Done::record);
        self.tell(EventKind::TaskFinished {
            step,
            task: task.get(),
            node: node.clone(),
            writes: redact::writes(slot.writes(), schema),
            route: record.and_then(|record| record.route.as_ref()).map(|route| route.case.clone()),
            recorded,
            cached: record.is_some_and(|record| record.cached),
        });
        if log.wants(View::Updates) && !node.is_start() {
            let writes = slot.writes().iter().map(|write| redact::named(write, schema)).collect();
            self.tell(EventKind::Update { step, task: task.get(), node, writes, recorded });
        }
    }

    /// Reports the state as of the last barrier, if a view needs it.
    pub(crate) fn values(&self) {
        if !self.log.as_ref().is_some_and(|log| log.wants(View::Values)) {
            return;
        }
        let values = redact::state(&*self.base.state, &self.runtime.program.schema);
        self.tell(EventKind::Values { step: self.base.step, values });
    }

    pub(crate) fn superstep_started(&self) {
        if self.log.is_none() {
            return;
        }
        let Some(step) = self.machine.step().filter(|_| self.machine.width() > 0) else {
            return;
        };
        let base = self.base.checkpoint.unwrap_or(CheckpointId(self.cell.run.0));
        let planned = TaskNumber::all().map_while(|task| self.machine.task(task));
        let (nodes, tasks) = planned
            .map(|task| {
                let node = self.runtime.program.topology.node_name(task.node).clone();
                let id = TaskId::derive(base, "", self.base.step + 1, &node, task.cause.each());
                (node, id)
            })
            .unzip();
        self.tell(EventKind::SuperstepStarted { step, nodes, tasks });
        for (task, slot) in TaskNumber::all().zip(&self.superstep.slots) {
            if slot.targets.is_some() {
                self.task_finished(task, true);
            }
        }
    }

    pub(crate) fn unfinished_joins(&self) {
        let topology = &self.runtime.program.topology;
        for (join, arrived) in self.machine.joins().waiting() {
            let join = &topology.joins[join];
            let name = |node: &NodeId| topology.node_name(*node).clone();
            self.emit(|_| EventKind::JoinUnfinished {
                target: name(&join.target),
                missing: join.sources.iter().filter(|source| !arrived.contains(source)).map(name).collect(),
            });
        }
    }

    pub(crate) fn place(&self, task: TaskNumber) -> (NodeName, i64) {
        let planned = self.machine.task(task).expect("a task of the running superstep");
        (self.runtime.program.topology.node_name(planned.node).clone(), self.base.step + 1)
    }
}
