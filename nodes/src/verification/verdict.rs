//! The verdict on the response of a turn.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Verification, VerifiedBy};

/// The verdict on the response of a turn. Match it before you show the response: a response that is given is not always
/// an accepted one.
///
/// ```
/// use superstep_nodes::verification::{Verdict, Verification};
///
/// fn label(verifications: &[Verification], turn: u32) -> String {
///     match Verdict::of(verifications, turn) {
///         Verdict::Verified(_) => "checked".into(),
///         Verdict::Unverified { why, .. } => format!("not accepted: {why}"),
///         Verdict::Unchecked => "not checked".into(),
///     }
/// }
/// assert_eq!(label(&[], 1), "not checked");
/// ```
#[must_use = "a response that was given need not have been accepted"]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// It was accepted.
    Verified(Verification),
    /// It was not, and is given all the same.
    Unverified {
        /// The last verification: that of the response that is given.
        last: Verification,
        /// The reason for which there is no better one.
        why: WhyUnverified,
    },
    /// It was not verified: the turn has no verification.
    Unchecked,
}

/// The reason for which a response that was not accepted is given all the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum WhyUnverified {
    /// The maximum number of responses was refused.
    #[error("none of {refused} responses was accepted")]
    AttemptsUsedUp {
        /// The number of refused responses.
        refused: u32,
    },
    /// The model repeated a refused response.
    #[error("the response is the same as one that was refused before")]
    NoProgress,
    /// It could not be judged.
    #[error("the response could not be judged: {reason}")]
    NotJudged {
        /// The reason.
        reason: String,
    },
}

impl Verdict {
    /// Reads the verdict on a turn from the verifications of a state; the turn of a state that counts none is 1. While
    /// the turn goes on it is that on the latest response.
    pub fn of(verifications: &[Verification], turn: u32) -> Self {
        let Some(last) = Verification::of_turn(verifications, turn).next_back() else {
            return Self::Unchecked;
        };
        let why = match (&last.result.by, last.result.passed) {
            (_, Some(true)) => return Self::Verified(last.clone()),
            (VerifiedBy::Earlier { .. }, _) => WhyUnverified::NoProgress,
            (VerifiedBy::Nobody { reason }, _) => WhyUnverified::NotJudged { reason: reason.clone() },
            (VerifiedBy::Judge { .. } | VerifiedBy::Rules { .. }, _) => {
                WhyUnverified::AttemptsUsedUp { refused: last.attempt }
            }
        };
        Self::Unverified { last: last.clone(), why }
    }

    /// Tells whether the response was accepted.
    pub fn is_verified(&self) -> bool {
        matches!(self, Self::Verified(_))
    }
}
