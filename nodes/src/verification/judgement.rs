//! The judgement of a response.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Score, VerificationCriterion};

/// What a judge says of a response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judgement {
    /// What it finds, one entry for each criterion that it is asked about.
    pub findings: Vec<Finding>,
    /// What must not reach the user; nothing in most cases.
    pub critical_issues: Vec<String>,
    /// What would make the response better.
    pub suggestions: Vec<String>,
    /// What the next response has to do otherwise, in one or two sentences that can be acted on.
    pub feedback: String,
}

/// What a judge finds by one criterion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The criterion.
    pub criterion: VerificationCriterion,
    /// What it finds, in one sentence.
    pub finding: String,
    /// How good the response is by it.
    pub score: Score,
}
