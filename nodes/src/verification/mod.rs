//! The verification of responses, before they are given.
//!
//! ```text
//!                            rules ──broken──▶ refused: the judge is not asked
//! response ──▶ Submission ──▶  │
//!                              └─kept──▶ VerifierPrompt ──▶ model ──▶ Judgement ──▶ score ≥ threshold, nothing critical?
//!                                                                                     │yes: accepted   │no: refused
//! ```
//!
//! An [`OutputVerifier`] has the settings: the [`Rule`]s that a response has to keep, and the
//! [criteria](VerificationCriterion), of six, that a judge is asked about. The node [`Verify`](crate::node::Verify) does it and
//! keeps a [`Verification`] in the state; [`Refine`](crate::node::Refine) takes a refused response out of the
//! conversation, and
//! [`Agent::corrections`](crate::node::Agent::corrections) tells the model what was wrong with it. The [`Verdict`] on a turn
//! says whether its response was accepted.
//!
//! | rule | a response keeps it |
//! |---|---|
//! | [`PredicateRule`] | if a closure says so |
//! | [`CitationRule`] | if it names its sources, and all of them were returned by the tools of the turn |
//! | `SchemaRule` | if it is JSON that fits a schema, with the feature `schema-validation` |
//! | `RegexRule` | if a regular expression is found in it, or is not, with the feature `schema-validation` |
//! | `CommandRule` | if a program that reads it ends well, with the feature `command-rule` |

mod judgement;
mod mode;
mod output_verifier;
mod rule;
mod score;
mod submission;
mod verdict;
mod verification_result;

pub use judgement::{Finding, Judgement, VerificationCriterion};
pub use mode::{UnknownMode, VerificationMode};
pub use output_verifier::{OnJudgeError, OutputVerifier};
#[cfg(feature = "command-rule")]
pub use rule::CommandRule;
pub use rule::{Breach, CitationRule, PredicateRule, Rule, RuleError};
#[cfg(feature = "schema-validation")]
pub use rule::{InvalidRule, RegexRule, SchemaRule};
pub use score::{NoScore, Score};
pub use submission::Submission;
pub use verdict::{Verdict, WhyUnverified};
pub use verification_result::{Verification, VerificationResult, VerifiedBy};

#[cfg(test)]
mod tests;
