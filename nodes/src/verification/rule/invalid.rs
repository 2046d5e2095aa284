//! Why a rule is none.

/// Why a rule cannot be made: its schema or its regular expression is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no such rule: {reason}")]
pub struct InvalidRule {
    /// A description of the error.
    pub reason: String,
}
