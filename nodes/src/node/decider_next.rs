//! The next step after a decider.

use serde::{Deserialize, Serialize};
use superstep_core::route::Route;

/// The next step after a [`Decider`](super::Decider).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeciderNext {
    /// The response is complete, or there are no iterations left.
    Finish,
    /// Another iteration may give a complete response.
    Iterate,
}
