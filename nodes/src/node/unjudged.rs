//! A judgement that is missing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::Purpose;

/// A judgement in a state that a model failed to give; the graph continued without it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unjudged {
    /// The turn of the conversation, from 1.
    pub turn: u32,
    /// The iteration whose response was to be judged.
    pub iteration: u32,
    /// The judgement that is missing: [`Purpose::Evaluator`] or [`Purpose::Ranker`].
    pub judge: Purpose,
    /// The error of the judge.
    pub reason: String,
}
