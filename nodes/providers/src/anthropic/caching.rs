//! Prompt caching by the provider.

use serde_json::{Value, json};

/// Prompt caching: the part of a conversation that the provider keeps between two requests. Tokens read from its cache
/// cost a tenth of the price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Caching {
    /// Nothing.
    Off,
    /// All of it, for five minutes after it was last read.
    #[default]
    FiveMinutes,
    /// All of it, for an hour after it was last read.
    OneHour,
}

impl Caching {
    /// Marks the end of what is to be kept. A prefix up to a mark that was sent before is found again if no byte of it
    /// has changed.
    pub(super) fn mark(self, block: Option<&mut Value>) {
        let mark = match self {
            Self::Off => return,
            Self::FiveMinutes => json!({ "type": "ephemeral" }),
            Self::OneHour => json!({ "type": "ephemeral", "ttl": "1h" }),
        };
        if let Some(block) = block {
            block["cache_control"] = mark;
        }
    }
}
