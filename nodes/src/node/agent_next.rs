//! Where an agent leads.

use serde::{Deserialize, Serialize};
use superstep_core::route::Route;

/// Where an [`Agent`](super::Agent) leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentNext {
    /// The model asks for tools, and there are iterations left to use their results. So also where a limit cut its
    /// reply off: then the calls are answered already, by an error that says so, and nothing is run.
    RunTools,
    /// The model responded; or it asked for tools at the limit, and they are not run.
    Respond,
}
