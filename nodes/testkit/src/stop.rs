//! The reasons for which a model stops.

/// The reason for which an answer ends, in the words of each vendor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The model has said what it had to say.
    EndTurn,
    /// It wants tools to run.
    ToolUse,
    /// It was cut off at the most tokens that the request allows.
    MaxTokens,
    /// It came to a text at which it was to stop. Only Anthropic tells which.
    StopSequence(String),
    /// It is to be asked to go on. OpenAI has no word for it and tells an end.
    Pause,
    /// It declines, or a filter does.
    Refusal,
    /// It was cut off at the end of its context window. OpenAI tells it as [`MaxTokens`](Self::MaxTokens).
    ContextWindow,
    /// It failed after the answer had begun: an error event, or `response.failed`.
    Failed {
        /// The code of the error with OpenAI, its type with the other vendors.
        code: String,
        /// The message of the error.
        message: String,
    },
}
