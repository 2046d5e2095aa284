//! The judgement of a response.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Score, VerificationCriterion};

/// A judgement of a response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judgement {
    /// The findings, one for each requested criterion.
    pub findings: Vec<Finding>,
    /// Content that must not reach the user; usually empty.
    pub critical_issues: Vec<String>,
    /// Suggestions that would make the response better.
    pub suggestions: Vec<String>,
    /// Changes that the next response needs, in one or two sentences that can be acted on.
    pub feedback: String,
}

/// The finding for one criterion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The criterion.
    pub criterion: VerificationCriterion,
    /// The finding, in one sentence.
    pub finding: String,
    /// The score of the response for this criterion.
    pub score: Score,
}
