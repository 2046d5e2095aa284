//! The text of an agent.

use serde::{Deserialize, Serialize};

/// The text of an agent on a visit: the data of an [`Agent::REASONING`](super::Agent::REASONING) event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reasoning {
    /// The agent's name, as given to [`Agent::tell_reasoning`](super::Agent::tell_reasoning).
    pub agent: String,
    /// All text of the reply.
    pub text: String,
}
