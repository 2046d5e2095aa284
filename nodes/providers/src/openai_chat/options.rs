//! In what the servers of the protocol differ.

/// The member of a request that limits the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputLimit {
    /// `max_completion_tokens`, which counts thinking too: OpenAI.
    MaxCompletionTokens,
    /// `max_tokens`, the older name, which compatible servers know.
    MaxTokens,
}

impl OutputLimit {
    pub(super) const fn member(self) -> &'static str {
        match self {
            Self::MaxCompletionTokens => "max_completion_tokens",
            Self::MaxTokens => "max_tokens",
        }
    }
}

/// The messages in which a server takes instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstructionRole {
    /// Those of the role `system`, wherever they stand: OpenAI.
    System,
    /// Those of the role `developer`, wherever they stand: models of OpenAI that think, which take `system` as well.
    Developer,
    /// One of the role `system` before all others, as the templates of many open models have it. Later instructions
    /// are notes in what the user says.
    SystemFirst,
}

impl InstructionRole {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::System | Self::SystemFirst => "system",
            Self::Developer => "developer",
        }
    }
}
