//! The conditions under which the loop of an assistant ends or continues.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The thirteen conditions that the loop of an assistant distinguishes. Ten end the run, and three are recovered from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopCondition {
    /// The conversation fills the model's window, and it may not be compacted. No request was sent.
    BlockingLimit,
    /// The model refused a picture, also after all pictures had been taken out of the request.
    ImageError,
    /// The model failed, and recovery gave up.
    ModelError,
    /// The turn was stopped while the model answered.
    AbortedStreaming,
    /// The request is too long for the model, also after compaction.
    PromptTooLong,
    /// The model answered without asking for tools.
    Completed,
    /// A stop hook objected to every response, as often as it may.
    StopHookPrevented,
    /// The turn was stopped while tools ran.
    AbortedTools,
    /// A hook ended the run.
    HookStopped,
    /// The limit of turns is reached.
    MaxTurns,
    /// The fallback model takes over.
    ModelFallback,
    /// The provider found the request too long, so the conversation is compacted.
    ReactiveCompact,
    /// A reply that its output limit cut off is continued.
    MaxOutputRecovery,
}

impl LoopCondition {
    /// All conditions, in the order of their numbers.
    pub const ALL: [Self; 13] = [
        Self::BlockingLimit,
        Self::ImageError,
        Self::ModelError,
        Self::AbortedStreaming,
        Self::PromptTooLong,
        Self::Completed,
        Self::StopHookPrevented,
        Self::AbortedTools,
        Self::HookStopped,
        Self::MaxTurns,
        Self::ModelFallback,
        Self::ReactiveCompact,
        Self::MaxOutputRecovery,
    ];

    /// Returns the number of the condition, from 1 to 13.
    pub const fn number(self) -> u8 {
        self as u8 + 1
    }

    /// Returns `true` if the condition ends the run. The others continue it.
    pub const fn is_terminal(self) -> bool {
        self.number() <= 10
    }

    /// Returns the name of the condition, as in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BlockingLimit => "blocking_limit",
            Self::ImageError => "image_error",
            Self::ModelError => "model_error",
            Self::AbortedStreaming => "aborted_streaming",
            Self::PromptTooLong => "prompt_too_long",
            Self::Completed => "completed",
            Self::StopHookPrevented => "stop_hook_prevented",
            Self::AbortedTools => "aborted_tools",
            Self::HookStopped => "hook_stopped",
            Self::MaxTurns => "max_turns",
            Self::ModelFallback => "model_fallback",
            Self::ReactiveCompact => "reactive_compact",
            Self::MaxOutputRecovery => "max_output_recovery",
        }
    }
}

impl fmt::Display for LoopCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The reason for which a run of an assistant ended. The next message on the thread continues the session after any of
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// See [`LoopCondition::BlockingLimit`].
    BlockingLimit,
    /// See [`LoopCondition::ImageError`].
    ImageError,
    /// See [`LoopCondition::ModelError`].
    ModelError,
    /// See [`LoopCondition::AbortedStreaming`].
    AbortedStreaming,
    /// See [`LoopCondition::PromptTooLong`].
    PromptTooLong,
    /// See [`LoopCondition::Completed`].
    Completed,
    /// See [`LoopCondition::StopHookPrevented`].
    StopHookPrevented,
    /// See [`LoopCondition::AbortedTools`].
    AbortedTools,
    /// See [`LoopCondition::HookStopped`].
    HookStopped,
    /// See [`LoopCondition::MaxTurns`].
    MaxTurns,
    /// The next call could exceed a limit of the budget, so it was not sent.
    BudgetExceeded(Resource),
}

impl Exit {
    /// Returns the loop condition of this exit; `None` for a budget, which stands beside the thirteen.
    pub const fn condition(self) -> Option<LoopCondition> {
        Some(match self {
            Self::BlockingLimit => LoopCondition::BlockingLimit,
            Self::ImageError => LoopCondition::ImageError,
            Self::ModelError => LoopCondition::ModelError,
            Self::AbortedStreaming => LoopCondition::AbortedStreaming,
            Self::PromptTooLong => LoopCondition::PromptTooLong,
            Self::Completed => LoopCondition::Completed,
            Self::StopHookPrevented => LoopCondition::StopHookPrevented,
            Self::AbortedTools => LoopCondition::AbortedTools,
            Self::HookStopped => LoopCondition::HookStopped,
            Self::MaxTurns => LoopCondition::MaxTurns,
            Self::BudgetExceeded(_) => return None,
        })
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.condition() {
            Some(condition) => condition.fmt(f),
            None => f.write_str("budget_exceeded"),
        }
    }
}

/// A resource that a budget limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Tokens, read and written.
    Tokens,
    /// Money.
    Money,
    /// Time.
    Time,
}

/// The reason for which the loop called the model again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transition {
    /// Tools have answered.
    Tools,
    /// Folded stretches of the conversation were replaced by their summaries, because the request was too long.
    Collapsed,
    /// The conversation was compacted, because the request was too long.
    Compacted,
    /// Pictures were taken out of the request, because the model refused one.
    StrippedMedia,
    /// The output limit was raised, because a reply was cut off.
    Escalated,
    /// The model was asked to continue a reply that was cut off.
    Resumed,
    /// The fallback model took over.
    SwitchedModel,
    /// A wait is over.
    Waited,
    /// A stop hook objected to the response.
    StopHook,
    /// A message arrived while the assistant worked.
    Message,
    /// The provider paused a long reply.
    Paused,
}

impl Transition {
    /// Returns the recoverable loop condition behind the transition; `None` if nothing had failed, or if a wait was
    /// enough.
    pub const fn condition(self) -> Option<LoopCondition> {
        match self {
            Self::SwitchedModel => Some(LoopCondition::ModelFallback),
            Self::Collapsed | Self::Compacted => Some(LoopCondition::ReactiveCompact),
            Self::Escalated | Self::Resumed => Some(LoopCondition::MaxOutputRecovery),
            Self::Tools
            | Self::StrippedMedia
            | Self::Waited
            | Self::StopHook
            | Self::Message
            | Self::Paused => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_062_there_are_thirteen_numbered_conditions_of_which_ten_are_terminal() {
        let numbers = LoopCondition::ALL.map(LoopCondition::number);
        assert_eq!(numbers, std::array::from_fn(|index| index as u8 + 1));
        assert_eq!(LoopCondition::ALL.into_iter().filter(|it| it.is_terminal()).count(), 10);
        for condition in LoopCondition::ALL {
            assert_eq!(serde_json::to_value(condition).unwrap(), condition.as_str());
        }
    }

    #[test]
    fn s2_070_an_exit_is_terminal_and_a_transition_is_not() {
        let exits = [
            Exit::BlockingLimit,
            Exit::ImageError,
            Exit::ModelError,
            Exit::AbortedStreaming,
            Exit::PromptTooLong,
            Exit::Completed,
            Exit::StopHookPrevented,
            Exit::AbortedTools,
            Exit::HookStopped,
            Exit::MaxTurns,
        ];
        assert!(LoopCondition::ALL.into_iter().take(10).eq(exits.into_iter().filter_map(Exit::condition)));
        assert_eq!(Exit::BudgetExceeded(Resource::Money).condition(), None);
        let transitions = [
            Transition::Collapsed,
            Transition::Compacted,
            Transition::Escalated,
            Transition::Resumed,
            Transition::SwitchedModel,
        ];
        assert!(transitions.into_iter().filter_map(Transition::condition).all(|it| !it.is_terminal()));
    }
}
