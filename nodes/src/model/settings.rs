//! The settings of a request beside the conversation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The choice of tools that a model may ask for, among those in the request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model chooses: any tools, or none.
    #[default]
    Auto,
    /// None. They are still described, as the conversation may mention them.
    None,
    /// At least one.
    Required,
    /// The one of this name.
    Tool(String),
}

/// The settings of an answer. A setting that is absent has the provider's default; one that a provider does not know
/// is left out of its request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Settings {
    /// The maximum number of tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// The randomness of the answer, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The amount of thinking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Texts to stop at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// True if the model may ask for several tools at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// Members that are put into the provider's request as they are, over those of the same name.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// The amount of thinking of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Effort {
    /// Little.
    Low,
    /// The usual amount.
    Medium,
    /// Much.
    High,
}

impl Effort {
    /// Returns the name, as providers know it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

impl Settings {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl ToolChoice {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
