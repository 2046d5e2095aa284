//! Tool calls that begin while the model still speaks.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use superstep_core::error::NodeError;
use tokio::sync::mpsc;

use super::model_calls::ModelCalls;
use super::tool_runner::{Answer, RunningTools, ToolRunner, ToolTask};
use crate::message::ToolCall;
use crate::model::{ChatModel, ModelError, ModelReply, ModelRequest};
use crate::tool::ToolEffect;

/// The calls of a reply that need not wait for its end.
pub struct EarlyCalls<'t> {
    tools: &'t ToolRunner,
    task: &'t ToolTask,
    running: RunningTools<'t>,
    /// Decides on calls that change nothing.
    may_begin: MayBegin<'t>,
    /// The number of calls so far.
    seen: usize,
    /// A call has come that has to wait, and so have all after it.
    is_over: bool,
}

/// A function that decides whether a call, the nth of a reply, may begin.
type MayBegin<'t> = Box<dyn FnMut(usize, ToolCall) -> BoxFuture<'t, bool> + Send + 't>;

impl<'t> EarlyCalls<'t> {
    /// Runs calls in `running` if this function says that they may begin. It has to decide in the same way in a replay.
    pub fn new(
        tools: &'t ToolRunner,
        task: &'t ToolTask,
        running: RunningTools<'t>,
        may_begin: impl FnMut(usize, ToolCall) -> BoxFuture<'t, bool> + Send + 't,
    ) -> Self {
        Self { tools, task, running, may_begin: Box::new(may_begin), seen: 0, is_over: false }
    }

    /// Asks a model, and runs the first calls of its reply as soon as their inputs are complete. Returns the reply, and the
    /// answers to those calls. A failed call is the inner error.
    ///
    /// Only calls that change nothing are run, up to the first that does, or that may not begin. A reply that is still
    /// arriving may break off and be asked for again, and then differ. Which calls those are follows from the reply and from
    /// the permission, so a recorded reply has the same.
    pub async fn ask(
        mut self,
        calls: &ModelCalls,
        model: &Arc<dyn ChatModel>,
        request: ModelRequest,
    ) -> Result<Result<(ModelReply, Vec<Answer>), ModelError>, NodeError> {
        let mut answers = Vec::new();
        let (tell, mut told) = mpsc::unbounded_channel();
        // Polling the one also delivers the other.
        let mut tell = |call| drop(tell.send(call));
        let answered = {
            let mut asking = pin!(calls.ask_and_tell(model, request, &mut tell));
            loop {
                tokio::select! {
                    biased;
                    Some(call) = told.recv() => self.take(call).await,
                    answered = &mut asking => break answered?,
                    Some(answer) = self.running.next(), if !self.running.is_done() => answers.push(answer),
                }
            }
        };
        let reply = match answered {
            Ok(reply) => reply,
            Err(error) => return Ok(Err(error)),
        };
        // Those of a recorded reply, and those that were told of last. Also of a reply that was cut off: what has run is
        // said.
        for call in reply.tool_calls.iter().skip(self.seen) {
            self.take(call.clone()).await;
        }
        while let Some(answer) = self.running.next().await {
            answers.push(answer);
        }
        Ok(Ok((reply, answers)))
    }

    /// Runs the next call of the reply, if it may run before the reply is kept.
    async fn take(&mut self, call: ToolCall) {
        let position = self.seen;
        self.seen += 1;
        let prepared = self.tools.prepare(&call);
        self.is_over = self.is_over
            || prepared.effect() != ToolEffect::ReadOnly
            || !(self.may_begin)(position, call.clone()).await;
        if !self.is_over {
            // A reply that is asked for again may give the same id to another call.
            let key = format!("{position}:{}:{}", call.id, digest(&call));
            self.running.hand_in(self.task.message_id_of(position), call, prepared, key);
        }
    }
}

/// Returns a key that distinguishes calls of one tool by their input.
fn digest(call: &ToolCall) -> String {
    blake3::hash(call.input.to_string().as_bytes()).to_hex()[..16].to_owned()
}

#[cfg(test)]
mod tests;
