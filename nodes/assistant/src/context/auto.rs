//! The decision to compact a conversation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_nodes::compaction::Compaction;

use super::{ContextSettings, ContextWindow};

/// The attempts at compaction so far, in the state of an assistant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AutoCompact {
    /// The turn of the last attempt.
    pub turn: Option<u32>,
    /// The number of failures since the last success.
    pub consecutive_failures: u32,
    /// `true` if the user asks for a compaction before the next request. It is made whatever the conversation's size,
    /// and also where compaction is off or has failed.
    pub is_requested: bool,
}

impl AutoCompact {
    /// Counts an attempt that shortened the conversation.
    pub const fn succeeded(&mut self, turn: u32) {
        *self = Self { turn: Some(turn), consecutive_failures: 0, is_requested: false };
    }

    /// Counts an attempt that left the conversation unchanged: because the model failed, its summary was of no use, or
    /// the request for it was too long after all shortenings.
    pub const fn failed(&mut self, turn: u32) {
        self.turn = Some(turn);
        self.is_requested = false;
        self.consecutive_failures = self.consecutive_failures.saturating_add(1);
    }
}

/// The decision on a conversation before a model is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutoDecision {
    /// Send the request.
    Send,
    /// Compact the conversation first.
    Compact,
    /// Send nothing: the window is full, and the conversation may not be compacted.
    Block,
    /// Send the request; the window of the model is not known, so an overflow cannot be foreseen.
    UnknownWindow,
}

/// Decides on a conversation of so many tokens. It is compacted once a turn at most, and no longer after too many
/// failures in a row.
pub(super) fn decide(
    tokens: u64,
    window: Option<ContextWindow>,
    settings: &ContextSettings,
    so_far: AutoCompact,
    turn: u32,
) -> AutoDecision {
    if so_far.is_requested {
        return AutoDecision::Compact;
    }
    let Some(window) = window else { return AutoDecision::UnknownWindow };
    let may_compact = !settings.auto.is_empty() && so_far.consecutive_failures < settings.max_failures;
    if !may_compact && tokens >= window.blocking_limit(settings.blocking_headroom) {
        return AutoDecision::Block;
    }
    match may_compact && tokens >= window.trigger(&settings.auto) && so_far.turn != Some(turn) {
        true => AutoDecision::Compact,
        false => AutoDecision::Send,
    }
}

/// Returns the tokens that are left of a task's budget after a compaction. A provider that counts the budget sees only
/// the summary from then on, so the tokens of the conversation before have to be taken off.
pub const fn task_remaining(remaining: u64, compaction: &Compaction) -> u64 {
    remaining.saturating_sub(compaction.tokens_before)
}

#[cfg(test)]
mod tests {
    use superstep_nodes::compaction::Summariser;

    use super::*;

    const WINDOW: ContextWindow = ContextWindow::new(200_000, 64_000);

    fn decided(tokens: u64, so_far: AutoCompact) -> AutoDecision {
        decide(tokens, Some(WINDOW), &ContextSettings::default(), so_far, 9)
    }

    #[test]
    fn a_compaction_that_the_user_asks_for_is_made_once() {
        let mut so_far = AutoCompact { is_requested: true, consecutive_failures: 3, turn: Some(9) };
        assert_eq!(decided(1, so_far), AutoDecision::Compact);
        let off = ContextSettings { auto: Vec::new(), ..ContextSettings::default() };
        assert_eq!(decide(1, None, &off, so_far, 9), AutoDecision::Compact);
        so_far.failed(9);
        assert_eq!(decided(1, so_far), AutoDecision::Send);
    }

    #[test]
    fn s2_051_079_a_conversation_is_compacted_from_80_percent_of_its_window() {
        assert_eq!(decided(143_999, AutoCompact::default()), AutoDecision::Send);
        assert_eq!(decided(144_000, AutoCompact::default()), AutoDecision::Compact);
        let unknown = decide(9_000_000, None, &ContextSettings::default(), AutoCompact::default(), 9);
        assert_eq!(unknown, AutoDecision::UnknownWindow);
    }

    #[test]
    fn s2_135_136_after_three_failures_in_a_row_there_is_no_fourth_attempt_until_a_success() {
        let mut so_far = AutoCompact::default();
        for turn in 1..=3 {
            assert_eq!(decided(150_000, so_far), AutoDecision::Compact);
            so_far.failed(turn);
        }
        assert_eq!(decided(150_000, so_far), AutoDecision::Send, "the fourth turn makes no call");
        so_far.succeeded(4);
        so_far.failed(5);
        assert_eq!((so_far.consecutive_failures, decided(150_000, so_far)), (1, AutoDecision::Compact));
        so_far.failed(9);
        assert_eq!(decided(150_000, so_far), AutoDecision::Send, "once a turn");
    }

    #[test]
    fn the_blocking_limit_holds_only_where_nothing_is_compacted() {
        let open = AutoCompact { turn: Some(8), consecutive_failures: 3, is_requested: false };
        assert_eq!(decided(176_999, open), AutoDecision::Send);
        assert_eq!(decided(177_000, open), AutoDecision::Block);
        assert_eq!(decided(177_000, AutoCompact::default()), AutoDecision::Compact);
        let off = ContextSettings { auto: Vec::new(), ..ContextSettings::default() };
        assert_eq!(decide(177_000, Some(WINDOW), &off, AutoCompact::default(), 9), AutoDecision::Block);
    }

    #[test]
    fn s2_196_what_a_task_may_use_goes_down_by_the_conversation_before_its_compaction() {
        let compaction = Compaction {
            id: "c".into(),
            through: "m".into(),
            pinned: Vec::new(),
            summarised: 9,
            summary: "They talk.".into(),
            notes: Vec::new(),
            by: Summariser::Nobody { reason: String::new() },
            tokens_before: 150_000,
            tokens_after: 9_000,
        };
        let remaining = task_remaining(400_000, &compaction);
        assert_eq!(remaining, 250_000);
        assert_eq!(task_remaining(task_remaining(remaining, &compaction), &compaction), 0);
    }
}
