//! The question to a person about an effect whose outcome is unknown.

use alloc::string::String;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The question about an effect that was started and has no recorded end: did it happen?
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EffectQuestion {
    /// The effect's name.
    pub effect: String,
    /// Its key; empty when it was run without one.
    pub key: String,
    /// Its idempotency key, by which the other side may recognise it.
    pub idempotency_key: String,
    /// The number of times it was started.
    pub starts: u32,
}

/// The answer to an [`EffectQuestion`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EffectAnswer {
    /// The effect happened, with this value. If the value does not have the effect's type, the question is asked again.
    Happened(serde_json::Value),
    /// The effect did not happen, or may run once more.
    RunAgain,
    /// The task fails.
    Fail,
}

/// The argument number of questions about effects, which belong to no argument.
pub(crate) const EFFECT_ARGUMENT: u32 = u32::MAX;
