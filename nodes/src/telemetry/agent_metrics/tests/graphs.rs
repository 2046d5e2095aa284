use superstep_core::checkpoint::MemorySaver;
use superstep_core::graph::{END, START, StateGraph, to};
use superstep_core::reducer::{Append, KeyedLog};
use superstep_core::run::Graph;
use superstep_core::state::State;

use super::*;
use crate::compaction::{Compaction, ContextManager};
use crate::message::MessageLog;
use crate::model::{ChatModel, ModelError, Purpose, Scripted, Turn};
use crate::node::{Agent, AgentNext, Compact, Refine, Verify, VerifyNext};
use crate::verification::{OutputVerifier, Verification, VerificationCriterion};

#[derive(State, Clone, Default)]
struct Chat {
    question: String,
    #[reducer(KeyedLog)]
    messages: MessageLog,
    visits: u32,
    #[reducer(KeyedLog)]
    compactions: Vec<Compaction>,
}

fn chat(model: Scripted, manager: ContextManager) -> Graph<Chat> {
    let model: Arc<dyn ChatModel> = Arc::new(model);
    let compact = Compact::new(Arc::clone(&model), manager, Chat::MESSAGES, Chat::COMPACTIONS);
    let agent =
        Agent::new(model, Chat::MESSAGES, Chat::VISITS).task(Chat::QUESTION).compacted(Chat::COMPACTIONS);
    let mut g = StateGraph::<Chat>::new("chat");
    let (compact, agent) = (g.node("compact", compact), g.node("agent", agent));
    g.edge(START, compact);
    g.edge(compact, agent);
    g.route(agent, move |next| match next {
        AgentNext::RunTools => to(compact),
        AgentNext::Respond => END,
    });
    g.compile().unwrap().checkpointer(MemorySaver::new())
}

#[tokio::test]
async fn s0_090_s0_091_a_compaction_is_measured_and_turns_without_one_are_not() {
    let recorder = DebuggingRecorder::new();
    let snapshot = recorder.snapshotter();
    let _here = metrics::set_default_local_recorder(&recorder);
    let model = (0..6).fold(Scripted::new(), |model, _| model.say("I see."));
    let model = model.on(Purpose::Summarizer, ["They talk."]);
    let manager = ContextManager::new().threshold(300).target(150).recent(2);
    let graph = chat(model, manager).observe(AgentMetrics::new());
    for turn in 0..4 {
        let question = format!("Question {turn}. {}", "word ".repeat(80));
        let input = Chat::update().question(question).visits(0);
        graph.thread("t").run(input).await.unwrap().finished().unwrap();
        let recorded = recorded(&snapshot);
        let calls = of(&recorded, "agent.llm.calls_total");
        if turn < 3 {
            assert_eq!(of(&recorded, "context."), [""; 0]);
            assert_eq!(calls, ["agent.llm.calls_total model=scripted purpose=agent: 1"]);
            continue;
        }
        let counted = of(&recorded, "context.compaction.triggered");
        assert_eq!(counted, ["context.compaction.triggered_total by=model: 1"]);
        assert_eq!(of(&recorded, "context.overflow"), ["context.overflow_prevented_total: 1"]);
        assert_eq!(of(&recorded, "context.compaction.duration").len(), 2);
        let own: f64 = recorded["context.compaction.duration part=own"].parse().unwrap();
        assert!((0.0..1.0).contains(&own), "{own}");
        let ratio: f64 = recorded["context.compaction.compression_ratio"].parse().unwrap();
        assert!((0.3..0.9).contains(&ratio), "{ratio}");
        assert_eq!(calls[1], "agent.llm.calls_total model=scripted purpose=summarizer: 1");
        assert_eq!(of(&recorded, "conversation."), ["conversation.length: 8"]);
    }
}

/// A compaction that leaves the conversation above the threshold has prevented nothing.
#[tokio::test]
async fn s0_115_an_overflow_is_prevented_where_the_view_is_within_the_threshold() {
    let recorder = DebuggingRecorder::new();
    let snapshot = recorder.snapshotter();
    let _here = metrics::set_default_local_recorder(&recorder);
    let model = (0..6).fold(Scripted::new(), |model, _| model.say("I see."));
    // No summary, and last messages that are too long by themselves.
    let model = model.on(Purpose::Summarizer, [ModelError::Unauthorized { reason: "no key".into() }]);
    let manager = ContextManager::new().threshold(150).target(100).recent(3);
    let graph = chat(model, manager).observe(AgentMetrics::new());
    for turn in 0..3 {
        let input = Chat::update().question(format!("Question {turn}. {}", "word ".repeat(100))).visits(0);
        graph.thread("t").run(input).await.unwrap().finished().unwrap();
    }
    let recorded = recorded(&snapshot);
    let counted = of(&recorded, "context.compaction.triggered");
    assert_eq!(counted, ["context.compaction.triggered_total by=nobody: 1"]);
    assert_eq!(of(&recorded, "context.overflow"), [""; 0]);
    let errors = ["agent.llm.errors_total error=unauthorized model=scripted purpose=summarizer: 1"];
    assert_eq!(of(&recorded, "agent.llm.errors"), errors);
}

#[derive(State, Clone, Default)]
struct Essay {
    question: String,
    #[reducer(KeyedLog)]
    messages: MessageLog,
    visits: u32,
    attempts: u32,
    #[reducer(Append)]
    verifications: Vec<Verification>,
}

/// What a judge says who gives this score for everything.
fn judgement(score: f64) -> Turn {
    let finding = |criterion| json!({ "criterion": criterion, "finding": "", "score": score });
    Turn::Json(json!({
        "findings": VerificationCriterion::ALL.map(finding),
        "critical_issues": [],
        "suggestions": [],
        "feedback": "Say how many.",
    }))
}

#[tokio::test]
async fn the_nodes_of_the_loop_tell_what_is_counted() {
    let recorder = DebuggingRecorder::new();
    let snapshot = recorder.snapshotter();
    let _here = metrics::set_default_local_recorder(&recorder);
    let model = Scripted::new().on(Purpose::Agent, ["Some."]).on(Purpose::Refiner, ["Nine."]);
    let judge = Arc::new(Scripted::new().on(Purpose::Verifier, [judgement(0.25), judgement(0.75)]));
    let verify = Verify::new(judge, OutputVerifier::new(), Essay::MESSAGES, Essay::VERIFICATIONS);
    let refine = Refine::new(Essay::MESSAGES, Essay::VERIFICATIONS, Essay::ATTEMPTS);
    let agent = Agent::new(Arc::new(model), Essay::MESSAGES, Essay::VISITS);
    let agent = agent.task(Essay::QUESTION).corrections(Essay::VERIFICATIONS);
    let mut g = StateGraph::<Essay>::new("essay");
    let respond = g.node("respond", agent);
    let (verify, refine) = (g.node("verify", verify.attempts(Essay::ATTEMPTS, 3)), g.node("refine", refine));
    g.edge(START, respond);
    g.route(respond, move |next| match next {
        AgentNext::RunTools | AgentNext::Respond => to(verify),
    });
    g.route(verify, move |next| match next {
        VerifyNext::Finish => END,
        VerifyNext::Refine => to(refine),
    });
    g.edge(refine, respond);
    let graph = g.compile().unwrap().observe(AgentMetrics::new());
    graph.run(Essay::update().question("How many?".to_owned())).await.unwrap().finished().unwrap();

    let recorded = recorded(&snapshot);
    let counts =
        ["verification.failed", "verification.passed", "verification.refinement", "verification.score"];
    assert_eq!(
        counts.map(|begins| of(&recorded, begins).join("")),
        [
            "verification.failed_total: 1",
            "verification.passed_total: 1",
            "verification.refinement_total: 1",
            "verification.score_distribution: 0.25 0.75",
        ]
    );
    let refined =
        ["refinement.outcome", "refinement.score_before", "refinement.score_after", "refinement.attempts"];
    assert_eq!(
        refined.map(|begins| of(&recorded, begins).join("")),
        [
            "refinement.outcome_total attempt=1 outcome=passed: 1",
            "refinement.score_before: 0.25",
            "refinement.score_after: 0.75",
            "refinement.attempts: 1",
        ]
    );
    assert_eq!(
        of(&recorded, "agent.llm.calls"),
        [
            "agent.llm.calls_total model=scripted purpose=agent: 1",
            "agent.llm.calls_total model=scripted purpose=refiner: 1",
            "agent.llm.calls_total model=scripted purpose=verifier: 2",
        ]
    );
}
