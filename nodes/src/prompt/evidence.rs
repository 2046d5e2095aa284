//! What a response rests on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::message::{Message, ToolStatus};

/// The output of a tool, that a response may rest on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The name of the tool.
    pub tool: String,
    /// Its output.
    pub output: String,
}

impl Evidence {
    /// Returns the outputs of the tools that ran without error since the last human message.
    pub fn of_turn(messages: &[Message]) -> Vec<Self> {
        let start = messages.iter().rposition(|message| matches!(message, Message::Human(_))).unwrap_or(0);
        messages[start..]
            .iter()
            .filter_map(|message| match message {
                Message::Tool(result) if result.status == ToolStatus::Ok => {
                    Some(Self { tool: result.name.clone(), output: result.content.to_text().into_owned() })
                }
                _ => None,
            })
            .collect()
    }
}
