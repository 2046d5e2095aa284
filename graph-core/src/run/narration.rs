//! What the driver tells its observers.

use super::driver::Driver;
use super::event::EventKind;
use crate::graph::NodeId;
use crate::id::NodeName;

impl Driver {
    /// Builds and logs an event, if anybody reads the log.
    pub(super) fn emit(&self, event: impl FnOnce(&Self) -> EventKind) {
        if let Some(log) = &self.log {
            log.write(event(self));
        }
    }

    pub(super) fn task_finished(&self, task: u32, recorded: bool) {
        self.emit(|driver| {
            let (node, step) = driver.place(task);
            let output = driver.slots[task as usize].output.as_ref();
            EventKind::TaskFinished {
                step,
                task,
                node,
                writes: output.map(|output| output.writes.clone()).unwrap_or_default(),
                route: output.and_then(|output| output.route.as_ref()).map(|route| route.case.clone()),
                recorded,
            }
        });
    }

    pub(super) fn superstep_started(&self) {
        let Some(log) = &self.log else { return };
        let Some(step) = self.machine.step().filter(|_| self.machine.width() > 0) else {
            return;
        };
        let tasks = (0..).map_while(|task| self.machine.task(task));
        let nodes = tasks.map(|task| self.runtime.program.topology.node_name(task.node).clone()).collect();
        log.write(EventKind::SuperstepStarted { step, nodes });
        for (task, slot) in (0u32..).zip(&self.slots) {
            if slot.targets.is_some() {
                self.task_finished(task, true);
            }
        }
    }

    pub(super) fn unfinished_joins(&self) {
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

    pub(super) fn place(&self, task: u32) -> (NodeName, i64) {
        let planned = self.machine.task(task).expect("a task of the running superstep");
        (self.runtime.program.topology.node_name(planned.node).clone(), self.step + 1)
    }
}
