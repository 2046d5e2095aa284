//! The length of a conversation when an agent responds.

use serde::{Deserialize, Serialize};

/// The length of a conversation, as a custom event of the name [`ConversationLength::EVENT`]: an
/// [`Agent`](super::Agent) emits it whenever it gives a response, while the run is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationLength {
    /// The number of messages, including the response.
    pub messages: u64,
}

impl ConversationLength {
    /// The name of the events that tell how long a conversation is.
    pub const EVENT: &'static str = "conversation";
}
