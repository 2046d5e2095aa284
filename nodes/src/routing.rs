//! The routing of requests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_core::route::Route;

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
