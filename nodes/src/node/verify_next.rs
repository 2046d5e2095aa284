//! Where a verification leads.

use serde::{Deserialize, Serialize};
use superstep_core::route::Route;

/// Where a [`Verify`](super::Verify) leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifyNext {
    /// The response is given: it was accepted, nobody could judge it, or another one is not to be had.
    Finish,
    /// The response was refused, and another one may be better.
    Refine,
}
