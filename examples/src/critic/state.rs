//! The state of a critic's graph.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::nodes::message::{AiMessage, Message, MessageLog, ToolMessage, ToolStatus};
use superstep::nodes::model::{Ledger, StopReason, Usage};
use superstep::nodes::tool::ToolError;
use superstep::reducer::{KeyedLog, Sum};
use superstep::state::State;

use super::prompt::COMPOSITION_TOOL;
use super::settings::{OnToolError, VisionDetail};

/// The maximum number of model calls with tools. After that the model is called once more, for its last word.
pub const MAX_CRITIC_ITERATIONS: u32 = 3;

/// The beginning of the answer to a call that was not made.
const NOT_RUN: &str = "Not run: ";

/// The state of a [`critic`](super::critic()) graph: one critique.
///
/// It begins with an input made with [`of`](Self::of). A new input on the same thread begins a new critique.
#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CriticState {
    /// The file of the photograph.
    pub image_path: String,
    /// The prompt.
    pub prompt: String,
    /// The level of detail at which the model looks at it.
    pub detail: VisionDetail,
    /// The maximum number of pixels of a side of the picture that is sent.
    pub max_size: u32,
    /// The handling of a tool that fails.
    pub on_tool_error: OnToolError,
    /// The conversation; the photograph is in its first message.
    #[reducer(KeyedLog)]
    pub messages: MessageLog,
    /// The number of model calls.
    pub iteration: u32,
    /// The stop reason of the last reply.
    pub stop: Option<StopReason>,
    /// All its calls.
    #[reducer(Sum)]
    pub ledger: Ledger,
    /// The usage of the last call.
    pub last_call: Usage,
}

/// The end of a critique.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CriticExit {
    /// The model gave a critique.
    Critiqued,
    /// The model did not finish: its last reply was cut off, refused, or asks for more calls; [`CriticState::stop`]
    /// says which.
    CutShort,
    /// A tool failed, and the settings end the critique then.
    ToolFailed {
        /// The tool.
        tool: String,
        /// The error.
        reason: String,
    },
}

impl CriticState {
    /// Makes the input that begins a critique of the photograph in a file, on any thread.
    ///
    /// Further settings are added to it, as in `CriticState::of("lake.jpg").detail(VisionDetail::High)`, and also hold
    /// for later critiques of the thread.
    pub fn of(image_path: impl Into<String>) -> CriticStateUpdate {
        Self::update()
            .image_path(image_path.into())
            .set_messages(MessageLog::new())
            .iteration(0)
            .stop(None)
            .set_ledger(Ledger::new())
            .last_call(Usage::default())
    }

    /// Returns the last reply of the model.
    fn last_reply(&self) -> Option<&AiMessage> {
        self.messages.iter().rev().find_map(|message| match message {
            Message::Ai(reply) => Some(reply),
            _ => None,
        })
    }

    /// Returns the critique, the last text of the model; empty before its end.
    pub fn output(&self) -> String {
        match self.exit() {
            Some(CriticExit::Critiqued | CriticExit::CutShort) => {
                self.last_reply().map(|reply| reply.content.to_text().into_owned()).unwrap_or_default()
            }
            Some(CriticExit::ToolFailed { .. }) | None => String::new(),
        }
    }

    /// Returns the end of the critique; `None` if it has not ended.
    pub fn exit(&self) -> Option<CriticExit> {
        if let Some(ToolMessage { name, content, .. }) = self.halted_by() {
            let reason = content.to_text().into_owned();
            return Some(CriticExit::ToolFailed { tool: name.clone(), reason });
        }
        let asks = !self.last_reply()?.tool_calls.is_empty();
        match &self.stop {
            _ if asks && self.iteration <= MAX_CRITIC_ITERATIONS => None,
            _ if asks => Some(CriticExit::CutShort),
            None | Some(StopReason::EndTurn | StopReason::StopSequence) => Some(CriticExit::Critiqued),
            Some(_) => Some(CriticExit::CutShort),
        }
    }

    /// Returns the first of the last results that ends the critique because its search failed.
    pub(super) fn halted_by(&self) -> Option<&ToolMessage> {
        // The calls of the last reply are not made.
        if self.on_tool_error == OnToolError::Continue || self.iteration > MAX_CRITIC_ITERATIONS {
            return None;
        }
        let asked = self.messages.iter().rposition(|message| matches!(message, Message::Ai(_)))?;
        self.messages[asked..].iter().find_map(|message| match message {
            Message::Tool(result) if result.name == COMPOSITION_TOOL => Some(result).filter(|it| failed(it)),
            _ => None,
        })
    }
}

/// Returns `true` if a search was made and failed, and not if the call was refused or cut off.
fn failed(result: &ToolMessage) -> bool {
    // Only the text of a message shows how its call ended; these two texts are not the tool's own.
    let unfit = ToolError::InvalidInput { name: result.name.clone(), reason: String::new() }.to_string();
    let text = result.content.to_text();
    result.status == ToolStatus::Error && !text.starts_with(&unfit) && !text.starts_with(NOT_RUN)
}
