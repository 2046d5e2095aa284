//! Results of finished tasks on their way into the store.

use std::boxed::Box;
use std::vec::Vec;

use futures_util::StreamExt;

use super::attempt::{End, Output};
use super::driver::Driver;
use super::error::{RunError, ThreadError};
use crate::checkpoint::{At, Loaded, TargetRecord, TaskResult};
use crate::graph::{NodeId, Targets};
use crate::id::TaskId;
use crate::state::CodecError;

impl Driver {
    /// The stored form of a task's dynamic targets; `None` when nobody stores them.
    pub(super) fn record_targets(&self, targets: &Targets) -> Result<Option<Vec<TargetRecord>>, CodecError> {
        if self.cell.saver.is_none() {
            return Ok(None);
        }
        let mut recorded = Vec::new();
        for target in targets.as_slice() {
            let node = self.runtime.program.topology.node_name(NodeId(target.node));
            match &target.items {
                None => recorded.push(TargetRecord {
                    node: node.clone(),
                    input: None,
                }),
                Some(items) => {
                    for item in items {
                        recorded.push(TargetRecord {
                            node: node.clone(),
                            input: Some(item.encode()?),
                        });
                    }
                }
            }
        }
        Ok(Some(recorded))
    }

    /// Hands a finished task's result to the saver, without waiting.
    pub(super) fn record(&mut self, task: u32) -> Result<(), RunError> {
        let (Some(saver), Some(base)) = (self.cell.saver.clone(), self.base) else {
            return Ok(());
        };
        let slot = &self.slots[task as usize];
        let (Some(cell), Some(output)) = (&slot.cell, &slot.output) else {
            return Ok(());
        };
        // What the checkpoint's schema has no name for cannot be stored on top of it. The task is then not
        // recorded, and runs again should this superstep be resumed.
        let writes = match &self.older {
            Some(fields) => fields.stored_writes(&output.writes),
            None => Some(output.writes.clone()),
        };
        let Some(writes) = writes else { return Ok(()) };
        let result = TaskResult {
            task: TaskId::derive(base, "", cell.step, &cell.node, cell.each),
            node: cell.node.clone(),
            writes,
            route: output.route.clone(),
            targets: slot.targets.clone(),
        };
        let thread = self.cell.thread.clone();
        self.tasks.records.push(Box::pin(async move {
            let counted = saver.record(&thread, base, result.clone()).await;
            (result, counted)
        }));
        Ok(())
    }

    /// Waits until all results are recorded. When another driver's result came first, ours does not count:
    /// the checkpoint is then loaded anew, with the results that do.
    pub(super) async fn settle_records(&mut self) -> Result<Option<Box<Loaded>>, RunError> {
        while let Some((ours, counted)) = self.tasks.records.next().await {
            self.outrun |= ours != counted?;
        }
        match self.cell.saver.clone() {
            Some(saver) if std::mem::take(&mut self.outrun) => {
                let thread = self.cell.thread.clone();
                let loaded = saver.load(&thread, At::Head).await?;
                loaded
                    .map(|loaded| Some(Box::new(loaded)))
                    .ok_or_else(|| ThreadError::NeverRan(thread).into())
            }
            _ => Ok(None),
        }
    }

    /// Cancels what still runs, and waits until it has stopped. What came to its end before it could be
    /// cancelled counts: results are recorded, questions are asked.
    pub(super) async fn abort(&mut self) -> Result<(), RunError> {
        self.cell.revoke();
        self.tasks.inline = None;
        self.tasks.spawned.abort_all();
        while let Some(joined) = self.tasks.spawned.join_next().await {
            match joined {
                Ok((task, _, End::Finished { output, targets })) => self.keep(task, output, targets.ok())?,
                Ok((task, _, End::Paused(asks))) => self.slots[task as usize].open = asks,
                // The first failure is the caller's.
                Ok((_, _, End::Failed(_))) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Keeps the result of a task that finished while the run was given up.
    fn keep(&mut self, task: u32, output: Output, targets: Option<Targets>) -> Result<(), RunError> {
        let recorded = targets.and_then(|targets| self.record_targets(&targets).ok().flatten());
        let slot = &mut self.slots[task as usize];
        slot.output = Some(output);
        slot.targets = recorded;
        if slot.targets.is_some() {
            self.task_finished(task, false);
        }
        self.record(task)
    }
}
