//! The evaluation, the ranking and the routing that models decide on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_core::route::Route;

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

/// How the responses of a run compare, as of one iteration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ranking {
    /// The iteration in which the comparison was made; its response is among the compared.
    pub iteration: u32,
    /// The iterations of all compared responses, the best response first.
    pub order: Vec<u32>,
    /// The iteration of the best response: the first of `order`.
    pub best: u32,
    /// Why it is the best.
    pub reason: String,
}

/// How a request is worked on. There is nothing else that a router may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NextAction {
    /// With tools first.
    UseTools,
    /// With a response at once.
    Respond,
}

/// What a router decides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoutingDecision {
    /// How the request is worked on.
    pub action: NextAction,
    /// How sure the router is, from 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: f64,
    /// Why.
    pub reasoning: String,
}
