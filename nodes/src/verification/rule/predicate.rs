//! A rule that is a closure.

use std::fmt;

use async_trait::async_trait;

use super::{Breach, Rule};
use crate::verification::Submission;

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
