//! The record of a compaction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_core::reducer::Keyed;

use crate::message::MessageId;
use crate::model::Usage;

/// The record of a compaction: the messages that are no longer sent to models, and the text that replaces them.
///
/// A field `Vec<Compaction>` has the reducer [`KeyedLog`](superstep_core::reducer::KeyedLog). The last record counts,
/// as it covers what the ones before cover. Removing it, with `LogWrite::remove([id])` in an edit of the thread, undoes
/// it: models are shown the messages again, or what the record before says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compaction {
    /// Its id.
    pub id: String,
    /// The last message that it covers; all earlier ones are covered too.
    pub through: MessageId,
    /// The covered messages that are still sent to models unchanged.
    pub pinned: Vec<MessageId>,
    /// The number of messages that the summary and the notes replace, without system messages and pinned ones.
    pub summarised: u64,
    /// The summary. If no model wrote one, the last that a model wrote; empty if there is none.
    pub summary: String,
    /// The notes beside the summary, word for word, oldest first.
    pub notes: Vec<String>,
    /// The author of the summary.
    pub by: Summariser,
    /// The number of tokens before the compaction.
    pub tokens_before: u64,
    /// The number of tokens with the summary.
    pub tokens_after: u64,
}

/// The author of a summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Summariser {
    /// A model.
    Model {
        /// Its name.
        model: String,
        /// The beginning of the digest of its
        /// [instructions](crate::prompt::SummaryPrompt::INSTRUCTIONS).
        prompt: String,
        /// The tokens used.
        usage: Usage,
        /// The number of messages, the oldest ones, that were left out because there were too many.
        left_out: u64,
    },
    /// No author, as no model gave a usable one: of what came after the last summary there are only the notes, until a
    /// model summarises it.
    Nobody {
        /// The reason.
        reason: String,
    },
}

impl Compaction {
    /// Returns the size of the view relative to its size before; 1 is no smaller.
    pub fn ratio(&self) -> f64 {
        if self.tokens_before == 0 {
            return 1.0;
        }
        // Counts of tokens are far below where a float loses ones.
        self.tokens_after as f64 / self.tokens_before as f64
    }
}

impl Keyed for Compaction {
    fn id(&self) -> &str {
        &self.id
    }
}
