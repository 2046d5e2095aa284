//! The errors of structured replies.

use crate::verification::VerificationCriterion;

/// An error of a reply that is not the structured answer that was asked for. Asking again may help: language
/// models do not always keep to a form.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// The text is not JSON of the schema that was asked for.
    #[error("the reply does not have the form that was asked for: {reason}")]
    Form {
        /// A description of the mismatch.
        reason: String,
    },
    /// The reply is about another iteration.
    #[error("the reply is about iteration {found}, not {expected}")]
    OtherIteration {
        /// The iteration that was asked about.
        expected: u32,
        /// The iteration the reply is about.
        found: u32,
    },
    /// The score is not from 0 to 1.
    #[error("the score {score} is not from 0 to 1")]
    Score {
        /// The score.
        score: f64,
    },
    /// The order does not have every compared iteration exactly once.
    #[error("the order {order:?} does not have each of the compared iterations once")]
    Order {
        /// The order.
        order: Vec<u32>,
    },
    /// The best is not the first of the order.
    #[error("iteration {best} is called the best but is not the first of the order")]
    Best {
        /// The iteration that is called the best.
        best: u32,
    },
    /// The criteria that are judged are not those that were asked about, each once.
    #[error("the findings are about {found:?}, and not about each of {expected:?} once")]
    Criteria {
        /// Those that were asked about.
        expected: Vec<VerificationCriterion>,
        /// Those that are judged.
        found: Vec<VerificationCriterion>,
    },
    /// Something is to be better, and it is not said what.
    #[error("the feedback is empty, and the response is not called perfect")]
    NoFeedback,
}
