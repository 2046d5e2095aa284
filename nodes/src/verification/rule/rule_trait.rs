//! The trait of rules.

use async_trait::async_trait;

use super::Breach;
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
