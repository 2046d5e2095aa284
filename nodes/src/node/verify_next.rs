//! The next step after a verification.

use serde::{Deserialize, Serialize};
use superstep_core::route::Route;

/// The next step after a [`Verify`](super::Verify).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifyNext {
    /// The response is given: it was accepted, it could not be judged, or there can be no other one.
    Finish,
    /// The response was refused, and another one may be better.
    Refine,
}
