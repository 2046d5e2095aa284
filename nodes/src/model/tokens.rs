//! The number of tokens of a request, before it is sent.
//!
//! | counter | counts | for |
//! |---|---|---|
//! | [`RoughTokens`] | four letters as a token | an estimate that costs nothing |
//! | `Tiktoken`, with the feature `tokens` | as OpenAI's models read | OpenAI's models to the token, others nearly |
//!
//! A provider knows best: its client may have a method `count_tokens`, which asks it.

mod image;
#[cfg(feature = "tokens")]
mod tiktoken;

use std::sync::Arc;

pub use self::image::{ImageTokens, image_tokens};
#[cfg(feature = "tokens")]
pub use self::tiktoken::{Tiktoken, UnknownEncoding};
use super::{ModelRequest, OutputFormat};
use crate::message::{Content, Message, Part};

/// Counts tokens.
pub trait TokenCounter: Send + Sync {
    /// Returns how many tokens a text has.
    fn text(&self, text: &str) -> u64;

    /// Returns how images are counted.
    fn image_tokens(&self) -> ImageTokens {
        ImageTokens::default()
    }

    /// Returns how many tokens a message has.
    fn message(&self, message: &Message) -> u64 {
        let calls = message
            .tool_calls()
            .iter()
            .map(|call| self.text(&call.name) + self.text(&call.input.to_string()));
        PER_MESSAGE + self.content(message.content()) + calls.sum::<u64>()
    }

    /// Returns how many tokens content has.
    fn content(&self, content: &Content) -> u64 {
        let part = |part: &Part| match part {
            Part::Text { text } => self.text(text),
            Part::Image(held) => self.image_tokens().count(held.detail, image::size(held)),
            Part::Thinking(thinking) => self.text(&thinking.text),
            Part::Native(native) => self.text(&native.raw.to_string()),
            Part::ToolCall { .. } => 0,
        };
        content.parts().iter().map(part).sum()
    }

    /// Returns how many tokens a request has: instructions, conversation, tools and the form of the reply.
    fn request(&self, request: &ModelRequest) -> u64 {
        let system = request.system.as_deref().map_or(0, |text| PER_MESSAGE + self.text(text));
        let messages: u64 = request.messages.iter().map(|message| self.message(message)).sum();
        let tool = |tool: &crate::tool::ToolSpec| {
            let texts = [tool.name.as_str(), tool.description.as_str(), &tool.input_schema.to_string()];
            PER_TOOL + texts.iter().map(|text| self.text(text)).sum::<u64>()
        };
        let output = match &request.output {
            OutputFormat::Text => 0,
            OutputFormat::Json { name, schema } => self.text(name) + self.text(&schema.to_string()),
        };
        system + messages + request.tools.iter().map(tool).sum::<u64>() + output + PER_REPLY
    }
}

impl<T: TokenCounter + ?Sized> TokenCounter for Arc<T> {
    fn text(&self, text: &str) -> u64 {
        (**self).text(text)
    }

    fn image_tokens(&self) -> ImageTokens {
        (**self).image_tokens()
    }

    fn message(&self, message: &Message) -> u64 {
        (**self).message(message)
    }

    fn content(&self, content: &Content) -> u64 {
        (**self).content(content)
    }

    fn request(&self, request: &ModelRequest) -> u64 {
        (**self).request(request)
    }
}

/// The tokens of a message's frame: its role, and the delimiters around it. The number is that of OpenAI's cookbook,
/// "How to count tokens with tiktoken".
const PER_MESSAGE: u64 = 3;

/// The tokens of a tool beside its texts; from the same place.
const PER_TOOL: u64 = 7;

/// The tokens that begin the reply; from the same place.
const PER_REPLY: u64 = 3;

/// Counts four letters as a token: what English text comes to with most models. Text in other scripts has more: each
/// letter beyond ASCII counts as a whole one.
///
/// ```
/// use superstep_nodes::model::{RoughTokens, TokenCounter};
///
/// assert_eq!(RoughTokens.text("The quick brown fox jumps over the lazy dog."), 11);
/// assert_eq!(RoughTokens.text("東京"), 2);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct RoughTokens;

impl TokenCounter for RoughTokens {
    fn text(&self, text: &str) -> u64 {
        let plain = text.bytes().filter(u8::is_ascii).count() as u64;
        let other = text.chars().filter(|letter| !letter.is_ascii()).count() as u64;
        plain.div_ceil(4) + other
    }
}
