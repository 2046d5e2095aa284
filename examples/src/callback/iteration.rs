//! The cost of the iterations of a run.

use std::iter::Sum;

use superstep::reducer::Addend;

use super::CallbackState;
use superstep::nodes::message::{AiMessage, Message};
use superstep::nodes::model::{TokenCounter, Usage};
use superstep::nodes::node::CallCost;

/// The cost of an iteration: of its model call, and of the tool calls in the reply. The costs of a run can be summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IterationCost {
    /// The usage of the model, as its provider reports it.
    pub usage: Usage,
    /// The time that the model took, in milliseconds.
    pub model_ms: u64,
    /// The time that the tools took, one after the other, in milliseconds.
    pub tools_ms: u64,
    /// The tokens that the iteration added to the conversation.
    pub added: AddedTokens,
}

/// The number of tokens that an iteration added to the conversation, by kind. All later requests contain them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AddedTokens {
    /// The agent's instructions; in the first iteration only.
    pub system: u64,
    /// The user's message; in the first iteration only.
    pub message: u64,
    /// The text of the model.
    pub reasoning: u64,
    /// The tool calls of the model.
    pub tool_calls: u64,
    /// The results of the calls.
    pub tool_results: u64,
}

impl CallbackState {
    /// Returns the cost of each iteration of the last run, in order; `counter` counts the tokens that it added.
    pub fn iterations(&self, counter: &dyn TokenCounter) -> Vec<IterationCost> {
        let messages = self.last_run();
        let mut iterations = Vec::new();
        let mut begin = AddedTokens { system: counter.text(&self.system), ..AddedTokens::default() };
        for message in messages {
            match (message, iterations.last_mut()) {
                (Message::Ai(reply), _) => {
                    let added = std::mem::take(&mut begin).and_reply(reply, counter);
                    iterations.push(IterationCost { added, ..IterationCost::default() });
                }
                (Message::Tool(result), Some(asked)) => {
                    asked.added.tool_results += counter.content(&result.content);
                }
                _ => begin.message += counter.content(message.content()),
            }
        }
        // The calls of the last run are at the end.
        let mut costs = self.calls.iter().rev();
        for iteration in iterations.iter_mut().rev() {
            for cost in costs.by_ref() {
                match cost {
                    CallCost::Tool { elapsed_ms, .. } => {
                        iteration.tools_ms = iteration.tools_ms.saturating_add(*elapsed_ms);
                    }
                    CallCost::Model { usage, elapsed_ms, .. } => {
                        (iteration.usage, iteration.model_ms) = (*usage, *elapsed_ms);
                        break;
                    }
                    _ => {}
                }
            }
        }
        iterations
    }
}

impl AddedTokens {
    fn and_reply(self, reply: &AiMessage, counter: &dyn TokenCounter) -> Self {
        let calls = reply.tool_calls.iter();
        let calls = calls.map(|call| counter.text(&call.name) + counter.text(&call.input.to_string()));
        Self { reasoning: counter.content(&reply.content), tool_calls: calls.sum(), ..self }
    }
}

impl Sum for IterationCost {
    /// Adds up the costs. A sum saturates at the largest value of its type.
    fn sum<I: Iterator<Item = Self>>(iterations: I) -> Self {
        iterations.fold(Self::default(), |sum, more| Self {
            usage: plus(sum.usage, more.usage),
            model_ms: sum.model_ms.saturating_add(more.model_ms),
            tools_ms: sum.tools_ms.saturating_add(more.tools_ms),
            added: AddedTokens {
                system: sum.added.system.saturating_add(more.added.system),
                message: sum.added.message.saturating_add(more.added.message),
                reasoning: sum.added.reasoning.saturating_add(more.added.reasoning),
                tool_calls: sum.added.tool_calls.saturating_add(more.added.tool_calls),
                tool_results: sum.added.tool_results.saturating_add(more.added.tool_results),
            },
        })
    }
}

fn plus(mut sum: Usage, more: Usage) -> Usage {
    match sum.try_add(more) {
        Ok(()) => sum,
        Err(_) => Usage::of(u64::MAX, u64::MAX),
    }
}
