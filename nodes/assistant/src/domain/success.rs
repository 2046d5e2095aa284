//! Checks of success.

use async_trait::async_trait;
use serde_json::Value;
use superstep_nodes::message::{Message, ToolMessage, ToolStatus};

use crate::hook::{EndEvent, HookError, StopAnswer, StopHook};
use crate::permission::NOT_PERMITTED;

/// The check that the last call of some tools for this message of the user succeeded, such as the last query. A
/// response without such a call passes: not each message asks for work. It objects once.
#[derive(Clone, Debug)]
pub struct LastCallSucceeded {
    name: String,
    tools: Vec<String>,
}

/// The check of a hook, made only if some tools were called for this message of the user: a question about the work
/// needs no test of it.
#[cfg(all(feature = "tools-shell", unix))]
pub(super) struct AfterCalls<H> {
    pub(super) tools: Vec<String>,
    pub(super) hook: H,
}

impl LastCallSucceeded {
    /// Makes a check of calls of these tools.
    pub fn new(name: impl Into<String>, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { name: name.into(), tools: tools.into_iter().map(Into::into).collect() }
    }
}

/// Returns the last answer of these tools. A call that was not permitted has not been made.
fn last<'m>(messages: &'m [Message], tools: &[String]) -> Option<&'m ToolMessage> {
    let is_made = |answer: &ToolMessage| !answer.content.to_text().starts_with(NOT_PERMITTED);
    messages.iter().rev().find_map(|message| match message {
        Message::Tool(answer) if tools.contains(&answer.name) && is_made(answer) => Some(answer),
        _ => None,
    })
}

/// Returns the reason for which a call counts as failed. A server that answers with an error has answered.
fn failure(answer: &ToolMessage) -> Option<String> {
    let status = answer.data.as_ref().and_then(|data| data.get("status")).and_then(Value::as_u64);
    match (answer.status, status) {
        (ToolStatus::Ok, Some(status @ 400..)) => {
            Some(format!("the server answered with the status {status}"))
        }
        (ToolStatus::Ok, _) => None,
        (ToolStatus::Error, _) => Some(answer.content.to_text().chars().take(500).collect()),
    }
}

#[async_trait]
impl StopHook for LastCallSucceeded {
    fn name(&self) -> &str {
        &self.name
    }

    async fn before_end(&self, end: &EndEvent<'_>) -> Result<StopAnswer, HookError> {
        let last = last(end.messages, &self.tools);
        Ok(match last.and_then(|answer| Some((answer, failure(answer)?))) {
            Some((answer, reason)) if !end.stop_hook_active => StopAnswer::Object(format!(
                "the last call of {} failed: {reason}. Try another way, or say why it cannot be done",
                answer.name
            )),
            _ => StopAnswer::Pass,
        })
    }
}

#[cfg(all(feature = "tools-shell", unix))]
#[async_trait]
impl<H: StopHook> StopHook for AfterCalls<H> {
    fn name(&self) -> &str {
        self.hook.name()
    }

    async fn before_end(&self, end: &EndEvent<'_>) -> Result<StopAnswer, HookError> {
        match last(end.messages, &self.tools) {
            Some(_) => self.hook.before_end(end).await,
            None => Ok(StopAnswer::Pass),
        }
    }
}
