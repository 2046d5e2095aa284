//! Rules that a response has to keep, and that are checked without a model.

mod citation;
#[cfg(feature = "command-rule")]
mod command;
#[cfg(feature = "schema-validation")]
mod compiled;

use std::fmt;

use async_trait::async_trait;

pub use self::citation::CitationRule;
#[cfg(feature = "command-rule")]
pub use self::command::CommandRule;
#[cfg(feature = "schema-validation")]
pub use self::compiled::{InvalidRule, RegexRule, SchemaRule};
use crate::verification::Submission;

/// Something that every response has to keep, and that can be checked without a model.
///
/// The outcome of a rule's check is recorded with the other rules of its verification: a resumed run does not check
/// again what was checked.
///
/// ```
/// use superstep_nodes::verification::{Breach, Rule, Submission};
///
/// struct Polite;
///
/// #[async_trait::async_trait]
/// impl Rule for Polite {
///     fn name(&self) -> &str {
///         "polite"
///     }
///
///     async fn check(&self, submission: &Submission) -> Result<(), Breach> {
///         match submission.response.contains("please") {
///             true => Ok(()),
///             false => Err(Breach::broken("Say please.")),
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait Rule: Send + Sync {
    /// Returns the name, by which records and errors call it.
    fn name(&self) -> &str;

    /// Checks a response.
    ///
    /// # Errors
    /// [`Breach::Broken`] when the response breaks the rule, and [`Breach::Unable`] when that cannot be found out.
    async fn check(&self, submission: &Submission) -> Result<(), Breach>;
}

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

/// The rule that a closure accepts the response. What the closure says else is the feedback.
pub struct PredicateRule<F> {
    name: String,
    holds: F,
}

impl<F: Fn(&Submission) -> Result<(), String> + Send + Sync> PredicateRule<F> {
    /// Makes a rule of this name.
    pub fn new(name: impl Into<String>, holds: F) -> Self {
        Self { name: name.into(), holds }
    }
}

#[async_trait]
impl<F: Fn(&Submission) -> Result<(), String> + Send + Sync> Rule for PredicateRule<F> {
    fn name(&self) -> &str {
        &self.name
    }

    async fn check(&self, submission: &Submission) -> Result<(), Breach> {
        (self.holds)(submission).map_err(Breach::broken)
    }
}

impl<F> fmt::Debug for PredicateRule<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PredicateRule").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
