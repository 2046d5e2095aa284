//! The prompts of the evaluator, the ranker, the decider, the summariser, the router and the verifier.
//!
//! ```text
//! EvaluatorPrompt ──to_request──▶ ModelRequest ──▶ model ──▶ ModelReply ──read──▶ Evaluation
//! ```
//!
//! A prompt is data: the material the model is to look at. Its request has the instructions as system
//! text, and one human message with the material as JSON, or XML for the verifier, which language models read well and
//! programs read exactly. The reply's form is given by a schema, and `read` checks more than that: a score out of
//! range, another iteration or an incomplete order is an error, not a judgement.
//!
//! ```
//! use superstep_nodes::model::{ChatModel, Scripted};
//! use superstep_nodes::prompt::EvaluatorPrompt;
//!
//! let prompt = EvaluatorPrompt {
//!     task: "What is 2 + 2?".into(),
//!     iteration: 1,
//!     response: "4".into(),
//!     evidence: Vec::new(),
//! };
//! let model = Scripted::new()
//!     .say(r#"{ "iteration": 1, "score": 0.9, "complete": true, "feedback": "Right, but terse." }"#);
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let reply = model.complete(prompt.to_request("evaluate-1")).await.unwrap();
//! assert_eq!(prompt.read(&reply).unwrap().score, 0.9);
//! # });
//! ```

mod decider;
mod evaluator;
mod evidence;
mod material;
mod ranker;
mod router;
mod summary;
mod verifier;
mod xml;

pub use decider::DeciderPrompt;
pub use evaluator::EvaluatorPrompt;
pub use evidence::Evidence;
pub(crate) use evidence::fit;
pub use material::ReplyError;
#[doc(hidden)]
pub use material::material;
pub use ranker::{Candidate, RankerPrompt};
pub use router::{OfferedTool, RouterPrompt};
pub use summary::{Said, SummaryPrompt};
pub use verifier::VerifierPrompt;
pub(crate) use xml::escaped;
