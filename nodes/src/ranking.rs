//! The ranking of responses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A comparison of the responses of a run up to one iteration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ranking {
    /// The iteration in which the comparison was made; its response is included.
    pub iteration: u32,
    /// The iterations of all compared responses, the best response first.
    pub order: Vec<u32>,
    /// The iteration of the best response: the first of `order`.
    pub best: u32,
    /// The reason why it is the best.
    pub reason: String,
}
