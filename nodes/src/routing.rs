//! The routing of requests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_core::route::Route;

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
