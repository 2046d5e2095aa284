//! The text of an agent.

use serde::{Deserialize, Serialize};

/// The text of an agent on a visit, as a custom event of the name [`Reasoning::EVENT`]: an [`Agent`](super::Agent) with
/// [`tell_reasoning`](super::Agent::tell_reasoning) emits it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reasoning {
    /// The agent's name, as given to [`Agent::tell_reasoning`](super::Agent::tell_reasoning).
    pub agent: String,
    /// All text of the reply.
    pub text: String,
}

impl Reasoning {
    /// The name of the events of agents' texts.
    pub const EVENT: &'static str = "agent_reasoning";
}
