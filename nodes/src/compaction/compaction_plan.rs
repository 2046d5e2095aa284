//! The plan of a compaction, and its result.

use std::fmt;
use std::ops::Range;

use super::view::summary;
use super::{Compaction, KeyInformation, Summariser};
use crate::message::{Message, MessageId};
use crate::model::{ModelReply, ModelRequest, StopReason, TokenCounter};
use crate::prompt::{Said, SummaryPrompt};
use crate::text::abridged;

/// The part of a conversation that a summary is to stand for: see
/// [`ContextManager::plan`](super::ContextManager::plan).
#[derive(Clone)]
pub struct CompactionPlan<'m> {
    pub(super) counter: &'m dyn TokenCounter,
    /// The maximum number of tokens of the message that shows the summary and the notes.
    pub(super) budget: u64,
    /// The number of tokens of the messages that stay unchanged.
    pub(super) kept: u64,
    pub(super) tokens_before: u64,
    /// The last compaction that a model wrote.
    pub(super) earlier: Option<&'m Compaction>,
    pub(super) through: MessageId,
    pub(super) pinned: Vec<MessageId>,
    /// The messages that are to be summarised now: all behind the earlier summary.
    pub(super) material: Vec<Message>,
    pub(super) notes: KeyInformation,
}

/// A reason not to accept a compaction.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Unaccepted {
    /// The summary is not whole.
    #[error("the model did not finish its summary: {0:?}")]
    CutShort(StopReason),
    /// There is none.
    #[error("the summary is empty")]
    Blank,
    /// The conversation would be no shorter.
    #[error("the conversation has {before} tokens, and would have {after} with the summary")]
    NotShorter {
        /// The number of tokens of the conversation.
        before: u64,
        /// The number of tokens that it would have with the summary.
        after: u64,
    },
}

/// The share of a summary's tokens that is for the notes beside it: one of so many.
const FOR_NOTES: u64 = 4;

/// The divisor of the smallest step by which a summary that is too long is shortened: at least one of so many of its
/// characters.
const LEAST_STEP: usize = 64;

impl CompactionPlan<'_> {
    /// The number of times that a request for a summary is shortened: an eighth of the messages is left then.
    pub const MAX_SHORTENINGS: u32 = 3;

    /// Returns how many messages the summary will stand for.
    pub fn summarised(&self) -> u64 {
        self.earlier.map_or(0, |earlier| earlier.summarised) + self.material.len() as u64
    }

    /// Returns how many messages a summariser is shown.
    pub fn shown(&self) -> usize {
        self.material.len()
    }

    /// Makes the request for a summary, without the `left_out` oldest messages.
    pub fn request(&self, id: impl Into<MessageId>, left_out: usize) -> ModelRequest {
        let messages = self.material.get(left_out..).unwrap_or_default();
        let prompt = SummaryPrompt {
            // Three words are some four tokens.
            max_words: (self.for_summary().saturating_mul(3) / 4).max(1),
            earlier_summary: self
                .earlier
                .map(|earlier| earlier.summary.clone())
                .filter(|text| !text.is_empty()),
            left_out: left_out as u64,
            messages: messages.iter().map(Said::from).collect(),
        };
        prompt.to_request(id)
    }

    /// Returns how many of the oldest messages to leave out after a request without `left_out` of them was too long for
    /// the model: half of those that it had. `None` if the request has been shortened
    /// [`MAX_SHORTENINGS`](Self::MAX_SHORTENINGS) times already, or has a single message.
    pub fn shorten(&self, left_out: usize, shortenings: u32) -> Option<usize> {
        let left = self.shown().saturating_sub(left_out);
        (shortenings < Self::MAX_SHORTENINGS && left > 1).then(|| left_out + left / 2)
    }

    /// Takes a summary; `left_out` is the number of the oldest messages that it does not cover. A summary that is too
    /// long is cut to its beginning and its end, with a mark between them.
    ///
    /// # Errors
    /// When it is not whole, or does not make the conversation shorter.
    pub fn accept(&self, id: &str, reply: &ModelReply, left_out: usize) -> Result<Compaction, Unaccepted> {
        if !matches!(reply.stop, StopReason::EndTurn | StopReason::StopSequence) {
            return Err(Unaccepted::CutShort(reply.stop.clone()));
        }
        let text = reply.text().trim().to_owned();
        if text.is_empty() {
            return Err(Unaccepted::Blank);
        }
        let digest = blake3::hash(SummaryPrompt::INSTRUCTIONS.as_bytes()).to_hex();
        let by = Summariser::Model {
            model: reply.model.clone(),
            prompt: digest[..16].to_owned(),
            usage: reply.usage,
            left_out: left_out as u64,
        };
        self.compaction(id, text, self.budget / FOR_NOTES, by)
    }

    /// Takes what can be noted without a model, because none gave a summary that is of use, for this reason. The
    /// earlier summary stays.
    ///
    /// # Errors
    /// If that does not make the conversation shorter.
    pub fn without_summary(&self, id: &str, reason: impl Into<String>) -> Result<Compaction, Unaccepted> {
        let text = self.earlier.map(|earlier| earlier.summary.clone()).unwrap_or_default();
        let left = self.budget.saturating_sub(self.counter.text(&text)).max(self.budget / FOR_NOTES);
        self.compaction(id, text, left, Summariser::Nobody { reason: reason.into() })
    }

    fn for_summary(&self) -> u64 {
        self.budget - self.budget / FOR_NOTES
    }

    fn compaction(
        &self,
        id: &str,
        summary_text: String,
        for_notes: u64,
        by: Summariser,
    ) -> Result<Compaction, Unaccepted> {
        let mut compaction = Compaction {
            id: id.to_owned(),
            through: self.through.clone(),
            pinned: self.pinned.clone(),
            summarised: self.summarised(),
            summary: summary_text,
            notes: self.notes.clone().within(for_notes, self.counter),
            by,
            tokens_before: self.tokens_before,
            tokens_after: 0,
        };
        let tokens = self.fit(&mut compaction);
        compaction.tokens_after = self.kept + tokens;
        match compaction.tokens_after < compaction.tokens_before {
            true => Ok(compaction),
            false => Err(Unaccepted::NotShorter {
                before: compaction.tokens_before,
                after: compaction.tokens_after,
            }),
        }
    }

    /// Leaves so much of a summary as the budget has room for beside the notes, and returns how many tokens it is shown
    /// in.
    fn fit(&self, compaction: &mut Compaction) -> u64 {
        let shown = |compaction: &Compaction| self.counter.message(&summary(compaction));
        let mut tokens = shown(compaction);
        if tokens <= self.budget {
            return tokens;
        }
        let whole = std::mem::take(&mut compaction.summary);
        let others = shown(compaction);
        let room = u128::from(self.budget.saturating_sub(others));
        let mut most = whole.chars().count();
        while tokens > self.budget && most > 0 {
            // A text is hardly ever as dense at its ends as it is as a whole, and the mark has tokens, too: a few
            // rounds come close.
            let taken = u128::from(tokens.saturating_sub(others).max(1));
            let in_proportion = usize::try_from(most as u128 * room / taken).unwrap_or(most);
            most = in_proportion.min(most - most.div_ceil(LEAST_STEP));
            compaction.summary = abridged(&whole, most).trim().to_owned();
            tokens = shown(compaction);
        }
        tokens
    }
}

impl fmt::Debug for CompactionPlan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompactionPlan")
            .field("through", &self.through)
            .field("summarised", &self.summarised())
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}

/// Splits the messages into units that must stay together: a message that asks for tools stays with its answers, and
/// with the messages between them. The ranges are in order, and cover all messages.
pub fn units(messages: &[Message]) -> Vec<Range<usize>> {
    let mut units: Vec<Range<usize>> = Vec::new();
    for at in 0..messages.len() {
        match (&messages[at], units.last_mut()) {
            (Message::Tool(_), Some(unit)) => unit.end = at + 1,
            _ => units.push(at..at + 1),
        }
        // An answer that comes later draws all between it and its call into one unit.
        if let Message::Tool(answer) = &messages[at] {
            let asks =
                |message: &Message| message.tool_calls().iter().any(|call| call.id == answer.tool_call_id);
            if let Some(asked) = messages[..at].iter().rposition(asks) {
                let first = units.iter().rposition(|unit| unit.start <= asked).unwrap_or_default();
                units.truncate(first + 1);
                units[first].end = at + 1;
            }
        }
    }
    units
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::message::ToolCall;

    #[test]
    fn a_call_stays_with_its_answers() {
        let calls = ["a", "b"].map(|id| ToolCall::new(id, "look", json!({})));
        let messages = [
            Message::human("1", "?"),
            Message::ai_with_calls("2", "", calls.to_vec()),
            Message::tool("3", &calls[0], "x"),
            Message::human("4", "hurry"),
            Message::tool("5", &calls[1], "y"),
            Message::ai("6", "done"),
        ];
        assert_eq!(units(&messages), [0..1, 1..5, 5..6]);
        assert!(units(&[]).is_empty());
    }
}
