//! Inputs that count once: finds the place of an input in a thread, and the input of a request by its key.
//!
//! ```text
//!   input checkpoint      START's checkpoint      …              every one of them has the request's
//!   next: START      ───► the state with the ───► supersteps     key in its metadata
//!                         input merged
//!   InputStatus::Waiting  InputStatus::Merged
//! ```
//!
//! If another input is stored on top of a waiting one, the waiting one stays in the history, but no later state
//! contains it.

use std::sync::Arc;
use std::vec::Vec;

use super::order::{RequestKey, Verb};
use crate::checkpoint::{At, Checkpoint, Summary};
use crate::id::{CheckpointId, RunId, ThreadId};
use crate::run::runtime::error::RunError;
use crate::run::runtime::history::History;
use crate::run::runtime::outcome::InputStatus;
use crate::run::runtime::shared::Runtime;
use crate::run::runtime::thread_error::ThreadError;
use crate::run::runtime::thread_head::ThreadHead;

/// The input that a run was given.
pub(crate) enum GivenInput {
    /// With a key.
    Keyed(RequestKey),
    /// An input without a key. The run was about to store it as the checkpoint of this step.
    Of { run: RunId, step: i64 },
}

/// The place of a request's input on the branch of a thread's head.
enum Found {
    /// No state contains it, so the request begins.
    Nowhere,
    /// The head belongs to the request: its work is unfinished, or it was the last one to finish.
    AtHead,
    /// The request has finished here, and other requests followed.
    Finished(CheckpointId),
    /// The state contains its input, but another input came before its work was finished.
    GivenUp,
}

fn input_waits(checkpoint: &Summary) -> bool {
    checkpoint.next.iter().any(|node| node.is_start())
}

impl Runtime {
    /// Reduces a request with a key to its remaining work. `head` is the thread's head. Returns the checkpoint at
    /// which the run begins.
    pub(crate) async fn continued(
        &self,
        thread: &ThreadId,
        key: &RequestKey,
        verb: &mut Verb,
        head: Option<ThreadHead>,
    ) -> Result<Option<ThreadHead>, RunError> {
        if key.is_empty() {
            return Err(RunError::EmptyKey { thread: thread.clone() });
        }
        if self.saver.is_none() {
            return Err(ThreadError::NoCheckpointer.into());
        }
        let Some(head) = head else { return Ok(None) };
        match self.find_input(thread, key, &head.checkpoint).await? {
            Found::Nowhere => Ok(Some(head)),
            Found::AtHead => {
                *verb = Verb::Resume;
                Ok(self.on_time(thread, Some(head)).await?)
            }
            Found::Finished(at) => {
                *verb = Verb::Resume;
                Ok(self.load(thread, At::Id(at)).await?.map(ThreadHead::from))
            }
            Found::GivenUp => {
                let nothing = self.program.initial.decode_update(&[]);
                let nothing =
                    nothing.map_err(|reason| RunError::Encode { what: "the input".into(), reason })?;
                *verb = Verb::Input { update: nothing, whole: false };
                Ok(Some(head))
            }
        }
    }

    async fn find_input(
        &self,
        thread: &ThreadId,
        key: &RequestKey,
        head: &Checkpoint,
    ) -> Result<Found, ThreadError> {
        if key.is_in(&head.metadata) {
            return Ok(Found::AtHead);
        }
        let Some(parent) = head.parent else { return Ok(Found::Nowhere) };
        let mut past = self.past(thread, At::Id(parent))?;
        while let Some(checkpoint) = past.next().await? {
            // An input that still waits in the past was discarded.
            if key.is_in(&checkpoint.metadata) && !input_waits(&checkpoint) {
                let finished = checkpoint.next.is_empty();
                return Ok(if finished { Found::Finished(checkpoint.id) } else { Found::GivenUp });
            }
        }
        Ok(Found::Nowhere)
    }

    fn past(&self, thread: &ThreadId, from: At) -> Result<History, ThreadError> {
        let saver = self.saver.as_ref().ok_or(ThreadError::NoCheckpointer)?;
        Ok(History::new(Arc::clone(saver), thread.clone(), from))
    }

    /// Creates the error of a superseded run. `step` is the step of the last checkpoint that the run knows.
    pub(crate) async fn superseded(
        &self,
        thread: ThreadId,
        given: Option<GivenInput>,
        step: i64,
    ) -> RunError {
        let input = match given {
            None => Ok(InputStatus::NotGiven),
            Some(GivenInput::Keyed(key)) => self.status_of_key(&thread, &key).await,
            Some(GivenInput::Of { run, step: of_input }) => {
                let found = self.status_of_input(&thread, run, of_input).await;
                // If the input's checkpoint was pruned, the run itself knows that its input was merged.
                let own = if step > of_input { InputStatus::Merged } else { InputStatus::NotStored };
                found.map(|found| found.unwrap_or(own))
            }
        };
        match input {
            Ok(input) => RunError::Superseded { thread, input },
            // Without the thread's history, the status of the input is unknown.
            Err(error) => error.into(),
        }
    }

    /// Finds the input of the request with this key.
    async fn status_of_key(&self, thread: &ThreadId, key: &RequestKey) -> Result<InputStatus, ThreadError> {
        let mut past = self.past(thread, At::Head)?;
        let mut status = InputStatus::NotStored;
        let mut is_head = true;
        while let Some(checkpoint) = past.next().await? {
            if key.is_in(&checkpoint.metadata) {
                match input_waits(&checkpoint) {
                    false => return Ok(InputStatus::Merged),
                    true if is_head => status = InputStatus::Waiting,
                    true => {}
                }
            }
            is_head = false;
        }
        Ok(status)
    }

    /// Finds the input that `run` was about to store as the checkpoint of `step`. Returns `None` if that checkpoint
    /// was pruned.
    async fn status_of_input(
        &self,
        thread: &ThreadId,
        run: RunId,
        step: i64,
    ) -> Result<Option<InputStatus>, ThreadError> {
        let mut past = self.past(thread, At::Head)?;
        let mut newer: Vec<Summary> = Vec::new();
        while let Some(checkpoint) = past.next().await? {
            if checkpoint.step > step {
                newer.push(checkpoint);
                continue;
            }
            let is_ours = checkpoint.step == step && checkpoint.run == run;
            return Ok(Some(if is_ours { after_input(&newer) } else { InputStatus::NotStored }));
        }
        Ok(newer.is_empty().then_some(InputStatus::NotStored))
    }
}

/// Returns the status of an input with these checkpoints on top of it, newest first.
fn after_input(newer: &[Summary]) -> InputStatus {
    let is_edit = |checkpoint: &&Summary| checkpoint.ran.iter().any(|node| node.is_edit());
    let next = newer.iter().rev().find(|checkpoint| !(is_edit(checkpoint) && input_waits(checkpoint)));
    match next {
        None => InputStatus::Waiting,
        Some(next) if next.ran.iter().any(|node| node.is_start()) => InputStatus::Merged,
        // Another input, or an edit that dropped the next tasks.
        Some(_) => InputStatus::NotStored,
    }
}
