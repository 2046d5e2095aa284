//! The work on top of checkpoints: questions and failures.

use std::cell::RefCell;
use std::collections::BTreeMap;

use superstep_core::checkpoint::StepRecord;
use superstep_core::id::ThreadId;

use crate::failure::Failure;
use crate::json_shapes::{FailedTask, Question};
use crate::redaction::Redaction;
use crate::source::Source;

/// The work on top of the checkpoints of a thread and of threads that share its history, without secrets. Those are
/// read only if there is such work.
pub(super) struct Unfinished<'s> {
    source: &'s Source,
    thread: &'s ThreadId,
    known: RefCell<BTreeMap<ThreadId, Redaction>>,
}

impl<'s> Unfinished<'s> {
    pub(super) fn of(source: &'s Source, thread: &'s ThreadId) -> Self {
        Self { source, thread, known: RefCell::default() }
    }

    /// Returns the questions and the failures on a checkpoint.
    pub(super) fn on(&self, step: &StepRecord) -> Result<(Vec<Question>, Vec<FailedTask>), Failure> {
        let (mut questions, mut failures) = (Vec::new(), Vec::new());
        for ask in &step.work.asks {
            let mut ask = ask.clone();
            let mut redaction = self.redaction(self.thread)?;
            if !redaction.knows(&ask) {
                redaction = self.redaction(&step.thread)?;
            }
            redaction.in_ask(&mut ask);
            questions.push(Question::of(&ask)?);
        }
        for failure in &step.work.failures {
            let mut failure = failure.clone();
            // Only the latest checkpoint of the thread that wrote it has failures.
            self.redaction(&step.thread)?.in_failure(&mut failure);
            failures.push(FailedTask {
                node: failure.node,
                error: failure.error,
                attempts: failure.attempts,
            });
        }
        Ok((questions, failures))
    }

    /// Returns the redaction of a thread.
    fn redaction(&self, thread: &ThreadId) -> Result<Redaction, Failure> {
        if let Some(known) = self.known.borrow().get(thread) {
            return Ok(known.clone());
        }
        let read = Redaction::of(self.source, thread, None)?;
        self.known.borrow_mut().insert(thread.clone(), read.clone());
        Ok(read)
    }
}
