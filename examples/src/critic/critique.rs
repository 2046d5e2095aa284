//! The result of a critic.

use std::fmt;

use serde::{Deserialize, Serialize};
use superstep::nodes::model::{Ledger, StopReason, Usage};

use super::error::CriticError;
use super::state::{CriticExit, CriticState};

/// A critique of a photograph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Critique {
    /// The model's answer.
    pub output: String,
    /// The file of the photograph.
    pub image_path: String,
    /// The tokens used by all calls of the model.
    pub token_usage: TokenUsage,
    /// The tokens used by the last call.
    pub last_call: TokenUsage,
    /// The calls by model, from which the [cost](Ledger::cost) is computed.
    #[serde(default)]
    pub ledger: Ledger,
    /// The stop reason, which distinguishes a critique that was cut off from a short one.
    #[serde(default)]
    pub stop: Option<StopReason>,
}

/// The number of tokens that calls used. A number that the provider does not report is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenUsage {
    /// The tokens of requests.
    pub input_tokens: u64,
    /// The tokens of replies.
    pub output_tokens: u64,
    /// The sum of both.
    pub total_tokens: u64,
}

impl Critique {
    /// Reads the critique of a state whose run has ended.
    ///
    /// # Errors
    /// If a tool ended the critique, or the last reply of the model has no text.
    pub fn of(state: &CriticState) -> Result<Self, CriticError> {
        if let Some(CriticExit::ToolFailed { tool, reason }) = state.exit() {
            return Err(CriticError::ToolFailed { tool, reason });
        }
        let output = state.output();
        if output.trim().is_empty() {
            return Err(CriticError::NoCritique { stop: state.stop.clone() });
        }
        Ok(Self {
            output,
            image_path: state.image_path.clone(),
            token_usage: state.ledger.total().usage.into(),
            last_call: state.last_call.into(),
            ledger: state.ledger.clone(),
            stop: state.stop.clone(),
        })
    }
}

impl From<Usage> for TokenUsage {
    fn from(usage: Usage) -> Self {
        let Usage { input_tokens, output_tokens, .. } = usage;
        Self { input_tokens, output_tokens, total_tokens: usage.total() }
    }
}

impl fmt::Display for TokenUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { input_tokens, output_tokens, total_tokens } = self;
        write!(f, "{input_tokens} tokens read, {output_tokens} written, {total_tokens} in all")
    }
}
