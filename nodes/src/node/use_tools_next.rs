//! Where a visit to the tools leads.

use serde::{Deserialize, Serialize};
use superstep_core::route::Route;

/// Where a [`UseTools`](super::UseTools) leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UseToolsNext {
    /// The model has what it needs, or there are no rounds left.
    Done,
    /// The model failed after tools had run: what they did is kept, and the node is to be visited again.
    Again,
}
