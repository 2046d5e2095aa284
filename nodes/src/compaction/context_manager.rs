//! When a conversation is to be shown in short, and what of it.

use std::fmt;
use std::sync::Arc;

use super::compaction_plan::units;
use super::view::{covered_question, in_force, last_summary, view};
use super::{Compaction, CompactionPlan, KeyInformation};
use crate::message::{Message, MessageId};
use crate::model::{RoughTokens, TokenCounter};

/// Decides when a conversation is to be compacted, and which part of it.
///
/// A conversation is compacted if it has more tokens than the threshold. Its system messages, its pinned messages and
/// its last messages stay unchanged; a summary stands for all others. The summary may use the tokens that are left up
/// to the target, and is shortened if it is longer. See the [module](super).
#[derive(Clone)]
pub struct ContextManager {
    threshold: u64,
    target: u64,
    recent: usize,
    counter: Arc<dyn TokenCounter>,
    pins: Arc<Pins>,
}

type Pins = dyn Fn(&Message) -> bool + Send + Sync;

/// The number of tokens that a summary and its notes may have in any case, however large the rest is.
const LEAST_BUDGET: u64 = 400;

/// The part of a conversation that has to be left to summarise, so that a summary is worth its call: one in so many
/// tokens. Where the last messages alone are too long, a few before them change nothing.
const WORTHWHILE: u64 = 20;

impl Default for ContextManager {
    fn default() -> Self {
        Self::new()
    }
}

impl ContextManager {
    /// The default for the number of tokens above which a conversation is compacted.
    pub const THRESHOLD: u64 = 8_000;

    /// The default for the number of tokens that a compacted conversation is to have.
    pub const TARGET: u64 = 4_000;

    /// The default for the number of last messages that stay unchanged.
    pub const RECENT: usize = 5;

    /// Takes the defaults: above 8,000 tokens, to 4,000, with the last 5 messages unchanged and nothing pinned; tokens
    /// are
    /// [estimated](RoughTokens).
    pub fn new() -> Self {
        Self {
            threshold: Self::THRESHOLD,
            target: Self::TARGET,
            recent: Self::RECENT,
            counter: Arc::new(RoughTokens),
            pins: Arc::new(|_| false),
        }
    }

    /// Compacts a conversation of more tokens than this.
    #[must_use]
    pub fn threshold(mut self, tokens: u64) -> Self {
        self.threshold = tokens;
        self
    }

    /// Sets the number of tokens that a compacted conversation is to have, if the messages that stay unchanged allow
    /// it: the summary gets the tokens that they leave, or 400 tokens if they leave less.
    #[must_use]
    pub fn target(mut self, tokens: u64) -> Self {
        self.target = tokens;
        self
    }

    /// Leaves so many of the last messages unchanged; more, where these would begin with the answer to a call that is
    /// not among them. System messages do not count.
    #[must_use]
    pub fn recent(mut self, messages: usize) -> Self {
        self.recent = messages;
        self
    }

    /// Sets the counter of tokens.
    #[must_use]
    pub fn counter(mut self, counter: impl TokenCounter + 'static) -> Self {
        self.counter = Arc::new(counter);
        self
    }

    /// Leaves these messages unchanged, wherever they are: such as the task, or a decision. A message that asks for
    /// tools stays together with its answers.
    #[must_use]
    pub fn pin(mut self, pins: impl Fn(&Message) -> bool + Send + Sync + 'static) -> Self {
        self.pins = Arc::new(pins);
        self
    }

    /// Returns `true` if the message is pinned.
    pub fn is_pinned(&self, message: &Message) -> bool {
        (self.pins)(message)
    }

    /// Returns the number of tokens above which a conversation is compacted.
    pub const fn limit(&self) -> u64 {
        self.threshold
    }

    /// Returns how many tokens messages have.
    pub fn count(&self, messages: &[Message]) -> u64 {
        messages.iter().map(|message| self.counter.message(message)).sum()
    }

    /// Plans how a conversation is compacted that has been compacted like this; `None` if it need not be, or if there
    /// is nothing that a summary could stand for, or hardly anything: less than a twentieth of the conversation.
    ///
    /// A summariser is shown all that no model has summarised yet: where one gave no summary that is of use, the next
    /// is asked for those messages, too.
    pub fn plan<'m>(
        &'m self,
        messages: &'m [Message],
        compactions: &'m [Compaction],
    ) -> Option<CompactionPlan<'m>> {
        let before = view(messages, compactions);
        let tokens_before = self.count(&before);
        if tokens_before <= self.threshold {
            return None;
        }
        let in_force = in_force(messages, compactions);
        let covered = in_force.map_or(0, |(_, covered)| covered);
        let held: &[MessageId] = in_force.map_or(&[], |(compaction, _)| &compaction.pinned);
        // What was not summarised is not in the last summary, so it is material again, though models are no longer
        // shown it.
        let (earlier, start) = last_summary(messages, compactions).unzip();
        let start = start.unwrap_or(0);
        let end = self.begin_of_recent(messages);
        let part = messages.get(start..end).filter(|_| covered < end)?;
        let (mut pinned, mut material) = (held.to_vec(), Vec::new());
        // The messages that models are shown now, and then would not be.
        let mut new: Vec<&Message> = Vec::new();
        for unit in units(part) {
            let is_pinned = part[unit.clone()]
                .iter()
                .any(|message| self.is_pinned(message) || held.contains(message.id()));
            for at in unit.filter(|at| !matches!(part[*at], Message::System(_))) {
                let message = &part[at];
                match is_pinned {
                    true if held.contains(message.id()) => {}
                    true => pinned.push(message.id().clone()),
                    false => material.push(message.clone()),
                }
                if !is_pinned && start + at >= covered {
                    new.push(message);
                }
            }
        }
        let through = part.last()?.id().clone();
        let question = covered_question(messages, end).map(Message::id);
        let is_question = |message: &Message| question == Some(message.id());
        let worth: u64 = new.iter().map(|message| self.counter.message(message)).sum();
        if worth < tokens_before / WORTHWHILE || new.iter().all(|message| is_question(message)) {
            return None;
        }
        let kept = messages[..end].iter().filter(|message| {
            matches!(message, Message::System(_)) || pinned.contains(message.id()) || is_question(message)
        });
        let kept: u64 = kept.map(|message| self.counter.message(message)).sum();
        let kept = kept + self.count(&messages[end..]);
        let notes =
            KeyInformation::of(&material).after(earlier.map_or(&[], |earlier: &Compaction| &earlier.notes));
        Some(CompactionPlan {
            counter: &*self.counter,
            budget: self.target.saturating_sub(kept).max(LEAST_BUDGET),
            kept,
            tokens_before,
            earlier,
            through,
            pinned,
            material,
            notes,
        })
    }

    /// Returns the position of the first message that stays unchanged.
    fn begin_of_recent(&self, messages: &[Message]) -> usize {
        let others =
            messages.iter().enumerate().filter(|(_, message)| !matches!(message, Message::System(_)));
        let Some((first, _)) = self.recent.checked_sub(1).and_then(|nth| others.rev().nth(nth)) else {
            return if self.recent == 0 { messages.len() } else { 0 };
        };
        let around = units(messages).into_iter().find(|unit| unit.contains(&first));
        around.map_or(first, |unit| unit.start)
    }
}

impl fmt::Debug for ContextManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { threshold, target, recent, .. } = self;
        let mut manager = f.debug_struct("ContextManager");
        manager.field("threshold", threshold).field("target", target).field("recent", recent);
        manager.finish_non_exhaustive()
    }
}
