//! A custom event for each call of a model.

use serde::{Deserialize, Serialize};

use crate::model::{Purpose, Usage};

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

#[cfg(test)]
mod tests;
