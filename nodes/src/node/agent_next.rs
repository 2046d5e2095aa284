//! The next step after an agent.

use serde::{Deserialize, Serialize};
use superstep_core::route::Route;

/// The next step after an [`Agent`](super::Agent).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentNext {
    /// The model asks for tools, and there are iterations left to use their results. This is also the next step if a
    /// limit cut the reply off: then the calls are answered already, by an error with that reason, and nothing is run.
    RunTools,
    /// The model responded; or it asked for tools at the limit, and they are not run.
    Respond,
}
