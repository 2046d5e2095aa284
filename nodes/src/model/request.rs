//! The request to a model.

use std::fmt;

use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Settings, ToolChoice};
use crate::message::{AiMessage, Conversation};
use crate::tool::ToolSpec;

/// A complete request to a model; nothing is remembered between two requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ModelRequest {
    /// The purpose of the call.
    pub purpose: Purpose,
    /// Standing instructions, before any system messages of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The conversation.
    pub messages: Conversation,
    /// The tools the model may ask for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// The tools that it may ask for.
    #[serde(default, skip_serializing_if = "ToolChoice::is_default")]
    pub tool_choice: ToolChoice,
    /// The required form of the reply's text.
    #[serde(default)]
    pub output: OutputFormat,
    /// The settings of the answer.
    #[serde(default, skip_serializing_if = "Settings::is_default")]
    pub settings: Settings,
    /// `true` if the conversation ends with the beginning of the reply: see [`continuing`](Self::continuing).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continues: bool,
}

/// The required form of a reply's text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutputFormat {
    /// Any text.
    #[default]
    Text,
    /// One JSON value that fits a schema. The caller parses and checks it.
    Json {
        /// The name of the value, which providers require.
        name: String,
        /// The JSON Schema.
        schema: Value,
    },
}

impl OutputFormat {
    /// Returns the format of a JSON value that deserialises into `T`.
    pub fn json<T: JsonSchema>() -> Self {
        Self::Json { name: T::schema_name().into_owned(), schema: schema_for!(T).into() }
    }
}

impl ModelRequest {
    /// Makes a request without instructions and tools, for a reply in text.
    pub fn new(purpose: Purpose, messages: impl Into<Conversation>) -> Self {
        let messages = messages.into();
        Self {
            purpose,
            system: None,
            messages,
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            output: OutputFormat::Text,
            settings: Settings::default(),
            continues: false,
        }
    }

    /// Asks for the rest of a reply in which the model [paused](super::StopReason::Pause): the conversation ends with
    /// what it has said, as it stands, and nothing is added that the model would answer.
    pub fn continuing(mut self, paused: AiMessage) -> Self {
        self.messages.push(paused.into());
        self.continues = true;
        self
    }

    /// Sets the standing instructions.
    pub fn with_system(mut self, system: impl Into<String>) -> Self {
        self.system = Some(system.into());
        self
    }

    /// Sets the tools the model may ask for.
    pub fn with_tools(mut self, tools: Vec<ToolSpec>) -> Self {
        self.tools = tools;
        self
    }

    /// Sets which of the tools it may ask for.
    pub fn with_tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = choice;
        self
    }

    /// Sets how it is to answer.
    pub fn with_settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the form of the reply.
    pub fn with_output(mut self, output: OutputFormat) -> Self {
        self.output = output;
        self
    }
}

/// The purpose of a model call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Purpose {
    /// To answer the task, or to ask for tools.
    Agent,
    /// To judge a response.
    Evaluator,
    /// To compare a response with the earlier ones.
    Ranker,
    /// To give the final response when time is up.
    Decider,
    /// To summarise the earlier part of a conversation.
    Summarizer,
    /// To decide whether tools are needed.
    Router,
    /// To verify a response against criteria.
    Verifier,
    /// To answer again, after a response was not accepted.
    Refiner,
    /// To decide whether a tool may be called.
    Classifier,
    /// To make an image, for a tool.
    Image,
}

impl Purpose {
    /// Returns the name, as it is in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Evaluator => "evaluator",
            Self::Ranker => "ranker",
            Self::Decider => "decider",
            Self::Summarizer => "summarizer",
            Self::Router => "router",
            Self::Verifier => "verifier",
            Self::Refiner => "refiner",
            Self::Classifier => "classifier",
            Self::Image => "image",
        }
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
