//! The next step after a visit to the tools.

use serde::{Deserialize, Serialize};
use superstep_core::route::Route;

/// The next step after a [`UseTools`](super::UseTools).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UseToolsNext {
    /// The model asks for no more tools, or there are no rounds left.
    Done,
    /// The model failed after tools had run: their results are kept, and the node is to be visited again.
    Again,
}
