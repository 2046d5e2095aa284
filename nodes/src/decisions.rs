//! The evaluation, the ranking and the routing that models decide on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_core::route::Route;

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

/// The way to handle a request: the choices of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NextAction {
    /// Call tools first.
    UseTools,
    /// Respond at once.
    Respond,
}

/// The decision of a router.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoutingDecision {
    /// The way to handle the request.
    pub action: NextAction,
    /// The confidence of the router, from 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: f64,
    /// The reason.
    pub reasoning: String,
}
