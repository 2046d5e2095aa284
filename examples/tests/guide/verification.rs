//! Snippets of `docs/verification.md`.

use superstep::nodes::message::MessageLog;
use superstep::nodes::node::{Agent, AgentNext, Refine, Verify, VerifyNext};
use superstep::nodes::verification::{CitationRule, OutputVerifier, Verdict, Verification, VerificationMode};
use superstep::prelude::*;

use std::sync::Arc;

use superstep::graph::BuildError;
use superstep::nodes::model::{ChatModel, Purpose, Scripted, Turn};
use superstep::nodes::verification::VerificationCriterion;

#[derive(State, Clone, Default)]
struct Chat {
    question: String,
    #[reducer(KeyedLog)]
    messages: MessageLog,
    visits: u32,
    attempts: u32,
    #[reducer(Append)]
    verifications: Vec<Verification>,
}

fn graph(model: Arc<dyn ChatModel>, judge: Arc<dyn ChatModel>) -> Result<Graph<Chat>, BuildError> {
    let verifier = OutputVerifier::new().rule(CitationRule::new().or_none()).mode(VerificationMode::Strict);
    let verify =
        Verify::new(judge, verifier, Chat::MESSAGES, Chat::VERIFICATIONS).attempts(Chat::ATTEMPTS, 3);
    let refine = Refine::new(Chat::MESSAGES, Chat::VERIFICATIONS, Chat::ATTEMPTS);
    let agent =
        Agent::new(model, Chat::MESSAGES, Chat::VISITS).task(Chat::QUESTION).corrections(Chat::VERIFICATIONS);

    let mut g = StateGraph::<Chat>::new("chat");
    let (respond, verify, refine) =
        (g.node("respond", agent), g.node("verify", verify), g.node("refine", refine));
    g.edge(START, respond);
    g.route(respond, move |next| match next {
        AgentNext::RunTools | AgentNext::Respond => to(verify),
    });
    g.route(verify, move |next| match next {
        VerifyNext::Finish => END,
        VerifyNext::Refine => to(refine),
    });
    g.edge(refine, respond);
    g.compile()
}

fn told(state: &Chat) -> String {
    match Verdict::of(&state.verifications, 1) {
        Verdict::Verified(it) => format!("{} (verified)", it.response),
        Verdict::Unverified { last, why } => format!("{} (not verified: {why})", last.response),
        Verdict::Unchecked => "not checked".to_owned(),
    }
}

/// A judge that gives these scores, one after the other.
fn judge(scores: &[f64]) -> Arc<dyn ChatModel> {
    let judgement = |score: &f64| {
        let finding =
            |criterion| serde_json::json!({ "criterion": criterion, "finding": "", "score": score });
        Turn::Json(serde_json::json!({
            "findings": VerificationCriterion::ALL.map(finding),
            "critical_issues": [],
            "suggestions": [],
            "feedback": "Say how many.",
        }))
    };
    Arc::new(Scripted::new().on(Purpose::Verifier, scores.iter().map(judgement)))
}

#[tokio::test]
async fn a_response_is_verified_before_it_is_given() -> super::Result {
    assert_eq!(told(&Chat::default()), "not checked");
    let source = "Many.\n\nSources:\n- bees.md:1";
    for (scores, answer) in [
        (vec![0.9], "Forty. (verified)"),
        (vec![0.75, 0.9], "Forty-two. (verified)"),
        (vec![0.1; 3], "Many bees. (not verified: none of 4 responses was accepted)"),
    ] {
        // The first response names a source that no tool returned: the judge is not asked about it.
        let model = Scripted::new().on(Purpose::Agent, [source]);
        let model = model.on(Purpose::Refiner, ["Forty.", "Forty-two.", "Many bees."]);
        let graph = graph(Arc::new(model), judge(&scores))?;
        let state = graph.run(Chat::update().question("How many bees?")).await?.finished()?;
        assert_eq!(told(&state), answer);
        assert_eq!(state.verifications.len(), scores.len() + 1);
    }
    Ok(())
}
