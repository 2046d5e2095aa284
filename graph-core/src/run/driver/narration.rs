//! What the driver tells its observers.

use super::drive::Driver;
use crate::engine::TaskNumber;
use crate::graph::NodeId;
use crate::id::NodeName;
use crate::run::runtime::event::{EventKind, EventLog};
use crate::run::runtime::redact;
use crate::run::runtime::stream::view::View;

impl Driver {
    /// Builds and logs an event, if anybody reads the log.
    pub(crate) fn emit(&self, event: impl FnOnce(&Self) -> EventKind) {
        if let Some(log) = &self.log {
            log.write(event(self));
        }
    }

    /// Tells that a task finished, if anybody reads the log.
    pub(crate) fn task_finished(&self, task: TaskNumber, recorded: bool) {
        if let Some(log) = &self.log {
            self.finish_in(log, task, recorded);
        }
    }

    fn finish_in(&self, log: &EventLog, task: TaskNumber, recorded: bool) {
        let (node, step) = self.place(task);
        let output = self.superstep[task].output.as_ref();
        log.write(EventKind::TaskFinished {
            step,
            task: task.get(),
            node,
            writes: redact::writes(self.superstep[task].writes(), &self.runtime.program.schema),
            route: output.and_then(|output| output.record().route.as_ref()).map(|route| route.case.clone()),
            recorded,
            cached: output.is_some_and(|output| output.record().cached),
        });
        if log.wants(View::Updates) {
            self.update_in(log, task, recorded);
        }
    }

    /// Tells what a task wrote by the names of its fields.
    fn update_in(&self, log: &EventLog, task: TaskNumber, recorded: bool) {
        let planned = self.machine.task(task).expect("a task of the running superstep");
        if planned.node == NodeId::START {
            return;
        }
        let (node, step) = self.place(task);
        let schema = &self.runtime.program.schema;
        let writes = self.superstep[task].writes().iter().map(|write| redact::named(write, schema));
        let task = task.get();
        log.write(EventKind::Update { step, task, node, writes: writes.collect(), recorded });
    }

    /// Tells the state as of the last barrier, if somebody wants to know.
    pub(crate) fn values(&self) {
        let Some(log) = self.log.as_ref().filter(|log| log.wants(View::Values)) else {
            return;
        };
        let values = redact::state(&*self.base.state, &self.runtime.program.schema);
        log.write(EventKind::Values { step: self.base.step, values });
    }

    pub(crate) fn superstep_started(&self) {
        let Some(log) = &self.log else { return };
        let Some(step) = self.machine.step().filter(|_| self.machine.width() > 0) else {
            return;
        };
        let tasks = TaskNumber::all().map_while(|task| self.machine.task(task));
        let nodes = tasks.map(|task| self.runtime.program.topology.node_name(task.node).clone()).collect();
        log.write(EventKind::SuperstepStarted { step, nodes });
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
