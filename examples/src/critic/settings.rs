//! The settings of a critic.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::nodes::images::ImagePreparation;
use superstep::nodes::message::Detail;
use superstep::nodes::rag::SearchKnowledge;

use super::prompt::{CRITIC_INSTRUCTIONS, CRITIC_PROMPT};
use superstep::nodes::ModelName;
use superstep::nodes::rag::EmbedderName;

/// All settings of a [`critic`](super::critic()), in code, in a file, or from the environment.
///
/// | field | variable | default | may be |
/// |---|---|---|---|
/// | `model` | `OPENAI_MODEL` | `gpt-4.1` | a model of OpenAI; in code, any [`ModelName`] |
/// | `detail` | `VISION_DETAIL` | `low` | `low` or `high` |
/// | `max_size` | `VISION_MAX_SIZE` | 2048 | 1 to 20000 pixels |
/// | `top_k` | `RAG_TOP_K` | 3 | 1 to 50 chunks a search |
/// | `database` | `KNOWLEDGE_DB_PATH` | `composition.db` | the SQLite file of a [`KnowledgeBase`](superstep::nodes::rag::KnowledgeBase) |
/// | `collection` | `RAG_COLLECTION` | `landscape_photography_transcripts` | any name |
/// | `embedder` | `EMBEDDING_MODEL` | `text-embedding-3-small` | an [`EmbedderName`], such as `hash`, which works offline |
/// | `on_tool_error` | `ON_TOOL_ERROR` | `continue` | `continue` or `halt` |
/// | `instructions` | | [`CRITIC_INSTRUCTIONS`] | any text |
/// | `prompt` | | [`CRITIC_PROMPT`] | any text |
///
/// `CHROMA_DB_PATH`, the older name of `KNOWLEDGE_DB_PATH`, is read if the new one is not set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CriticSettings {
    /// The model.
    pub model: ModelName,
    /// The level of detail at which the model looks at the photograph.
    pub detail: VisionDetail,
    /// The maximum number of pixels of a side of the picture that is sent.
    pub max_size: u32,
    /// The number of chunks that a search returns.
    pub top_k: usize,
    /// The file of the knowledge base.
    pub database: PathBuf,
    /// The collection to search.
    pub collection: String,
    /// The embedder of its documents.
    pub embedder: EmbedderName,
    /// The handling of a tool that fails.
    pub on_tool_error: OnToolError,
    /// The instructions of the critic.
    pub instructions: String,
    /// The default prompt.
    pub prompt: String,
}

/// The level of detail at which a critic looks at a photograph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VisionDetail {
    /// A small copy, for few tokens: 85 with most models.
    #[default]
    Low,
    /// The full image, for a number of tokens that depends on its size.
    High,
}

/// The handling of a tool that fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnToolError {
    /// The model reads the error and continues.
    #[default]
    Continue,
    /// The critique ends with the error, before the model is called again. A call of a tool that does not exist, one
    /// with an invalid input, and one of a reply that was cut off, are the model's mistakes and never end it.
    Halt,
}

/// A setting that is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} is `{value}`; say {allowed}")]
pub struct SettingError {
    /// The environment variable, or the field if it was set in code.
    pub key: &'static str,
    /// Its value.
    pub value: String,
    /// The allowed values.
    pub allowed: String,
}

impl Default for CriticSettings {
    fn default() -> Self {
        Self {
            model: ModelName::OpenAi("gpt-4.1".to_owned()),
            detail: VisionDetail::default(),
            max_size: ImagePreparation::DEFAULT_MAX_SIZE,
            top_k: SearchKnowledge::DEFAULT_LIMIT,
            database: "composition.db".into(),
            collection: "landscape_photography_transcripts".to_owned(),
            embedder: EmbedderName::OpenAi("text-embedding-3-small".to_owned()),
            on_tool_error: OnToolError::default(),
            instructions: CRITIC_INSTRUCTIONS.to_owned(),
            prompt: CRITIC_PROMPT.to_owned(),
        }
    }
}

impl CriticSettings {
    /// Checks the limits that the types do not enforce.
    ///
    /// # Errors
    /// If a number is out of range, or a text that must not be blank is.
    pub fn check(&self) -> Result<(), SettingError> {
        check_max_size(self.max_size)?;
        in_range("top_k", self.top_k as u64, MAX_TOP_K)?;
        let texts = [("collection", &self.collection), ("prompt", &self.prompt)];
        match texts.iter().find(|(_, text)| text.trim().is_empty()) {
            Some((key, text)) => {
                Err(SettingError { key, value: (*text).clone(), allowed: "something".to_owned() })
            }
            None => Ok(()),
        }
    }
}

/// The maximum number of pixels of a side; larger pictures are not read either.
pub(super) const MAX_SIZE: u64 = 20_000;

/// The maximum number of chunks of a search.
pub(super) const MAX_TOP_K: u64 = 50;

pub(super) fn check_max_size(pixels: u32) -> Result<(), SettingError> {
    in_range("max_size", pixels.into(), MAX_SIZE)
}

fn in_range(key: &'static str, value: u64, most: u64) -> Result<(), SettingError> {
    match (1..=most).contains(&value) {
        true => Ok(()),
        false => Err(SettingError { key, value: value.to_string(), allowed: whole_number(most) }),
    }
}

/// Returns the allowed values of a number.
pub(super) fn whole_number(most: u64) -> String {
    format!("a whole number from 1 to {most}")
}

impl From<VisionDetail> for Detail {
    fn from(detail: VisionDetail) -> Self {
        match detail {
            VisionDetail::Low => Self::Low,
            VisionDetail::High => Self::High,
        }
    }
}

impl FromStr for VisionDetail {
    type Err = SettingError;

    fn from_str(given: &str) -> Result<Self, SettingError> {
        match given.trim() {
            "low" => Ok(Self::Low),
            "high" => Ok(Self::High),
            _ => Err(SettingError {
                key: "detail",
                value: given.to_owned(),
                allowed: "low or high".to_owned(),
            }),
        }
    }
}

impl fmt::Display for VisionDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Low => "low",
            Self::High => "high",
        })
    }
}

impl FromStr for OnToolError {
    type Err = SettingError;

    fn from_str(given: &str) -> Result<Self, SettingError> {
        match given.trim() {
            "continue" => Ok(Self::Continue),
            "halt" => Ok(Self::Halt),
            _ => Err(SettingError {
                key: "on_tool_error",
                value: given.to_owned(),
                allowed: "continue or halt".to_owned(),
            }),
        }
    }
}
