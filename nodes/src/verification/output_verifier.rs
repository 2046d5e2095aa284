//! The settings of verifications.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Breach, Judgement, Rule, RuleError, Score, Submission, VerificationCriterion, VerificationMode,
    VerificationResult, VerifiedBy,
};
use crate::model::{ModelReply, RoughTokens, TokenCounter};
use crate::prompt::{Evidence, VerifierPrompt, escaped, fit};

/// Says how responses are verified: by which rules, and by a judge that is asked about which criteria.
///
/// Rules cost nothing and are checked first, all of them. If one is broken, the response is refused and the judge is
/// not asked. A response that keeps them passes if the mean of the judge's scores is at least the threshold and nothing
/// critical was found. The node [`Verify`](crate::node::Verify) does what is said here. See the [module](super).
#[derive(Clone)]
pub struct OutputVerifier {
    criteria: Vec<VerificationCriterion>,
    threshold: Score,
    mode: VerificationMode,
    rules: Vec<Arc<dyn Rule>>,
    has_judge: bool,
    on_judge_error: OnJudgeError,
    refuses_repeats: bool,
    shows_images: bool,
    source_tokens: u64,
    counter: Arc<dyn TokenCounter>,
}

/// The handling of a response for which there is no judgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnJudgeError {
    /// It is given, and the record says that it was not judged.
    #[default]
    Accept,
    /// The node fails: a run that is resumed asks the judge again.
    Fail,
}

impl Default for OutputVerifier {
    fn default() -> Self {
        Self::new()
    }
}

impl OutputVerifier {
    /// The name of the rule that a response says something, to its end. It is always there, and no other one is checked
    /// where it is broken.
    pub const RESPONSE: &'static str = "response";

    /// The default score that a response needs.
    pub const THRESHOLD: f64 = 0.7;

    /// Takes the defaults: a judge, all six criteria, a threshold of 0.7, and no rules. A response that cannot be
    /// judged is given; one that was refused before is refused again without asking.
    pub fn new() -> Self {
        Self {
            criteria: VerificationCriterion::ALL.to_vec(),
            threshold: Score::nearest(Self::THRESHOLD),
            mode: VerificationMode::Standard,
            rules: Vec::new(),
            has_judge: true,
            on_judge_error: OnJudgeError::Accept,
            refuses_repeats: true,
            shows_images: true,
            source_tokens: Evidence::MOST_TOKENS,
            counter: Arc::new(RoughTokens),
        }
    }

    /// Asks the judge about these criteria, each once. About none, it is not asked.
    #[must_use]
    pub fn criteria(mut self, criteria: impl IntoIterator<Item = VerificationCriterion>) -> Self {
        self.criteria = Vec::new();
        for criterion in criteria {
            if !self.criteria.contains(&criterion) {
                self.criteria.push(criterion);
            }
        }
        self
    }

    /// Sets the score that a response needs in the standard mode.
    #[must_use]
    pub fn threshold(mut self, threshold: Score) -> Self {
        self.threshold = threshold;
        self
    }

    /// Says how strict to be.
    #[must_use]
    pub fn mode(mut self, mode: VerificationMode) -> Self {
        self.mode = mode;
        self
    }

    /// Adds a rule that every response has to keep.
    #[must_use]
    pub fn rule(mut self, rule: impl Rule + 'static) -> Self {
        self.rules.push(Arc::new(rule));
        self
    }

    /// Goes by the rules alone: no model is asked.
    #[must_use]
    pub fn without_judge(mut self) -> Self {
        self.has_judge = false;
        self
    }

    /// Says what becomes of a response that the judge fails to judge.
    #[must_use]
    pub fn on_judge_error(mut self, policy: OnJudgeError) -> Self {
        self.on_judge_error = policy;
        self
    }

    /// Asks also about a response that is the same as one that was refused before in its turn. Without this it is
    /// refused again, and ends the refining.
    #[must_use]
    pub fn ask_about_repeats(mut self) -> Self {
        self.refuses_repeats = false;
        self
    }

    /// Does not show the judge the pictures of the turn: for a model that does not see.
    #[must_use]
    pub fn without_images(mut self) -> Self {
        self.shows_images = false;
        self
    }

    /// Shows the judge so many tokens of what the tools of the turn returned and of what was said before it, about: of
    /// the longest texts the beginning and the end. Without this they are [16,000](Evidence::MOST_TOKENS). Rules see
    /// all of it.
    #[must_use]
    pub fn source_tokens(mut self, most: u64) -> Self {
        self.source_tokens = most;
        self
    }

    /// Counts tokens so; they are [estimated](RoughTokens) if nothing is said.
    #[must_use]
    pub fn counter(mut self, counter: impl TokenCounter + 'static) -> Self {
        self.counter = Arc::new(counter);
        self
    }

    /// Returns the score that a response needs, as the mode has it.
    pub fn pass_threshold(&self) -> Score {
        self.mode.threshold(self.threshold)
    }

    /// Tells whether a judge is asked about responses that keep the rules.
    pub fn asks_judge(&self) -> bool {
        self.has_judge && !self.criteria.is_empty()
    }

    /// Tells whether there are rules.
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Returns what becomes of a response that the judge fails to judge.
    pub fn judge_error_policy(&self) -> OnJudgeError {
        self.on_judge_error
    }

    /// Tells whether a response that was refused is refused again without asking.
    pub fn refuses_repeats(&self) -> bool {
        self.refuses_repeats
    }

    /// Checks all rules: the result is that of the rules alone, and the judge is to be asked only if it has passed.
    ///
    /// ```
    /// use superstep_nodes::verification::{OutputVerifier, PredicateRule, Submission};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let short = PredicateRule::new("short", |it: &Submission| match it.response.len() {
    ///     0..=80 => Ok(()),
    ///     long => Err(format!("The response has {long} letters. Use 80 at most.")),
    /// });
    /// let verifier = OutputVerifier::new().rule(short);
    /// let submission = Submission { response: "word ".repeat(20), ..Submission::default() };
    /// let result = verifier.check_rules(&submission).await?;
    /// assert!(result.requires_refinement());
    /// assert_eq!(result.feedback, "The response has 100 letters. Use 80 at most.");
    /// # Ok::<_, superstep_nodes::verification::RuleError>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// When a rule cannot be checked, which says nothing of the response.
    pub async fn check_rules(&self, submission: &Submission) -> Result<VerificationResult, RuleError> {
        let (mut checked, mut broken, mut issues) = (Vec::new(), Vec::new(), Vec::new());
        if let Some(issue) = submission.lacks() {
            let (rule, issues) = (vec![Self::RESPONSE.to_owned()], vec![issue.to_owned()]);
            return Ok(VerificationResult::by_rules(self.pass_threshold(), rule.clone(), rule, issues));
        }
        for rule in &self.rules {
            let name = rule.name().to_owned();
            match rule.check(submission).await {
                Ok(()) => {}
                Err(Breach::Broken { feedback }) => {
                    broken.push(name.clone());
                    issues.push(match feedback.trim() {
                        "" => format!("The response breaks the rule `{name}`."),
                        feedback => feedback.to_owned(),
                    });
                }
                Err(Breach::Unable { reason }) => return Err(RuleError { rule: name, reason }),
            }
            checked.push(name);
        }
        Ok(VerificationResult::by_rules(self.pass_threshold(), checked, broken, issues))
    }

    /// Makes what a judge is asked.
    pub fn prompt(&self, submission: Submission) -> VerifierPrompt {
        let mut submission = submission;
        if !self.shows_images {
            submission.images.clear();
        }
        let sources = submission.sources.iter_mut().map(|source| &mut source.output);
        let said = submission.conversation.iter_mut().map(|said| &mut said.text);
        fit(sources.chain(said).collect(), self.source_tokens, |text| self.counter.text(&escaped(text)));
        VerifierPrompt { criteria: self.criteria.clone(), submission }
    }

    /// Decides by a judgement, which this reply of a model gave.
    pub fn judged(&self, judgement: Judgement, reply: &ModelReply) -> VerificationResult {
        let digest = blake3::hash(VerifierPrompt::INSTRUCTIONS.as_bytes()).to_hex();
        let by = VerifiedBy::Judge {
            model: reply.model.clone(),
            prompt: digest[..16].to_owned(),
            usage: reply.usage,
        };
        VerificationResult::by_judge(self.pass_threshold(), judgement, by)
    }

    /// Makes the result of a verification that could not be made.
    pub fn unjudged(&self, reason: impl Into<String>) -> VerificationResult {
        VerificationResult::by_nobody(self.pass_threshold(), reason.into())
    }
}

impl fmt::Debug for OutputVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules: Vec<_> = self.rules.iter().map(|rule| rule.name()).collect();
        let Self { criteria, threshold, mode, has_judge, on_judge_error, .. } = self;
        let mut verifier = f.debug_struct("OutputVerifier");
        verifier.field("criteria", criteria).field("threshold", threshold).field("mode", mode);
        verifier.field("rules", &rules).field("has_judge", has_judge).field("on_judge_error", on_judge_error);
        verifier.finish_non_exhaustive()
    }
}
