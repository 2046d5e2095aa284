//! The cost of a call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Purpose, Usage};

/// A call that a node has made, and what it took: an entry of a log with the reducer `Append`, which
/// [`Agent::log_calls`](super::Agent::log_calls) and [`Tools::log_calls`](super::Tools::log_calls) write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "call", rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallCost {
    /// A call of a model that replied.
    Model {
        /// The purpose of the call.
        purpose: Purpose,
        /// The tokens used.
        usage: Usage,
        /// The time it took, in milliseconds: from the request to the end of the reply.
        elapsed_ms: u64,
    },
    /// A call of a tool, which may have been refused.
    Tool {
        /// Its name.
        name: String,
        /// The time it took, in milliseconds.
        elapsed_ms: u64,
    },
}
