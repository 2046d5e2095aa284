//! The error of an invalid rule.

/// An error of making a rule: its schema or its regular expression is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the rule is not valid: {reason}")]
pub struct InvalidRule {
    /// A description of the error.
    pub reason: String,
}
