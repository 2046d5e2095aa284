//! Verifying a response by its words.

use superstep_nodes::model::{ModelError, ModelRequest};
use superstep_nodes::prompt::VerifierPrompt;
use superstep_nodes::verification::{Finding, Judgement, Score, Submission, VerificationCriterion};

use super::answer::is_refusal;
use super::judge::{evident, missing, percent, query, quoted, write};
use super::source::sources;
use crate::text::Terms;

/// Measures of a response by its words, from 0 to 1.
struct Measures {
    /// The measure of how much of the request the response covers.
    words: f64,
    /// The measure of how much of the response is in the sources.
    quotes: f64,
    /// 1 if the response names its sources or needs none, otherwise 0.
    sources: f64,
    /// The feedback on the response.
    feedback: String,
}

/// Verifies a response.
pub(super) fn verify(request: &ModelRequest) -> Result<String, ModelError> {
    let prompt = VerifierPrompt::of(request).ok_or_else(|| ModelError::InvalidRequest {
        reason: format!("the last human message has no material for purpose `{}`", request.purpose),
    })?;
    let is_empty = prompt.submission.response.trim().is_empty();
    let measures = if is_empty { Measures::of_nothing() } else { Measures::of(&prompt.submission) };
    let findings = prompt.criteria.iter().map(|criterion| measures.finding(*criterion, is_empty));
    let judgement = Judgement {
        findings: findings.collect(),
        critical_issues: if is_empty { vec![measures.feedback.clone()] } else { Vec::new() },
        suggestions: Vec::new(),
        feedback: measures.feedback,
    };
    write(&judgement)
}

impl Measures {
    fn of_nothing() -> Self {
        Self { words: 0.0, quotes: 0.0, sources: 0.0, feedback: "The response is empty.".to_owned() }
    }

    fn of(submission: &Submission) -> Self {
        let (query, response) = (query(&submission.request), submission.response.trim());
        if is_refusal(response) {
            let found = evident(&query, &submission.sources);
            let feedback = format!(
                "The response makes no claim. The sources as a whole have {} of the request's telling words.",
                percent(found)
            );
            return Self { words: 1.0 - found / 2.0, quotes: 1.0, sources: 1.0, feedback };
        }
        let terms = Terms::of(response);
        let (words, quotes) = (query.coverage(&terms), quoted(response, &submission.sources));
        let names_sources = !sources(response).is_empty();
        let mut feedback = format!(
            "The response has {} of the request's telling words; {} of it is in the sources.",
            percent(words),
            percent(quotes)
        );
        feedback.push_str(&missing(&query, &terms));
        if !names_sources {
            feedback.push_str(" It names no source.");
        }
        Self { words, quotes, sources: f64::from(u8::from(names_sources)), feedback }
    }

    fn finding(&self, criterion: VerificationCriterion, is_empty: bool) -> Finding {
        use VerificationCriterion::{Accuracy, Clarity, Completeness, Relevance, Safety, Sources};

        let (share, finding) = match criterion {
            Accuracy => (self.quotes, format!("{} of it is in the sources.", percent(self.quotes))),
            Completeness | Relevance => {
                (self.words, format!("It has {} of the request's words.", percent(self.words)))
            }
            Sources if self.sources == 1.0 => (1.0, "It names its sources, or needs none.".to_owned()),
            Sources => (0.0, "It names no source.".to_owned()),
            Clarity | Safety if is_empty => (0.0, "There is nothing to read.".to_owned()),
            Clarity | Safety => (1.0, "This judge compares words, and sees no fault.".to_owned()),
        };
        let score = Score::new(share).expect("a share is from 0 to 1");
        Finding { criterion, finding, score }
    }
}
