//! A response that is compared with others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Evaluation;

/// A response that is compared with others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Candidate {
    /// The iteration that gave the response.
    pub iteration: u32,
    /// The response.
    pub response: String,
    /// The evaluation, if there is one.
    pub evaluation: Option<Evaluation>,
}
