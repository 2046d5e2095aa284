//! The parts of a message's content.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One part of a message's content.
///
/// Text and images are the same for all models. A part that only one provider understands is kept unchanged, with its
/// [`Origin`], and is sent back only to that provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Part {
    /// Plain or Markdown text.
    Text {
        /// The text.
        text: String,
    },
    /// An image, for models with vision.
    Image(Image),
    /// The thinking of a model before its reply.
    Thinking(Thinking),
    /// A part that only one provider understands.
    Native(Native),
    /// The place of a tool call among the other parts, if other parts follow it: calls without such a part come after
    /// all content.
    ToolCall {
        /// The position of the tool call in the message, from 0.
        index: usize,
    },
}

impl Part {
    /// Makes a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Returns the text of a text part.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            _ => None,
        }
    }

    /// Returns where a part comes from that only one provider understands.
    pub fn origin(&self) -> Option<&Origin> {
        match self {
            Self::Thinking(thinking) => Some(&thinking.origin),
            Self::Native(native) => Some(&native.origin),
            Self::Text { .. } | Self::Image(_) | Self::ToolCall { .. } => None,
        }
    }

    /// Tells whether there is nothing to read or see: a text of white space, or the place of a tool call.
    pub fn is_blank(&self) -> bool {
        match self {
            Self::Text { text } => text.trim().is_empty(),
            Self::ToolCall { .. } => true,
            Self::Image(_) | Self::Thinking(_) | Self::Native(_) => false,
        }
    }
}

/// An image, for models with vision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Image {
    /// The source of its bytes.
    #[serde(flatten)]
    pub source: ImageSource,
    /// The level of detail at which the model looks at it.
    #[serde(default)]
    pub detail: Detail,
}

impl Image {
    /// Makes an image of its bytes in base64, of a media type such as `image/jpeg`.
    pub fn base64(media_type: impl Into<String>, data: impl Into<String>) -> Self {
        let source = ImageSource::Base64 { media_type: media_type.into(), data: data.into() };
        Self { source, detail: Detail::default() }
    }

    /// Makes an image that the provider fetches.
    pub fn url(url: impl Into<String>) -> Self {
        Self { source: ImageSource::Url { url: url.into() }, detail: Detail::default() }
    }

    /// Says how closely the model is to look.
    #[must_use]
    pub fn with_detail(mut self, detail: Detail) -> Self {
        self.detail = detail;
        self
    }

    /// Returns the address of the image; of one in base64 a data URI.
    pub fn to_url(&self) -> String {
        match &self.source {
            ImageSource::Base64 { media_type, data } => format!("data:{media_type};base64,{data}"),
            ImageSource::Url { url } => url.clone(),
        }
    }
}

/// The source of the bytes of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[non_exhaustive]
pub enum ImageSource {
    /// Bytes in the message.
    Base64 {
        /// Their media type, such as `image/jpeg`.
        media_type: String,
        /// The bytes in base64, with padding.
        data: String,
    },
    /// An address that the provider can reach.
    Url {
        /// The address.
        url: String,
    },
}

/// The level of detail at which a model looks at an image, for providers that take one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// The provider chooses.
    #[default]
    Auto,
    /// A small copy of the image, for few tokens.
    Low,
    /// The full image.
    High,
}

/// The thinking of a model before its reply.
///
/// Providers sign it, and refuse it if a byte has changed: it is sent back unchanged to the model that wrote it, and
/// left out for every other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Thinking {
    /// The readable text; empty where the provider hides it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The provider and the model that wrote it.
    #[serde(flatten)]
    pub origin: Origin,
    /// The part as it came.
    pub raw: Value,
}

/// A part that only one provider understands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Native {
    /// The provider and the model that wrote it.
    #[serde(flatten)]
    pub origin: Origin,
    /// The part as it came.
    pub raw: Value,
}

/// The origin of a part that only one provider understands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// The protocol, such as `anthropic`.
    pub provider: String,
    /// The name of the model, as in the request.
    pub model: String,
}

impl Origin {
    /// Makes an origin.
    pub fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self { provider: provider.into(), model: model.into() }
    }

    /// Tells whether this is the origin of what a model of a provider says.
    pub fn is(&self, provider: &str, model: &str) -> bool {
        self.provider == provider && self.model == model
    }
}
