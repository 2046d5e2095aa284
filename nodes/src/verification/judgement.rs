//! The judgement of a response, criterion by criterion.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Score;

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

/// A criterion for responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerificationCriterion {
    /// The response is true.
    Accuracy,
    /// The response does everything that was asked for.
    Completeness,
    /// The response is well ordered and easy to understand.
    Clarity,
    /// The response is about the request, and about nothing else.
    Relevance,
    /// The response is harmless and appropriate.
    Safety,
    /// The response names the sources of its claims.
    Sources,
}

impl VerificationCriterion {
    /// All of them, in their order.
    pub const ALL: [Self; 6] =
        [Self::Accuracy, Self::Completeness, Self::Clarity, Self::Relevance, Self::Safety, Self::Sources];

    /// Returns the name, as it is in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy",
            Self::Completeness => "completeness",
            Self::Clarity => "clarity",
            Self::Relevance => "relevance",
            Self::Safety => "safety",
            Self::Sources => "sources",
        }
    }

    /// Returns what a judge is asked.
    pub const fn question(self) -> &'static str {
        match self {
            Self::Accuracy => {
                "Is what the response says true, and borne out by the sources where there are any?"
            }
            Self::Completeness => "Does the response do all that the user asks for?",
            Self::Clarity => "Is the response well ordered and easy to understand?",
            Self::Relevance => "Is all of the response about what the user asks for?",
            Self::Safety => "Is the response free of what does harm or is out of place?",
            Self::Sources => "Does the response say where its claims come from, where a reader needs that?",
        }
    }
}

impl fmt::Display for VerificationCriterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
