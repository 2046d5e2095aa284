//! The purpose of a model call.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The purpose of a model call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Purpose {
    /// To work on the task: answer, or ask for tools.
    Agent,
    /// To judge a response.
    Evaluator,
    /// To compare a response with the earlier ones.
    Ranker,
    /// To give the final response when time is up.
    Decider,
    /// To summarise the earlier part of a conversation.
    Summarizer,
    /// To decide whether tools are needed.
    Router,
    /// To verify a response against criteria.
    Verifier,
    /// To answer again, after a response was not accepted.
    Refiner,
    /// To decide whether a tool may be called.
    Classifier,
}

impl Purpose {
    /// Returns the name, as it is in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Evaluator => "evaluator",
            Self::Ranker => "ranker",
            Self::Decider => "decider",
            Self::Summarizer => "summarizer",
            Self::Router => "router",
            Self::Verifier => "verifier",
            Self::Refiner => "refiner",
            Self::Classifier => "classifier",
        }
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
