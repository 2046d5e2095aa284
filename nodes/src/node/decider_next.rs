//! Where a decider leads.

use serde::{Deserialize, Serialize};
use superstep_core::route::Route;

/// Where a [`Decider`](super::Decider) leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeciderNext {
    /// The response is complete, or there are no iterations left.
    Finish,
    /// Another iteration may give a complete response.
    Iterate,
}
