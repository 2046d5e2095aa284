//! The settings of an agentic loop.

use std::num::NonZeroU32;
use std::ops::RangeInclusive;

use super::state::AgenticState;
use crate::compaction::ContextManager;
use crate::configuration::{Configurable, Key, read_into};
use crate::node::{Refine, UseTools};
use crate::verification::{OnJudgeError, OutputVerifier, VerificationMode};

/// All that can be set of an [`agentic`](super::agentic()) graph: in code, in a file, or by the environment, through a
/// [`Configuration`](crate::configuration::Configuration). A file has the names of the variables in small letters.
///
/// | variable | default | may be |
/// |---|---|---|
/// | `ENABLE_CONTEXT_COMPACTION` | true | `true` or `false` |
/// | `COMPACTION_THRESHOLD` | 8000 | 2 to 10,000,000 tokens, above which the conversation is compacted |
/// | `TARGET_AFTER_COMPACTION` | 4000 | 1 to 10,000,000 tokens, fewer than the threshold |
/// | `RECENT_MESSAGE_COUNT` | 5 | 0 to 1000 messages that stay as they are |
/// | `ENABLE_VERIFICATION` | true | `true` or `false` |
/// | `VERIFICATION_QUALITY_THRESHOLD` | 0.7 | 0 to 1 |
/// | `MAX_REFINEMENT_ATTEMPTS` | 3 | 0 to 20; 0 verifies and never refines |
/// | `VERIFICATION_MODE` | `standard` | `strict`, `standard` or `lenient` |
/// | `ON_JUDGE_ERROR` | `accept` | `accept` or `fail` |
/// | `MAX_TOOL_ROUNDS` | 5 | 1 to 100 times that tools are run for a request |
///
/// ```
/// use superstep_nodes::graphs::AgenticSettings;
///
/// let settings = AgenticSettings { compaction_threshold: 16_000, ..AgenticSettings::default() };
/// assert!(settings.enable_verification && settings.max_refinement_attempts == 3);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AgenticSettings {
    /// If true, models are shown a summary of a conversation that is too long.
    pub enable_context_compaction: bool,
    /// The number of tokens from which a conversation is too long.
    pub compaction_threshold: u64,
    /// The target number of tokens of a compaction.
    pub target_after_compaction: u64,
    /// The number of latest messages that are not compacted.
    pub recent_message_count: usize,
    /// If true, responses are verified.
    pub enable_verification: bool,
    /// The minimum score of a response, from 0 to 1, in the standard mode.
    pub verification_quality_threshold: f64,
    /// The maximum number of refinements of a refused response in a turn.
    pub max_refinement_attempts: u32,
    /// The strictness of the verification.
    pub verification_mode: VerificationMode,
    /// The handling of a response that the judge fails to judge.
    pub on_judge_error: OnJudgeError,
    /// The maximum number of rounds of tool calls for a request.
    pub max_tool_rounds: NonZeroU32,
}

impl Default for AgenticSettings {
    fn default() -> Self {
        Self {
            enable_context_compaction: true,
            compaction_threshold: ContextManager::THRESHOLD,
            target_after_compaction: ContextManager::TARGET,
            recent_message_count: ContextManager::RECENT,
            enable_verification: true,
            verification_quality_threshold: OutputVerifier::THRESHOLD,
            max_refinement_attempts: Refine::<AgenticState, Option<u32>>::MAX_ATTEMPTS,
            verification_mode: VerificationMode::default(),
            on_judge_error: OnJudgeError::default(),
            max_tool_rounds: UseTools::<AgenticState>::ROUNDS,
        }
    }
}

/// The range of the threshold; a compaction leaves fewer tokens than the threshold.
const THRESHOLDS: RangeInclusive<u64> = 2..=10_000_000;
/// The range of the target.
const TARGETS: RangeInclusive<u64> = 1..=10_000_000;
const SWITCH: &str = "true or false";

impl Configurable for AgenticSettings {
    const KEYS: &'static [Key<Self>] = &[
        Key {
            name: "ENABLE_CONTEXT_COMPACTION",
            allowed: SWITCH,
            read: |set, text| read_into(&mut set.enable_context_compaction, text, |_| true),
            show: |set| set.enable_context_compaction.to_string(),
        },
        Key {
            name: "COMPACTION_THRESHOLD",
            allowed: "a whole number from 2 to 10000000",
            read: |set, text| read_into(&mut set.compaction_threshold, text, |it| THRESHOLDS.contains(it)),
            show: |set| set.compaction_threshold.to_string(),
        },
        Key {
            name: "TARGET_AFTER_COMPACTION",
            allowed: "a whole number from 1 to 10000000",
            read: |set, text| read_into(&mut set.target_after_compaction, text, |it| TARGETS.contains(it)),
            show: |set| set.target_after_compaction.to_string(),
        },
        Key {
            name: "RECENT_MESSAGE_COUNT",
            allowed: "a whole number from 0 to 1000",
            read: |set, text| read_into(&mut set.recent_message_count, text, |it| *it <= 1_000),
            show: |set| set.recent_message_count.to_string(),
        },
        Key {
            name: "ENABLE_VERIFICATION",
            allowed: SWITCH,
            read: |set, text| read_into(&mut set.enable_verification, text, |_| true),
            show: |set| set.enable_verification.to_string(),
        },
        Key {
            name: "VERIFICATION_QUALITY_THRESHOLD",
            allowed: "a number from 0 to 1",
            read: |set, text| {
                read_into(&mut set.verification_quality_threshold, text, |it| (0.0..=1.0).contains(it))
            },
            show: |set| set.verification_quality_threshold.to_string(),
        },
        Key {
            name: "MAX_REFINEMENT_ATTEMPTS",
            allowed: "a whole number from 0 to 20",
            read: |set, text| read_into(&mut set.max_refinement_attempts, text, |it| *it <= 20),
            show: |set| set.max_refinement_attempts.to_string(),
        },
        Key {
            name: "VERIFICATION_MODE",
            allowed: "strict, standard or lenient",
            read: |set, text| read_into(&mut set.verification_mode, text, |_| true),
            show: |set| set.verification_mode.to_string(),
        },
        Key {
            name: "ON_JUDGE_ERROR",
            allowed: "accept or fail",
            read: |set, text| {
                set.on_judge_error = match text {
                    "accept" => OnJudgeError::Accept,
                    "fail" => OnJudgeError::Fail,
                    _ => return None,
                };
                Some(())
            },
            show: |set| match set.on_judge_error {
                OnJudgeError::Accept => "accept".to_owned(),
                OnJudgeError::Fail => "fail".to_owned(),
            },
        },
        Key {
            name: "MAX_TOOL_ROUNDS",
            allowed: "a whole number from 1 to 100",
            read: |set, text| read_into(&mut set.max_tool_rounds, text, |it| it.get() <= 100),
            show: |set| set.max_tool_rounds.to_string(),
        },
    ];

    fn check(&self) -> Result<(), (&'static str, String)> {
        let (target, threshold) = (self.target_after_compaction, self.compaction_threshold);
        match self.enable_context_compaction && target >= threshold {
            true => Err((
                "TARGET_AFTER_COMPACTION",
                format!("fewer tokens than COMPACTION_THRESHOLD, which is {threshold}"),
            )),
            false => Ok(()),
        }
    }
}
