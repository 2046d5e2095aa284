//! The results of tasks: keeps, records and reports them, and failures too.

use std::boxed::Box;
use std::sync::Arc;
use std::time::Duration;
use std::vec::Vec;

use futures_util::StreamExt;

use super::attempt::End;
use super::drive::Driver;
use super::tasks::Attempted;
use crate::checkpoint::{CheckpointerExt, FailureRecord, StoreError, TargetRecord, TaskResult};
use crate::engine::{Event, Failure, TaskNumber};
use crate::error::{NodeError, NodeErrorKind};
use crate::graph::{NodeId, Targets};
use crate::node::{Done, Next, Note, RunCell};
use crate::run::runtime::error::{NodeFailure, RunError};
use crate::run::runtime::event::EventKind;
use crate::run::runtime::redact;
use crate::state::{CodecError, Logged, SecretTexts};

impl Driver {
    /// Handles the end of an attempt.
    pub(crate) fn ended(&mut self, ended: Attempted) -> Event {
        let Attempted { task, attempt, cell, end } = ended;
        self.superstep[task].cell = Some(cell);
        if !matches!(end, End::Finished { .. })
            && let Some(recorder) = &self.recorder
        {
            recorder.forget(task.get());
        }
        match end {
            End::Finished { done, targets } => {
                let targets = targets.and_then(|targets| match self.record_targets(&targets) {
                    Ok(recorded) => Ok((targets, recorded)),
                    Err(error) => Err(Box::new(NodeError::new(NodeErrorKind::Codec, error))),
                });
                self.superstep[task].output = Some(done);
                match targets {
                    Ok((targets, recorded)) => {
                        self.superstep[task].targets = recorded;
                        self.task_finished(task, false);
                        Event::TaskFinished { task, targets }
                    }
                    Err(error) => {
                        self.keep_failure(task, attempt, *error);
                        Event::RoutingFailed { task }
                    }
                }
            }
            End::Paused(asks) => {
                self.superstep[task].rare().open = asks;
                self.emit(|driver| {
                    let (node, step) = driver.place(task);
                    EventKind::TaskPaused { step, task: task.get(), node }
                });
                Event::TaskPaused { task }
            }
            End::Failed(error) => self.failed(task, attempt, error),
        }
    }

    fn failed(&mut self, task: TaskNumber, attempt: u32, error: NodeError) -> Event {
        if matches!(error.downcast_ref(), Some(StoreError::Superseded { .. } | StoreError::LeaseLost { .. }))
        {
            return Event::Superseded;
        }
        let (failure, error) = self.after_failure(task, attempt, error);
        self.keep_failure(task, attempt, error);
        Event::AttemptFailed { task, failure }
    }

    /// Returns the next step that the policies of a task's node allow after a failed attempt. If the error asked
    /// for too long a wait, the returned error says so.
    fn after_failure(&self, task: TaskNumber, attempt: u32, error: NodeError) -> (Failure, NodeError) {
        let RunCell { tape, deck, .. } = &*self.cell;
        if tape.as_ref().is_some_and(|tape| tape.stops(task.get()))
            || deck.as_ref().is_some_and(|deck| deck.is_broken())
        {
            return (Failure::OffRecord, error);
        }
        let planned = self.machine.task(task).expect("a task of the running superstep ended");
        let node = self.runtime.program.node(planned.node);
        let none_left = Failure::NoneLeft { has_handler: node.handler.is_some() };
        let policy = node.policy.retries.iter().find(|retry| retry.covers(&error));
        let Some(policy) = policy.filter(|_| !self.machine.is_handling(task)) else {
            return (none_left, error);
        };
        match policy.next(attempt, &error, self.runtime.ambient.roll()) {
            // A replay has nothing to wait for.
            Next::Attempt(_) if tape.is_some() => (Failure::Retry { after: Duration::ZERO }, error),
            Next::Attempt(after) => (Failure::Retry { after }, error),
            Next::NoneLeft => (none_left, error),
            Next::WaitTooLong(longest) => (none_left, error.not_waited_for(longest)),
        }
    }

    /// Runs another attempt of a task.
    pub(crate) fn retry(&mut self, task: TaskNumber, attempt: u32, after: Duration) {
        self.tell_failure(task, Some(after), false);
        self.start(task, attempt, after);
    }

    /// Runs the error handler of a task's node.
    pub(crate) fn hand_over(&mut self, task: TaskNumber, attempt: u32) {
        if self.superstep[task].rare().error.is_some() {
            self.tell_failure(task, None, true);
            let failure = self.failure_record(task);
            self.superstep[task].rare().failure = Some(Arc::new(failure));
        }
        self.start(task, attempt, Duration::ZERO);
    }

    /// Reports that a task failed and is not retried.
    pub(crate) fn fail(&mut self, task: TaskNumber) {
        self.tell_failure(task, None, false);
        if let (Some(tape), Some((error, _))) = (&self.cell.tape, self.superstep[task].error()) {
            tape.note(task.get(), Note::Failed(error.report()));
        }
    }

    /// Passes a failure to the saver, before anything that follows from it.
    pub(crate) fn record_failure(&mut self, task: TaskNumber) {
        if let (Some(saver), Some(base)) = (self.cell.saver.clone(), self.base.checkpoint) {
            let (thread, failure) = (self.cell.thread.clone(), self.failure_record(task));
            self.records.push(Box::pin(async move {
                saver.fail(&thread, base, failure).await?;
                Ok(true)
            }));
        }
    }

    fn failure_record(&self, task: TaskNumber) -> FailureRecord {
        let slot = &self.superstep[task];
        let (error, attempts) = slot.error().expect("a task that failed left its error");
        let cell = slot.cell.as_ref().expect("a task that failed was started");
        let error = error.report();
        FailureRecord { task: cell.any_task_id(), node: cell.node().clone(), attempts, error }
    }

    fn tell_failure(&self, task: TaskNumber, retry: Option<Duration>, handled: bool) {
        self.emit(|driver| {
            let (node, step) = driver.place(task);
            let (error, attempt) = driver.superstep[task].error().expect("a task that failed left its error");
            let retry_in_ms = retry.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
            let task = task.get();
            EventKind::TaskFailed { step, task, node, attempt, error: error.report(), retry_in_ms, handled }
        });
    }

    /// Keeps a failure until the machine decides how to continue. The retry policies have already seen the error
    /// with its secrets.
    fn keep_failure(&mut self, task: TaskNumber, attempt: u32, error: NodeError) {
        let error = self.without_secrets(error);
        self.superstep[task].rare().error = Some((error, attempt));
    }

    /// Returns the error without the texts of secrets, because events, traces and logs show it.
    fn without_secrets(&self, error: NodeError) -> NodeError {
        let secrets = self.secrets();
        if secrets.is_empty() {
            return error;
        }
        let (report, debug) = (error.report(), std::format!("{error:?}"));
        let texts = report.causes.iter().chain([&report.message, &debug]);
        match texts.into_iter().any(|text| secrets.hide_text(text) != *text) {
            true => error.retold(|text| secrets.hide_text(text)),
            false => error,
        }
    }

    /// Returns the texts of the secrets in the state and in the writes of the superstep's tasks.
    pub(crate) fn secrets(&self) -> SecretTexts {
        let schema = &self.runtime.program.schema;
        let mut secrets = redact::secrets(&*self.base.state, schema);
        for write in self.superstep.slots.iter().flat_map(|slot| slot.writes()) {
            if schema.field(write.field).secret {
                secrets.learn(match &write.write {
                    Logged::Op(op) => op.operand(),
                    Logged::Reduce(argument) => argument,
                });
            }
        }
        secrets
    }

    /// Returns the stored form of a task's dynamic targets; `None` if they are not stored.
    pub(crate) fn record_targets(&self, targets: &Targets) -> Result<Option<Vec<TargetRecord>>, CodecError> {
        if self.cell.saver.is_none() {
            return Ok(None);
        }
        let mut recorded = Vec::new();
        for target in targets.as_slice() {
            let node = self.runtime.program.topology.node_name(NodeId(target.node));
            match &target.items {
                None => recorded.push(TargetRecord { node: node.clone(), input: None }),
                Some(items) => {
                    for item in items {
                        recorded.push(TargetRecord { node: node.clone(), input: Some(item.encode()?) });
                    }
                }
            }
        }
        Ok(Some(recorded))
    }

    /// Passes a finished task's result to the saver, without waiting.
    pub(crate) fn record(&mut self, task: TaskNumber) {
        let (Some(saver), Some(base)) = (self.cell.saver.clone(), self.base.checkpoint) else {
            return;
        };
        let slot = &self.superstep[task];
        let (Some(cell), Some(output)) = (&slot.cell, &slot.output) else {
            return;
        };
        let emitted = self.recorder.as_ref().and_then(|recorder| recorder.of_task(task.get())).map(Box::new);
        let Some(task) = cell.task_id() else {
            return;
        };
        let record = output.record();
        // Writes to fields that the checkpoint's schema does not have cannot be stored on top of it. The task is
        // then not recorded, and runs again if this superstep is resumed.
        let writes = match &self.base.older {
            Some(fields) => fields.stored_writes(&output.writes),
            None => Some(output.writes.clone()),
        };
        let Some(writes) = writes else { return };
        let result = TaskResult {
            task,
            node: cell.node().clone(),
            writes,
            route: record.route.clone(),
            targets: slot.targets.clone(),
            kept: record.kept.clone(),
            handled: record.handled.clone(),
            emitted,
        };
        self.superstep.recorded.add_result(&result);
        let thread = self.cell.thread.clone();
        let is_alone = self.machine.runs_one_task();
        self.records.push(Box::pin(async move {
            let counts = match is_alone {
                true => saver.record_task(&thread, base, result.clone()).await?,
                false => saver.record_result(&thread, base, result.clone()).await?,
            };
            Ok(counts == result)
        }));
    }

    /// Waits until all recorded work is stored.
    pub(crate) async fn settle(&mut self) -> Result<(), RunError> {
        while let Some(counts) = self.records.next().await {
            if !counts? {
                self.machine.handle(Event::Outrun);
            }
        }
        self.machine.handle(Event::Settled);
        Ok(())
    }

    /// Keeps the result of a task that finished while the run was being cancelled.
    pub(crate) fn keep(&mut self, task: TaskNumber, done: Done, targets: Option<Targets>) {
        let recorded = targets.and_then(|targets| self.record_targets(&targets).ok().flatten());
        let slot = &mut self.superstep[task];
        slot.output = Some(done);
        slot.targets = recorded;
        if slot.targets.is_some() {
            self.task_finished(task, false);
        }
        self.record(task);
    }

    pub(crate) fn failure(&mut self, task: TaskNumber) -> NodeFailure {
        let slot = &mut self.superstep[task];
        let (error, attempt) = slot.rare().error.take().expect("a task that failed left its error");
        let handling = slot.rare().failure.as_ref().map(|failure| Box::new(failure.error.clone()));
        let cell = slot.cell.as_ref().expect("a task that failed was started");
        NodeFailure { node: cell.node().clone(), step: cell.facts.step, attempt, error, handling }
    }
}
