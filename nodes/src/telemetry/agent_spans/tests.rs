use std::sync::Arc;

use opentelemetry::Value;
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::trace::{
    InMemorySpanExporter, InMemorySpanExporterBuilder, SdkTracerProvider, SpanData,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use superstep_core::checkpoint::MemorySaver;
use superstep_core::error::NodeError;
use superstep_core::graph::{END, START, StateGraph, to};
use superstep_core::node::Emit;
use superstep_core::reducer::KeyedLog;
use superstep_core::run::{Graph, Lens};
use superstep_core::state::State;

use super::*;
use crate::graphs::{AgenticConfig, AgenticSettings, AgenticState, agentic};
use crate::message::{Message, MessageLog, ToolCall};
use crate::model::{ChatModel, Fallback, ModelError, ModelReply, Purpose, Scripted, Turn};
use crate::node::{Agent, AgentNext, Tools};
use crate::tool::{ToolRegistry, TypedTool};
use crate::verification::VerificationCriterion;

#[derive(State, Clone, Debug, Default)]
struct Chat {
    question: String,
    #[reducer(KeyedLog)]
    messages: MessageLog,
    visits: u32,
    #[state(secret)]
    key: String,
}

#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
}

/// Texts that no span may contain: of the conversation, or secret.
const SAID: [&str; 4] = ["mackerel", "herring", "sprat", "anchovy"];

/// An agent that looks something up, and one more node that says how its response is.
fn graph(model: impl ChatModel) -> Graph<Chat> {
    let weather = TypedTool::new("weather", "Tells the weather.", |City { city }| async move {
        match city.as_str() {
            "herring" => Ok("sprat"),
            _ => Err("no such sprat"),
        }
    });
    let tools = ToolRegistry::new().with(weather).unwrap();
    let agent = Agent::new(Arc::new(model), Chat::MESSAGES, Chat::VISITS).task(Chat::QUESTION).tools(&tools);
    let verify = |emit: Emit| async move {
        emit.emit(
            "verification",
            &json!({ "attempt": 1, "response": "sprat", "passed": true, "score": 0.75 }),
        );
    };
    let mut g = StateGraph::<Chat>::new("fisher");
    let (agent, tools) = (g.node("agent", agent), g.node("tools", Tools::new(tools, Chat::MESSAGES)));
    let verify = g.node("verify", verify);
    g.edge(START, agent);
    g.route(agent, move |next| match next {
        AgentNext::RunTools => to(tools),
        AgentNext::Respond => to(verify),
    });
    g.edge(tools, agent);
    g.edge(verify, END);
    g.compile().unwrap().checkpointer(MemorySaver::new())
}

fn tracer() -> (InMemorySpanExporter, SdkTracerProvider) {
    let exporter = InMemorySpanExporterBuilder::new().build();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    (exporter, provider)
}

fn spans(provider: &SdkTracerProvider) -> AgentSpans<opentelemetry_sdk::trace::SdkTracer> {
    AgentSpans::new(provider.tracer_with_scope(AgentSpans::scope())).provider("scripted", "test.script")
}

/// The spans as lines, in the order of their beginnings, each behind those that it is inside of.
fn lines(exporter: &InMemorySpanExporter) -> Vec<String> {
    let mut all = exporter.get_finished_spans().unwrap();
    all.sort_by_key(|span| span.start_time);
    let path = |span: &SpanData| {
        let mut names = vec![span.name.to_string()];
        let mut above = span.parent_span_id;
        while let Some(parent) = all.iter().find(|other| other.span_context.span_id() == above) {
            names.insert(0, parent.name.to_string());
            above = parent.parent_span_id;
        }
        names.join(" > ")
    };
    let mut lines: Vec<_> = all.iter().map(path).collect();
    lines.sort();
    lines
}

fn named<'s>(spans: &'s [SpanData], name: &str) -> &'s SpanData {
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no span {name}"))
}

fn attribute(span: &SpanData, key: &str) -> Option<Value> {
    span.attributes.iter().find(|held| held.key.as_str() == key).map(|held| held.value.clone())
}

#[tokio::test]
async fn a_run_is_a_trace_with_the_names_of_the_conventions() {
    let (exporter, provider) = tracer();
    let call = |id: &str, city: &str| ToolCall::new(id, "weather", json!({ "city": city }));
    let last = ModelReply::new("scripted-1", "It is a mackerel.").with_usage(Usage::of(40, 7));
    let model =
        Scripted::new().then(call("c1", "herring")).then(call("c2", "anchovy")).then(Turn::Reply(last));
    let graph = graph(model).observe(spans(&provider));
    let input = Chat::update().question("Which mackerel?".to_owned()).key("anchovy".to_owned());
    graph.thread("t1").run(input).await.unwrap().finished().unwrap();

    assert_eq!(
        lines(&exporter),
        [
            "invoke_agent fisher",
            "invoke_agent fisher > agent",
            "invoke_agent fisher > agent",
            "invoke_agent fisher > agent",
            "invoke_agent fisher > agent > chat scripted",
            "invoke_agent fisher > agent > chat scripted",
            "invoke_agent fisher > agent > chat scripted",
            "invoke_agent fisher > tools",
            "invoke_agent fisher > tools",
            "invoke_agent fisher > tools > execute_tool weather",
            "invoke_agent fisher > tools > execute_tool weather",
            "invoke_agent fisher > verify",
        ]
    );
    let all = exporter.get_finished_spans().unwrap();
    let run = named(&all, "invoke_agent fisher");
    assert_eq!(attribute(run, "gen_ai.operation.name"), Some("invoke_agent".into()));
    assert_eq!(attribute(run, "gen_ai.conversation.id"), Some("t1".into()));
    assert_eq!(attribute(run, "superstep.outcome"), Some("finished".into()));
    assert_eq!(attribute(run, "gen_ai.usage.input_tokens"), Some(Value::I64(40)));
    assert_eq!(run.instrumentation_scope.schema_url(), Some("https://opentelemetry.io/schemas/1.41.0"));
    let chat = all.iter().rfind(|span| span.name == "chat scripted").unwrap();
    let told = ["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "superstep.purpose"];
    let told = told.map(|key| attribute(chat, key).unwrap().to_string());
    assert_eq!(told, ["chat", "test.script", "scripted", "agent"]);
    assert_eq!(attribute(chat, "gen_ai.usage.output_tokens"), Some(Value::I64(7)));
    assert_eq!(attribute(chat, "gen_ai.response.model"), Some("scripted-1".into()));
    assert_eq!(chat.span_kind, SpanKind::Client);
    let tools: Vec<_> = all.iter().filter(|span| span.name == "execute_tool weather").collect();
    let told = |span: &SpanData, key| attribute(span, key).map(|value| value.to_string());
    assert_eq!(told(tools[0], "gen_ai.tool.call.id").as_deref(), Some("c1"));
    assert_eq!((told(tools[0], "error.type"), &tools[0].status), (None, &SpanStatus::Unset));
    assert_eq!(told(tools[1], "error.type").as_deref(), Some("error"));
    let verify = named(&all, "verify");
    let event = &verify.events.events[0];
    let score = event.attributes.iter().find(|held| held.key.as_str() == "gen_ai.evaluation.score.value");
    assert_eq!(
        (event.name.as_ref(), score.unwrap().value.clone()),
        ("gen_ai.evaluation.result", Value::F64(0.75))
    );

    let text = format!("{all:?}");
    for said in SAID {
        assert!(!text.contains(said), "{said} is in {text}");
    }
}

/// A judgement that gives all criteria the same score.
fn judgement(score: f64) -> Turn {
    let finding = |criterion| json!({ "criterion": criterion, "finding": "", "score": score });
    Turn::Json(json!({
        "findings": VerificationCriterion::ALL.map(finding),
        "critical_issues": [],
        "suggestions": [],
        "feedback": "Say how many.",
    }))
}

/// A turn of the agentic loop in which everything happens.
#[tokio::test]
async fn s0_099_compaction_verification_and_refinement_are_spans() {
    let (exporter, provider) = tracer();
    let model = Scripted::new()
        .say("Some.")
        .on(Purpose::Summarizer, ["They talk."])
        .on(Purpose::Refiner, ["Nine."])
        .on(Purpose::Verifier, [judgement(0.25), judgement(0.75)]);
    let settings = AgenticSettings {
        compaction_threshold: 100,
        target_after_compaction: 50,
        recent_message_count: 1,
        ..AgenticSettings::default()
    };
    let config = AgenticConfig::new(model).settings(settings).unwrap();
    let graph = agentic(config).unwrap().observe(spans(&provider));
    let said: Vec<_> = (0..4).map(|at| Message::human(format!("m{at}"), "word ".repeat(60))).collect();
    graph.run(AgenticState::ask("How many?").messages(said)).await.unwrap().finished().unwrap();

    let inside = |name: &str| format!("invoke_agent agentic > {name}");
    let expected = [
        "compact",
        "compact > chat scripted",
        "refine",
        "respond",
        "respond",
        "respond > chat scripted",
        "respond > chat scripted",
        "router",
        "verify",
        "verify",
        "verify > chat scripted",
        "verify > chat scripted",
    ];
    assert_eq!(lines(&exporter)[1..], expected.map(inside));
    let all = exporter.get_finished_spans().unwrap();
    assert_eq!(attribute(named(&all, "compact"), "superstep.compaction.by"), Some("model".into()));
    assert_eq!(attribute(named(&all, "refine"), "superstep.refinement.attempt"), Some(Value::I64(1)));
    let verified = all.iter().filter(|span| span.name == "verify");
    let routes: Vec<_> = verified.map(|span| attribute(span, "superstep.route")).collect();
    assert_eq!(routes, [Some("Refine".into()), Some("Finish".into())]);
}

#[tokio::test]
async fn errors_are_reported_by_their_kind_and_not_by_their_text() {
    let (exporter, provider) = tracer();
    let model = Scripted::new().fail(ModelError::InvalidRequest { reason: "no mackerel".into() });
    let graph = graph(model).observe(spans(&provider));
    let input = Chat::update().question("Which mackerel?".to_owned());
    graph.thread("t1").run(input).await.expect_err("the request is refused");
    let all = exporter.get_finished_spans().unwrap();
    let kinds = ["chat scripted", "agent", "invoke_agent fisher"].map(|name| {
        let span = named(&all, name);
        let kind = attribute(span, "error.type").unwrap().to_string();
        assert_eq!(span.status, SpanStatus::error(kind.clone()), "{name}");
        kind
    });
    assert_eq!(kinds, ["invalid_request", "terminal", "failed"]);
    assert!(!format!("{all:?}").contains("mackerel"));
}

/// A run inside a run is an agent inside a task.
#[tokio::test]
async fn a_subgraph_is_an_agent_of_its_own_inside_its_task() {
    let (exporter, provider) = tracer();
    let inner = graph(Scripted::new().say("It is one."));
    let mut g = StateGraph::<Chat>::new("captain");
    let ask = g.subgraph("ask", inner, Lens::new().give(Chat::QUESTION, Chat::QUESTION));
    g.edge(START, ask);
    g.edge(ask, END);
    let graph = g.compile().unwrap().checkpointer(MemorySaver::new()).observe(spans(&provider));
    let input = Chat::update().question("Which?".to_owned());
    graph.thread("t1").run(input).await.unwrap().finished().unwrap();
    let inside = "invoke_agent captain > ask > invoke_agent fisher";
    let expected = [
        "invoke_agent captain".to_owned(),
        "invoke_agent captain > ask".to_owned(),
        inside.to_owned(),
        format!("{inside} > agent"),
        format!("{inside} > agent > chat scripted"),
        format!("{inside} > verify"),
    ];
    assert_eq!(lines(&exporter), expected);
}

/// Its tasks do not tell that they have ended.
#[tokio::test]
async fn a_cancelled_run_ends_all_its_spans() {
    let (exporter, provider) = tracer();
    let mut g = StateGraph::<Chat>::new("patient");
    let wait = g.node("wait", std::future::pending::<Result<(), NodeError>>);
    g.edge(START, wait);
    g.edge(wait, END);
    let graph = g.compile().unwrap().observe(spans(&provider));
    let cancel = superstep_core::run::CancellationToken::new();
    let run = graph.run(Chat::update()).cancel_on(cancel.clone());
    let (run, ()) = tokio::join!(run.into_future(), async {
        tokio::task::yield_now().await;
        cancel.cancel();
    });
    assert_eq!(run.unwrap().status, superstep_core::run::Status::Cancelled);
    assert_eq!(lines(&exporter), ["invoke_agent patient", "invoke_agent patient > wait"]);
    let all = exporter.get_finished_spans().unwrap();
    for name in ["invoke_agent patient", "wait"] {
        assert_eq!(attribute(named(&all, name), "superstep.outcome"), Some("cancelled".into()), "{name}");
    }
}

#[tokio::test]
async fn a_model_whose_place_another_takes_has_a_span_of_its_own() {
    let (exporter, provider) = tracer();
    let first = Scripted::new().fail(ModelError::Unauthorized { reason: "no sprat".into() });
    let model = Fallback::new(first).or(Scripted::new().then(Turn::Reply(ModelReply::new("other", "So."))));
    let graph = graph(model).observe(spans(&provider));
    graph.thread("t").run(Chat::update().question("Well?".to_owned())).await.unwrap().finished().unwrap();
    let spans = exporter.get_finished_spans().unwrap();
    let calls: Vec<_> = spans.iter().filter(|span| span.name == "chat scripted").collect();
    let of = |key| calls.iter().map(|span| attribute(span, key)).collect::<Vec<_>>();
    assert_eq!(of(gen_ai::ERROR), [Some("unauthorized".into()), None]);
    assert_eq!(of(gen_ai::RESPONSE_MODEL), [None, Some("other".into())]);
}
