use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt};
use schemars::JsonSchema;
use serde::Deserialize;
use superstep_core::checkpoint::MemorySaver;
use superstep_core::graph::{END, START, StateGraph, to};
use superstep_core::reducer::{Append, KeyedLog};
use superstep_core::run::Graph;
use superstep_core::state::State;
use superstep_core::testing::TestAmbient;

use super::*;
use crate::compaction::{Compaction, ContextManager};
use crate::graphs::{AgenticConfig, AgenticState, agentic};
use crate::message::{Message, MessageLog, ToolCall};
use crate::model::{
    ChatModel, Fallback, ModelError, ModelEvent, ModelReply, ModelRequest, Purpose, Scripted, Turn,
};
use crate::node::{Agent, AgentNext, Compact, Refine, UseTools, Verify, VerifyNext};
use crate::tool::{ToolRegistry, TypedTool};
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

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

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
        let ratio: f64 = recorded["context.compaction.compression_ratio"].parse().unwrap();
        assert!((0.3..0.9).contains(&ratio), "{ratio}");
        assert_eq!(calls[1], "agent.llm.calls_total model=scripted purpose=summarizer: 1");
        assert_eq!(of(&recorded, "conversation."), ["conversation.length: 8"]);
    }
}

/// A model that takes so many seconds for a summary and for everything else.
struct Slow(Scripted, [u64; 2]);

impl ChatModel for Slow {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let seconds = self.1[usize::from(request.purpose != Purpose::Summarizer)];
        let reply = self.0.stream(request);
        let wait = tokio::time::sleep(Duration::from_secs(seconds));
        stream::once(wait).flat_map(|()| stream::empty()).chain(reply).boxed()
    }
}

/// A tool that takes five seconds for much text.
fn slow_pages() -> ToolRegistry {
    let page = TypedTool::new("page", "Reads a page.", |Nothing {}| async move {
        tokio::time::sleep(Duration::from_secs(5)).await;
        Ok::<_, std::convert::Infallible>("word ".repeat(200))
    });
    ToolRegistry::new().with(page).unwrap()
}

#[tokio::test(start_paused = true)]
async fn s0_090_the_time_of_a_compaction_between_tools_is_its_own() {
    let recorder = DebuggingRecorder::new();
    let snapshot = recorder.snapshotter();
    let _here = metrics::set_default_local_recorder(&recorder);
    let call = |id: &str| Turn::Call(vec![ToolCall::new(id, "page", json!({}))]);
    let model = Scripted::new().then(call("c1")).then(call("c2")).say("Words.");
    let model = Slow(model.on(Purpose::Summarizer, ["They read.", "They read on."]), [2, 3]);
    let model: Arc<dyn ChatModel> = Arc::new(model);
    let manager = ContextManager::new().threshold(300).target(150).recent(1);
    let compact = Compact::new(Arc::clone(&model), manager, Chat::MESSAGES, Chat::COMPACTIONS);
    let mut g = StateGraph::<Chat>::new("reading");
    let node = UseTools::new(model, slow_pages(), Chat::MESSAGES).compacted(compact);
    let node = g.node("use_tools", node);
    g.edge(START, node);
    g.route(node, |_| END);
    let graph = g.compile().unwrap().observe(AgentMetrics::new());
    let graph = graph.ambient(TestAmbient::seeded(1).on_paused_time());
    let said = [
        Message::human("h", "word ".repeat(300)),
        Message::ai("a", "word ".repeat(100)),
        Message::human("q", "What do the pages say?"),
    ];
    graph.run(Chat::update().messages(said)).await.unwrap().finished().unwrap();

    let recorded = recorded(&snapshot);
    assert_eq!(recorded["context.compaction.triggered_total by=model"], "2");
    assert_eq!(recorded["context.compaction.duration part=model"], "2 2");
    assert_eq!(recorded["context.compaction.duration part=own"], "0 0");
    assert_eq!(recorded["agent.node.duration graph=reading node=use_tools"], "23");
}

#[tokio::test]
async fn a_model_whose_place_another_takes_is_an_error_of_its_own() {
    let recorder = DebuggingRecorder::new();
    let snapshot = recorder.snapshotter();
    let _here = metrics::set_default_local_recorder(&recorder);
    let refused = ModelError::Unauthorized { reason: "no key".into() };
    let other = Turn::Reply(ModelReply::new("other", "I see."));
    let model = Fallback::new(Scripted::new().fail(refused)).or(Scripted::new().then(other));
    let agent = Agent::new(Arc::new(model), Chat::MESSAGES, Chat::VISITS).task(Chat::QUESTION);
    let mut g = StateGraph::<Chat>::new("chat");
    let agent = g.node("agent", agent);
    g.edge(START, agent);
    g.route(agent, |_| END);
    let graph = g.compile().unwrap().observe(AgentMetrics::new());
    graph.run(Chat::update().question("Well?")).await.unwrap().finished().unwrap();
    let expected = [
        "agent.llm.calls_total model=other purpose=agent: 1",
        "agent.llm.errors_total error=unauthorized model=scripted purpose=agent: 1",
    ];
    let recorded = recorded(&snapshot);
    assert_eq!([of(&recorded, "agent.llm.calls"), of(&recorded, "agent.llm.errors")].concat(), expected);
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

/// The judgement of a judge that gives this score by every criterion.
fn judgement(score: f64) -> Turn {
    let finding = |criterion| json!({ "criterion": criterion, "finding": "", "score": score });
    Turn::Json(json!({
        "findings": VerificationCriterion::ALL.map(finding),
        "critical_issues": [],
        "suggestions": [],
        "feedback": "Say how many.",
    }))
}

/// The judge of a loop takes two seconds for each response, and nothing else takes any time.
#[tokio::test(start_paused = true)]
async fn s0_093_the_time_of_the_verification_of_each_response_is_recorded() {
    let recorder = DebuggingRecorder::new();
    let snapshot = recorder.snapshotter();
    let _here = metrics::set_default_local_recorder(&recorder);
    let model = Scripted::new().say("Some.").on(Purpose::Refiner, ["Nine."]);
    let judge = Slow(Scripted::new().on(Purpose::Verifier, [judgement(0.25), judgement(0.75)]), [0, 2]);
    let graph = agentic(AgenticConfig::new(model).judge(judge)).unwrap().observe(AgentMetrics::new());
    let graph = graph.ambient(TestAmbient::seeded(1).on_paused_time());
    graph.run(AgenticState::ask("How many?")).await.unwrap().finished().unwrap();
    let recorded = recorded(&snapshot);
    assert_eq!(
        of(&recorded, "verification.duration"),
        ["verification.duration part=model: 2 2", "verification.duration part=own: 0 0"]
    );
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
