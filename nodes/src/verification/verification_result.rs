//! The result of a verification, and its record in a state.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Finding, Judgement, Score, VerificationCriterion};
use crate::message::MessageId;
use crate::model::Usage;

/// The result of a verification.
///
/// A response passes exactly if its score is at least the threshold and nothing critical was found. One that was not
/// accepted has feedback that is not blank. If it could not be judged, there is neither a score nor a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerificationResult {
    /// True if the response is accepted; absent if it could not be judged.
    pub passed: Option<bool>,
    /// The score: the mean of the scores by criterion, or the share of the rules that the response keeps.
    pub score: Option<Score>,
    /// The score that it needs to pass.
    pub threshold: Score,
    /// The score by each criterion that a judge was asked about.
    pub scores: BTreeMap<VerificationCriterion, Score>,
    /// The feedback for the next response.
    pub feedback: String,
    /// The issues that must not reach the user: broken rules, and issues that a judge calls critical.
    pub critical_issues: Vec<String>,
    /// Suggestions that would make the response better.
    pub suggestions: Vec<String>,
    /// The author of the result.
    pub by: VerifiedBy,
}

/// The author of a verification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum VerifiedBy {
    /// A model, after all rules were kept.
    Judge {
        /// Its name.
        model: String,
        /// The beginning of the digest of its
        /// [instructions](crate::prompt::VerifierPrompt::INSTRUCTIONS).
        prompt: String,
        /// The tokens used by its last call.
        usage: Usage,
    },
    /// Rules alone.
    Rules {
        /// The names of those that were checked.
        checked: Vec<String>,
        /// The names of those that are broken.
        broken: Vec<String>,
    },
    /// No verification: apart from white space, the response is one that was refused before, and is refused again.
    Earlier {
        /// The number of the candidate in the turn, from 1.
        attempt: u32,
    },
    /// No verification: there is no rule, and no judge or none that could be asked.
    Nobody {
        /// The reason.
        reason: String,
    },
}

impl VerificationResult {
    /// Tells whether the response was refused, so that another one is wanted.
    pub fn requires_refinement(&self) -> bool {
        self.passed == Some(false)
    }

    pub(super) fn by_judge(threshold: Score, judgement: Judgement, by: VerifiedBy) -> Self {
        let Judgement { findings, critical_issues, suggestions, feedback } = judgement;
        let scores: BTreeMap<_, _> =
            findings.iter().map(|finding| (finding.criterion, finding.score)).collect();
        let said = |lines: Vec<String>| lines.into_iter().filter(|line| !line.trim().is_empty()).collect();
        let score = Score::mean(scores.values().copied()).unwrap_or(Score::ZERO);
        let mut result = Self::decided(threshold, score, said(critical_issues), by);
        result.suggestions = said(suggestions);
        result.feedback = feedback;
        if result.feedback.trim().is_empty() && result.requires_refinement() {
            let lacks = findings.iter().filter(|finding| finding.score < Score::ONE);
            let lacks = lacks.map(|Finding { criterion, finding, score }| match finding.trim() {
                "" => format!("{criterion} is only {score}"),
                finding => format!("{criterion} is only {score}: {finding}"),
            });
            result.feedback =
                result.critical_issues.iter().cloned().chain(lacks).collect::<Vec<_>>().join("\n");
        }
        result.scores = scores;
        result
    }

    /// Makes the result of rules that were all checked; the issues are those of the broken rules.
    pub(super) fn by_rules(
        threshold: Score,
        checked: Vec<String>,
        broken: Vec<String>,
        issues: Vec<String>,
    ) -> Self {
        let kept = checked.len().saturating_sub(broken.len());
        // Rules are few, far below where a float loses ones.
        let score = if checked.is_empty() { 1.0 } else { kept as f64 / checked.len() as f64 };
        let feedback = issues.join("\n");
        let by = VerifiedBy::Rules { checked, broken };
        Self { feedback, ..Self::decided(threshold, Score::nearest(score), issues, by) }
    }

    pub(super) fn by_nobody(threshold: Score, reason: String) -> Self {
        Self {
            passed: None,
            score: None,
            ..Self::decided(threshold, Score::ZERO, Vec::new(), VerifiedBy::Nobody { reason })
        }
    }

    fn decided(threshold: Score, score: Score, critical_issues: Vec<String>, by: VerifiedBy) -> Self {
        Self {
            passed: Some(score >= threshold && critical_issues.is_empty()),
            score: Some(score),
            threshold,
            scores: BTreeMap::new(),
            feedback: String::new(),
            critical_issues,
            suggestions: Vec::new(),
            by,
        }
    }
}

/// A verification as a state keeps it, with the response: a field `Vec<Verification>` has the reducer
/// [`Append`](superstep_core::reducer::Append). So no candidate is lost, though [`Refine`](crate::node::Refine) takes
/// those out of the conversation that were refused. In JSON all fields stand side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// The turn of the conversation.
    pub turn: u32,
    /// The number of the candidate in the turn, from 1.
    pub attempt: u32,
    /// The verified AI message.
    pub message: MessageId,
    /// The text of the response.
    pub response: String,
    /// The result.
    #[serde(flatten)]
    pub result: VerificationResult,
}

impl Verification {
    /// Returns the verifications of a turn, the first candidate first.
    pub fn of_turn(verifications: &[Self], turn: u32) -> impl DoubleEndedIterator<Item = &Self> {
        verifications.iter().filter(move |verification| verification.turn == turn)
    }

    /// Returns the best candidate of a turn: one in which nothing critical was found before one in which something was,
    /// then the one with the higher score, and of equals the latest.
    pub fn best(verifications: &[Self], turn: u32) -> Option<&Self> {
        let rank = |it: &&Self| (it.result.critical_issues.is_empty(), it.result.score, it.attempt);
        Self::of_turn(verifications, turn).max_by_key(rank)
    }

    /// Tells whether this is the response that was refused, but for white space.
    pub(crate) fn refused(&self, response: &str) -> bool {
        let is_same = || self.response.split_whitespace().eq(response.split_whitespace());
        self.result.requires_refinement() && is_same()
    }
}
