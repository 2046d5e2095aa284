//! The evaluation of a response.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an evaluator says of a response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evaluation {
    /// The iteration whose response is judged.
    pub iteration: u32,
    /// How good the response is, from 0 (useless) to 1 (nothing to improve).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub score: f64,
    /// Whether the response does all that the task asks for.
    pub complete: bool,
    /// What is missing or wrong, said so that the next iteration can use it.
    pub feedback: String,
}
