//! Tool calls that begin while the model still speaks.

use std::pin::pin;
use std::sync::Arc;

use superstep_core::error::NodeError;
use tokio::sync::mpsc;

use super::model_calls::ModelCalls;
use super::tool_runner::{Answer, RunningTools, ToolRunner, ToolTask};
use crate::message::ToolCall;
use crate::model::{ChatModel, ModelReply, ModelRequest};
use crate::tool::ToolEffect;

/// Asks a model, and runs the first calls of its reply as soon as their inputs are complete. Returns the reply, and the
/// answers to those calls.
///
/// Only calls that change nothing are run, up to the first that does. A reply that is still arriving may break off and
/// be asked for again, and then differ. Which calls those are follows from the reply alone, so a recorded reply has the
/// same.
pub(super) async fn ask(
    calls: &ModelCalls,
    model: &Arc<dyn ChatModel>,
    request: ModelRequest,
    tools: &ToolRunner,
    task: &ToolTask,
) -> Result<(ModelReply, Vec<Answer>), NodeError> {
    let mut early = EarlyCalls { tools, task, running: tools.begin(task), seen: 0, is_over: false };
    let mut answers = Vec::new();
    let (tell, mut told) = mpsc::unbounded_channel();
    // Polling the one also delivers the other.
    let mut tell = |call| drop(tell.send(call));
    let reply = {
        let mut asking = pin!(calls.ask_and_tell(model, request, Some(&mut tell)));
        loop {
            tokio::select! {
                biased;
                Some(call) = told.recv() => early.take(call),
                reply = &mut asking => break reply?,
                Some(answer) = early.running.next(), if !early.running.is_done() => answers.push(answer),
            }
        }
    };
    // Those of a recorded reply, and those that were told of last. Also of a reply that was cut off: what has run is
    // said.
    for call in reply.tool_calls.iter().skip(early.seen) {
        early.take(call.clone());
    }
    while let Some(answer) = early.running.next().await {
        answers.push(answer);
    }
    Ok((reply, answers))
}

/// The calls of a reply that need not wait for its end.
struct EarlyCalls<'t> {
    tools: &'t ToolRunner,
    task: &'t ToolTask,
    running: RunningTools<'t>,
    /// The number of calls so far.
    seen: usize,
    /// A call has come that has to wait, and so have all after it.
    is_over: bool,
}

impl EarlyCalls<'_> {
    /// Runs the next call of the reply, if it may run before the reply is kept.
    fn take(&mut self, call: ToolCall) {
        let position = self.seen;
        self.seen += 1;
        let prepared = self.tools.prepare(&call);
        self.is_over |= prepared.effect() != ToolEffect::ReadOnly;
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
