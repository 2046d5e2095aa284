//! The breach of a rule.

/// The breach of a rule by a response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Breach {
    /// The response breaks it.
    #[error("{feedback}")]
    Broken {
        /// The changes that the next response has to make; the model reads them.
        feedback: String,
    },
    /// The rule cannot be checked, which is no fault of the response. Correct the rule.
    #[error("{reason}")]
    Unable {
        /// The reason.
        reason: String,
    },
}

/// An error of a rule that cannot be checked, so that the response is not verified. Correct the rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the rule `{rule}` cannot be checked: {reason}")]
pub struct RuleError {
    /// The name of the rule.
    pub rule: String,
    /// The reason.
    pub reason: String,
}

impl Breach {
    /// The response breaks the rule; the feedback tells the model what to do otherwise.
    pub fn broken(feedback: impl Into<String>) -> Self {
        Self::Broken { feedback: feedback.into() }
    }

    /// The rule cannot be checked.
    pub fn unable(reason: impl Into<String>) -> Self {
        Self::Unable { reason: reason.into() }
    }
}
