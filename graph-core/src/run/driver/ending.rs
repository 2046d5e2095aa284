//! The end of a run: collects running attempts, stores the remaining results, and reports to the caller.

use std::mem::take;
use std::vec::Vec;

use futures_util::StreamExt;

use super::attempt::End;
use super::drive::Driver;
use super::order::Ended;
use super::slot::Slot;
use super::subgraph::surroundings::Surroundings;
use super::tasks::Attempted;
use crate::checkpoint::{AskRecord, CheckpointerExt};
use crate::engine::{Break, Ending, TaskNumber};
use crate::graph::NodeId;
use crate::id::NodeName;
use crate::run::runtime::error::RunError;
use crate::run::runtime::event::EventKind;
use crate::run::runtime::outcome::{InputStatus, Interrupt, Status};
use crate::run::runtime::thread_error::ThreadError;

impl Driver {
    /// Cancels the running attempts, and waits until they have stopped. Attempts that ended before they could be
    /// cancelled count: their results are recorded, and their questions are asked.
    pub(crate) async fn abort(&mut self) {
        self.cell.revoke();
        for Attempted { task, cell, end, .. } in self.tasks.abort(&self.base.state).await {
            self.superstep[task].cell = Some(cell);
            match end {
                End::Finished { done, targets } => self.keep(task, done, targets.ok()),
                End::Paused(asks) => self.superstep[task].rare().open = asks,
                // The first failure is reported to the caller.
                End::Failed(_) => {}
            }
        }
    }

    /// Returns the nodes of the tasks that have neither finished nor asked, in merge order.
    fn unfinished(&self) -> Vec<NodeName> {
        let asks = |slot: &Slot| slot.rare.as_ref().is_some_and(|rare| !rare.open.is_empty());
        let open = TaskNumber::all()
            .zip(&self.superstep.slots)
            .filter(|(_, slot)| slot.output.is_none() && !asks(slot));
        open.map(|(task, _)| self.place(task).0).collect()
    }

    pub(crate) async fn stopped(&mut self, ending: Ending) -> Result<Ended, RunError> {
        // Here, another driver's results count like our own, because both belong to finished tasks.
        let mut all_ours = true;
        while let Some(counts) = self.records.next().await {
            all_ours &= counts?;
        }
        let unfinished = if ending == Ending::TimedOut { self.unfinished() } else { Vec::new() };
        let open: Vec<AskRecord> = self
            .superstep
            .slots
            .iter_mut()
            .filter_map(|slot| slot.rare.as_mut())
            .flat_map(|rare| take(&mut rare.open))
            .collect();
        let interrupts: Vec<Interrupt> = self.runtime.program.open_questions(&open);
        if let Some(saver) = self.cell.saver.clone()
            && let Some(base) = self.base.checkpoint
            && ending != Ending::Superseded
        {
            let has_open = !open.is_empty();
            if has_open {
                saver.ask(&self.cell.thread, base, open).await?;
            }
            if has_open || !self.base.is_last {
                saver.flush(&self.cell.thread).await?;
            }
        }
        let status = match ending {
            Ending::Finished => {
                self.unfinished_joins();
                Status::Finished
            }
            // There is no question, because a subgraph stopped for another reason.
            Ending::Interrupted if interrupts.is_empty() => {
                let stopped = Surroundings::of(&self.cell).stopped.take();
                stopped.expect("a task that pauses asks, or says why its subgraph stopped")
            }
            Ending::Interrupted => {
                self.emit(|_| EventKind::Interrupted { interrupts: interrupts.clone() });
                Status::Interrupted { interrupts }
            }
            Ending::Breakpoint => self.stopped_at_breakpoint(),
            Ending::LimitReached => Status::LimitReached { limit: self.machine.limits().recursion },
            Ending::Cancelled => Status::Cancelled,
            Ending::Drained => Status::Drained,
            Ending::TaskRecorded => {
                let mut slots = self.superstep.slots.iter();
                if !all_ours && let Some(task) = slots.find_map(|slot| slot.cell.as_ref()?.task_id()) {
                    let thread = self.cell.thread.clone();
                    return Err(ThreadError::TaskRecorded { thread, task }.into());
                }
                Status::TaskRecorded
            }
            Ending::Superseded => {
                let thread = self.cell.thread.clone();
                return Err(RunError::Superseded { thread, input: InputStatus::NotGiven });
            }
            Ending::TimedOut => {
                let timeout =
                    self.stops.step_timeout.expect("only a superstep with a timeout takes too long");
                return Err(RunError::StepTimedOut { step: self.base.step + 1, timeout, unfinished });
            }
            Ending::Failed { task } => return Err(self.failure(task).into()),
            Ending::Unmergeable => return Err(self.unmergeable.take().expect("the barrier left its error")),
        };
        let state = self.base.state.share();
        let delta = self.delta.take().map(|delta| delta.writes).unwrap_or_default();
        let exit = self.machine.task(TaskNumber::at(0)).filter(|task| task.node == NodeId::END);
        let exit = exit.and_then(|task| task.input.clone());
        Ok(Ended {
            run: self.cell.run,
            checkpoint: self.base.checkpoint,
            step: self.base.step,
            status,
            state,
            exit,
            delta,
        })
    }

    fn stopped_at_breakpoint(&self) -> Status {
        let Break { before, after } = self.machine.stopped_at().expect("the machine says where it stopped");
        let names = |nodes: &[NodeId]| -> Vec<NodeName> {
            let topology = &self.runtime.program.topology;
            nodes.iter().map(|node| topology.node_name(*node).clone()).collect()
        };
        let (before, after) = (names(before), names(after));
        self.emit(|_| EventKind::BreakpointReached { before: before.clone(), after: after.clone() });
        Status::Breakpoint { before, after }
    }
}
