//! The context windows of models.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_nodes::model::{ByModel, ModelFailure};

/// The context window of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextWindow {
    /// The number of tokens that a request may have, with those of the reply.
    pub tokens: u64,
    /// The number of tokens that a reply may have; `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
}

/// The part of a window that is kept free for the reply, in tokens, if a reply may have that many.
const RESERVED: u64 = 20_000;

impl ContextWindow {
    /// Makes a window of so many tokens, of a model whose replies have at most `max_output_tokens`.
    pub const fn new(tokens: u64, max_output_tokens: u64) -> Self {
        Self { tokens, max_output_tokens: Some(max_output_tokens) }
    }

    /// Returns the number of tokens for the request: the window without those that are reserved for the reply, which are
    /// 20,000, or fewer if the model cannot write that many, or if they were more than half of the window.
    pub fn effective(&self) -> u64 {
        less(self.tokens, self.max_output_tokens.map_or(RESERVED, |most| most.min(RESERVED)))
    }

    /// Returns the number of tokens from which a conversation is compacted: that of the earliest trigger; without
    /// triggers, all that a request may have.
    pub fn trigger(&self, triggers: &[Trigger]) -> u64 {
        let effective = self.effective();
        triggers.iter().map(|trigger| trigger.of(effective)).min().unwrap_or(effective)
    }

    /// Returns the number of tokens from which no request is sent, if the conversation may not be compacted.
    pub fn blocking_limit(&self, headroom: u64) -> u64 {
        less(self.effective(), headroom)
    }
}

/// Takes a headroom off, but never more than half.
fn less(tokens: u64, headroom: u64) -> u64 {
    tokens - headroom.min(tokens / 2)
}

/// A rule for the size from which a conversation is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// From this share of the effective window, between 0 and 1.
    Fraction(f64),
    /// From so many tokens below the effective window. In a small window, from half of it.
    Headroom(u64),
}

impl Trigger {
    fn of(self, effective: u64) -> u64 {
        match self {
            // Windows are far below where a float loses ones. What is no number is as 0.
            Self::Fraction(share) => (effective as f64 * share.clamp(0.0, 1.0)) as u64,
            Self::Headroom(tokens) => less(effective, tokens),
        }
    }
}

/// Context windows, [by the names of models](ByModel).
///
/// A model that is not in the table has no known window. Set it, or [learn](Self::learn) it from the provider's error.
///
/// ```
/// use superstep_assistant::context::{ContextWindow, ContextWindows};
///
/// let windows = ContextWindows::published().with("our-model-*", ContextWindow::new(64_000, 8_000));
/// assert_eq!(windows.of("gpt-4o-2024-08-06"), Some(ContextWindow::new(128_000, 16_384)));
/// assert_eq!(windows.of("our-model-2").map(|window| window.effective()), Some(56_000));
/// assert_eq!(windows.of("their-model"), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ContextWindows(ByModel<ContextWindow>);

/// The windows and the maximal replies that the vendors' documents state. Where a vendor limits the input separately, the
/// window is that limit and the part that is reserved for the reply.
const PUBLISHED: [(&str, u64, u64); 19] = [
    ("claude-3-5-haiku", 200_000, 8_192),
    ("claude-haiku-4-5", 200_000, 64_000),
    ("claude-opus-4", 200_000, 32_000),
    ("claude-opus-4-1", 200_000, 32_000),
    ("claude-opus-4-5", 200_000, 64_000),
    ("claude-opus-4-6", 1_000_000, 128_000),
    ("claude-sonnet-4", 200_000, 64_000),
    ("claude-sonnet-4-5", 200_000, 64_000),
    ("claude-sonnet-4-6", 1_000_000, 128_000),
    ("gpt-4.1", 1_047_576, 32_768),
    ("gpt-4.1-mini", 1_047_576, 32_768),
    ("gpt-4.1-nano", 1_047_576, 32_768),
    ("gpt-4o", 128_000, 16_384),
    ("gpt-4o-mini", 128_000, 16_384),
    ("gpt-5", 272_000 + RESERVED, 128_000),
    ("gpt-5-mini", 272_000 + RESERVED, 128_000),
    ("gpt-5-nano", 272_000 + RESERVED, 128_000),
    ("o3", 200_000, 100_000),
    ("o4-mini", 200_000, 100_000),
];

impl ContextWindows {
    /// Makes an empty table.
    pub const fn none() -> Self {
        Self(ByModel::new())
    }

    /// Returns the windows of some models, as their vendors publish them.
    pub fn published() -> Self {
        PUBLISHED.iter().fold(Self::none(), |windows, (model, tokens, output)| {
            windows.with(*model, ContextWindow::new(*tokens, *output))
        })
    }

    /// Adds a window, or replaces it.
    #[must_use]
    pub fn with(self, model: impl Into<String>, window: ContextWindow) -> Self {
        Self(self.0.with(model, window))
    }

    /// Returns the window of a model; `None` if it is not known.
    pub fn of(&self, model: &str) -> Option<ContextWindow> {
        self.0.of(model).copied()
    }

    /// Returns the table with the window of a model as the provider states it in an error; `None` if the error states
    /// none. The output limit stays.
    pub fn learn(&self, model: &str, failure: &ModelFailure) -> Option<Self> {
        let ModelFailure::Overflow { limit: Some(tokens @ 1..), .. } = *failure else { return None };
        let max_output_tokens = self.of(model).and_then(|known| known.max_output_tokens);
        Some(self.clone().with(model, ContextWindow { tokens, max_output_tokens }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [Trigger; 2] = [Trigger::Fraction(0.8), Trigger::Headroom(13_000)];

    #[test]
    fn s2_133_a_conversation_is_compacted_13_000_tokens_below_the_effective_window() {
        let window = ContextWindow::new(200_000, 64_000);
        assert_eq!(window.effective(), 180_000);
        assert_eq!(window.trigger(&[Trigger::Headroom(13_000)]), 167_000);
        assert_eq!(ContextWindow::new(200_000, 8_192).effective(), 191_808);
        assert_eq!(ContextWindow { tokens: 200_000, max_output_tokens: None }.effective(), 180_000);
        assert_eq!(window.blocking_limit(3_000), 177_000);
    }

    #[test]
    fn s2_051_of_both_triggers_the_earlier_counts() {
        assert_eq!(ContextWindow::new(200_000, 64_000).trigger(&BOTH), 144_000);
        assert_eq!(ContextWindow::new(64_000, 4_000).trigger(&BOTH), 47_000);
        assert_eq!(ContextWindow::new(64_000, 4_000).trigger(&BOTH[..1]), 48_000);
        assert_eq!(ContextWindow::new(64_000, 4_000).trigger(&[]), 60_000);
    }

    #[test]
    fn a_small_window_is_never_used_up_by_what_is_kept_free() {
        // 8,192 tokens, of which a reply may have all, had an effective window of 0: each turn was compacted.
        let window = ContextWindow::new(8_192, 8_192);
        assert_eq!(
            (window.effective(), window.trigger(&BOTH), window.blocking_limit(3_000)),
            (4_096, 2_048, 2_048)
        );
        for share in [f64::NAN, -1.0] {
            assert_eq!(window.trigger(&[Trigger::Fraction(share)]), 0);
        }
        assert_eq!(window.trigger(&[Trigger::Fraction(7.0)]), 4_096);
    }

    #[test]
    fn a_window_is_learnt_from_an_error_and_an_unknown_one_stays_unknown() {
        let windows = ContextWindows::published();
        let overflow = |limit| ModelFailure::Overflow { tokens: Some(200_001), limit };
        let learnt = windows.learn("gpt-4o", &overflow(Some(64_000))).unwrap();
        assert_eq!(learnt.of("gpt-4o"), Some(ContextWindow::new(64_000, 16_384)));
        let learnt = learnt.learn("local", &overflow(Some(32_000))).unwrap();
        assert_eq!(learnt.of("local"), Some(ContextWindow { tokens: 32_000, max_output_tokens: None }));
        assert_eq!(
            serde_json::from_str::<ContextWindows>(&serde_json::to_string(&learnt).unwrap()).unwrap(),
            learnt
        );
        for failure in [overflow(None), overflow(Some(0)), ModelFailure::Truncated] {
            assert_eq!(windows.learn("local", &failure), None);
        }
        assert_eq!(windows.of("local"), None);
    }
}
