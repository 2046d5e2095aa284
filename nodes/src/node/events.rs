//! The events that nodes emit while a run is observed.

use serde::{Deserialize, Serialize};
use superstep_core::run::{EventKind, RunEvent};

use crate::message::MessageId;
use crate::model::{ModelEvent, Purpose, Usage};
use crate::tool::ToolOutcome;

/// One piece of a model's output, emitted as a message chunk while a run is observed.
///
/// The output of a call whose outcome is taken from the record is emitted again, in pieces of a word.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelChunk {
    /// The id of the message that the piece belongs to: that of the message which the state gets, where the reply becomes
    /// one. The calls of one task have different ids.
    pub message: MessageId,
    /// The purpose of the call.
    pub purpose: Purpose,
    /// The event of the model's stream.
    pub event: ModelEvent,
}

impl ModelChunk {
    /// Reads the event of a run; `None` if the event is not a piece of a model's output.
    ///
    /// ```
    /// use superstep_core::run::RunEvent;
    /// use superstep_nodes::model::ModelEvent;
    /// use superstep_nodes::node::ModelChunk;
    ///
    /// fn show(event: &RunEvent) {
    ///     if let Some(ModelChunk { event: ModelEvent::TextDelta { text }, .. }) = ModelChunk::of(event) {
    ///         print!("{text}");
    ///     }
    /// }
    /// ```
    pub fn of(event: &RunEvent) -> Option<Self> {
        match &event.kind {
            EventKind::MessageChunk { chunk, .. } => chunk.decode().ok(),
            _ => None,
        }
    }
}

/// A call of a model that has ended, as a custom event of the name [`ModelCall::EVENT`]: every node that asks a model
/// emits one for each call, while the run is observed. It holds neither the request nor the reply.
///
/// ```
/// use superstep_nodes::model::{Purpose, Usage};
/// use superstep_nodes::node::ModelCall;
///
/// let json = r#"{"purpose":"agent","asked":"claude-x","model":"claude-x-20260101","usage":{"input_tokens":900,"output_tokens":20},
///     "elapsed_ms":850}"#;
/// let call: ModelCall = serde_json::from_str(json)?;
/// assert_eq!((call.purpose, call.usage), (Purpose::Agent, Usage::of(900, 20)));
/// assert!(!call.recorded && call.error.is_none());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCall {
    /// The purpose of the call.
    pub purpose: Purpose,
    /// The model that was asked.
    pub asked: String,
    /// The model that answered, as it says itself; the one that was asked if none did.
    pub model: String,
    /// The usage of the call; zero if it failed.
    pub usage: Usage,
    /// The duration of the call, in milliseconds; that of the original call if the reply was recorded.
    pub elapsed_ms: u64,
    /// `true` if the reply was taken from the record, so that no model was asked now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recorded: bool,
    /// The [kind](crate::model::ModelError::kind) of the error, if there is no reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl ModelCall {
    /// The name of the events of model calls.
    pub const EVENT: &'static str = "model_call";
}

/// A tool call that was answered, as a custom event of the name [`ToolRun::EVENT`]: every node that runs tools emits
/// one for each call, while the run is observed. It holds neither the input nor the output of the tool;
/// [`ToolEvent`](crate::tool::ToolEvent)s do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRun {
    /// The id of the call.
    pub call: String,
    /// The name of the tool; nothing if there is no tool of the name that the model said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The way in which it ended.
    pub outcome: ToolOutcome,
    /// The duration of the call, in milliseconds; that of the original call if the answer was recorded.
    pub elapsed_ms: u64,
    /// `true` if the answer was taken from the record, so that no tool was called now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recorded: bool,
}

impl ToolRun {
    /// The name of the events of tool calls that were answered.
    pub const EVENT: &'static str = "tool_run";
}

/// The length of a conversation, as a custom event of the name [`ConversationLength::EVENT`]: an
/// [`Agent`](super::Agent) emits it whenever it gives a response, while the run is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationLength {
    /// The number of messages, including the response.
    pub messages: u64,
}

impl ConversationLength {
    /// The name of the events that tell how long a conversation is.
    pub const EVENT: &'static str = "conversation";
}

/// The text of an agent on a visit, as a custom event of the name [`Reasoning::EVENT`]: an [`Agent`](super::Agent) with
/// [`tell_reasoning`](super::Agent::tell_reasoning) emits it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reasoning {
    /// The agent's name, as given to [`Agent::tell_reasoning`](super::Agent::tell_reasoning).
    pub agent: String,
    /// All text of the reply.
    pub text: String,
}

impl Reasoning {
    /// The name of the events of agents' texts.
    pub const EVENT: &'static str = "agent_reasoning";
}

#[cfg(test)]
mod tests;
