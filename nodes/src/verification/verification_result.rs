//! What came of a verification.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Finding, Judgement, Score, VerificationCriterion};
use crate::model::Usage;

/// What came of a verification.
///
/// A response passes exactly if its score is at least the threshold and nothing critical was found. One that was not accepted
/// has feedback that is not blank. Where nobody could judge it, there is neither a score nor a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerificationResult {
    /// Whether the response is accepted; nothing if nobody could judge it.
    pub passed: Option<bool>,
    /// How good it is: the mean of the scores by criterion, or the share of the rules that it keeps.
    pub score: Option<Score>,
    /// The score that it needs.
    pub threshold: Score,
    /// How good it is by each criterion that a judge was asked about.
    pub scores: BTreeMap<VerificationCriterion, Score>,
    /// What the next response has to do otherwise.
    pub feedback: String,
    /// What must not reach the user: rules that are broken, and what a judge calls critical.
    pub critical_issues: Vec<String>,
    /// What would make the response better.
    pub suggestions: Vec<String>,
    /// Who says so.
    pub by: VerifiedBy,
}

/// Who verified a response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum VerifiedBy {
    /// A model, after all rules were kept.
    Judge {
        /// Its name.
        model: String,
        /// What it was told to do: the beginning of the digest of its
        /// [instructions](crate::prompt::VerifierPrompt::INSTRUCTIONS).
        prompt: String,
        /// What its last call used.
        usage: Usage,
    },
    /// Rules alone.
    Rules {
        /// The names of those that were checked.
        checked: Vec<String>,
        /// The names of those that are broken.
        broken: Vec<String>,
    },
    /// Nobody again: the response is, but for white space, one that was refused before, and so is refused again.
    Earlier {
        /// Which candidate of the turn that was, from 1.
        attempt: u32,
    },
    /// Nobody: there is no rule, and no judge or none that could be asked.
    Nobody {
        /// Why.
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

    /// Of rules, all of which were checked; the issues are what those that are broken say.
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
