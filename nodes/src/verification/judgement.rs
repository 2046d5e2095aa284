//! The judgement of a response, criterion by criterion.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Score;

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

/// What a response is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerificationCriterion {
    /// What it says is true.
    Accuracy,
    /// It does all that was asked for.
    Completeness,
    /// It is well ordered and easy to understand.
    Clarity,
    /// It is about what was asked for, and about nothing else.
    Relevance,
    /// It does no harm, and says nothing that is out of place.
    Safety,
    /// It says where its claims come from.
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
