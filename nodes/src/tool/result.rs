//! The results of calls.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ToolError, ToolFailure, ToolOutput};
use crate::message::{Content, MessageId, ToolCall, ToolMessage, ToolStatus};

/// The way in which a call ended. There is no other, and each call ends in exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    /// The tool did its work.
    Ok,
    /// The tool failed.
    Error,
    /// The call was not permitted, and not made.
    Denied,
    /// There is no such tool, or the input does not fit it; the call was not made.
    Invalid,
    /// The work was stopped, before the call was made or while it was.
    Cancelled,
    /// The tool took too long.
    TimedOut,
}

impl From<ToolOutcome> for ToolStatus {
    fn from(outcome: ToolOutcome) -> Self {
        match outcome {
            ToolOutcome::Ok => Self::Ok,
            _ => Self::Error,
        }
    }
}

/// The result of a call: its outcome, and the content that the model reads.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    outcome: ToolOutcome,
    /// The content that the model reads.
    pub content: Content,
    /// The output for programs.
    pub data: Option<Value>,
}

impl ToolResult {
    /// Makes the result of a tool that did its work.
    pub fn done(output: impl Into<ToolOutput>) -> Self {
        let ToolOutput { content, data } = output.into();
        Self { outcome: ToolOutcome::Ok, content, data }
    }

    /// Makes the result of a tool that failed; the content says why.
    pub fn failed(content: impl Into<Content>) -> Self {
        Self { outcome: ToolOutcome::Error, content: content.into(), data: None }
    }

    /// Makes the result that a tool has if there is nothing special about it: its output, or a text that says that the
    /// tool of this name failed, and why.
    pub fn of(name: &str, result: Result<ToolOutput, ToolFailure>) -> Self {
        match result {
            Ok(output) => Self::done(output),
            Err(reason) => Self::failed(format!("the tool `{name}` failed: {reason}")),
        }
    }

    /// Returns the way in which the call ended.
    pub const fn outcome(&self) -> ToolOutcome {
        self.outcome
    }

    /// Makes the message that answers the call.
    pub fn into_message(self, id: impl Into<MessageId>, call: &ToolCall) -> ToolMessage {
        ToolMessage {
            id: id.into(),
            tool_call_id: call.id.clone(),
            name: call.name.clone(),
            status: self.outcome.into(),
            content: self.content,
            data: self.data,
        }
    }
}

impl From<ToolError> for ToolResult {
    fn from(error: ToolError) -> Self {
        Self { outcome: error.outcome(), content: Content::text(error.to_string()), data: None }
    }
}
