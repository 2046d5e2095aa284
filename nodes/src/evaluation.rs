//! The evaluation of a response.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An evaluator's judgement of a response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evaluation {
    /// The iteration whose response is judged.
    pub iteration: u32,
    /// The quality of the response, from 0 (useless) to 1 (nothing to improve).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub score: f64,
    /// `true` if the response does everything that the task asks for.
    pub complete: bool,
    /// Feedback for the next iteration: the missing or wrong parts of the response.
    pub feedback: String,
}
