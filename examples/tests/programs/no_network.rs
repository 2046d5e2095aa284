//! Metrics and traces without a destination are sent nowhere: observed runs open no socket.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::sync::Arc;

use opentelemetry::global;
use schemars::JsonSchema;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use serde::Deserialize;
use serde_json::json;
use superstep::checkpoint::MemorySaver;
use superstep::graph::{END, START, StateGraph, to};
use superstep::nodes::compaction::{Compaction, ContextManager};
use superstep::nodes::graphs::{self, AgenticConfig, AgenticSettings, AgenticState};
use superstep::nodes::message::{MessageLog, ToolCall};
use superstep::nodes::model::Extractive;
use superstep::nodes::model::{ChatModel, ModelError, Prices, Purpose, Scripted, Turn};
use superstep::nodes::node::{Agent, AgentNext, Compact, Tools};
use superstep::nodes::telemetry::{AgentMetrics, AgentSpans, Metric};
use superstep::nodes::tool::{ToolRegistry, TypedTool};
use superstep::nodes::verification::VerificationCriterion;
use superstep::reducer::KeyedLog;
use superstep::run::{Graph, TraceLog};
use superstep::state::State;

/// The variable with the task of the child.
const ROLE: &str = "SUPERSTEP_TEST_ROLE";

/// This test again, in a process that is killed when it makes a socket.
fn child(role: &str) -> Output {
    let mut child = Command::new(std::env::current_exe().expect("a test knows its program"));
    child
        .args(["--exact", "no_network::in_a_process_without_sockets", "--ignored", "--nocapture"])
        .env(ROLE, role);
    child.output().expect("the child runs")
}

#[test]
fn observed_runs_open_no_socket() {
    let Output { status, stdout, stderr } = child("run");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{status}: {stdout}{stderr}");
    assert!(stdout.contains("it has said: Nine. Bye."), "{stdout}");
    assert!(stdout.contains("the loop has said: It is nine. Good-bye."), "{stdout}");
}

/// Or else the test above would prove nothing.
#[test]
fn a_socket_would_be_noticed() {
    assert_eq!(child("socket").status.signal(), Some(libc::SIGSYS));
}

#[test]
#[ignore = "the tests above run it, in a process of its own"]
fn in_a_process_without_sockets() {
    let sockets = [
        libc::SYS_socket,
        libc::SYS_connect,
        libc::SYS_bind,
        libc::SYS_listen,
        libc::SYS_sendto,
        libc::SYS_sendmsg,
        libc::SYS_io_uring_setup,
    ];
    let rules = sockets.map(|call| (call, Vec::new())).into_iter().collect();
    let machine = std::env::consts::ARCH.try_into().expect("a machine that filters know");
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::KillProcess, machine);
    let program: BpfProgram = filter.expect("a filter").try_into().expect("a program");
    apply_filter(&program).expect("the filter is applied");
    match std::env::var(ROLE).as_deref() {
        // Threads that are begun from here on have the filter, too.
        Ok("run") => tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_time()
            .build()
            .expect("a runtime")
            .block_on(observed_runs()),
        _ => drop(std::net::UdpSocket::bind("127.0.0.1:0")),
    }
}

#[derive(State, Clone, Debug, Default)]
struct Chat {
    question: String,
    #[reducer(KeyedLog)]
    messages: MessageLog,
    visits: u32,
    #[reducer(KeyedLog)]
    compactions: Vec<Compaction>,
}

#[derive(Deserialize, JsonSchema)]
struct Sum {
    a: i64,
    b: i64,
}

async fn observed_runs() {
    Metric::describe_all();
    chat().await;
    agentic_loop().await;
    extractive_loop().await;
}

/// A graph, watched by everything that watches.
fn watched<S: State>(graph: Graph<S>) -> Graph<S> {
    graph
        .checkpointer(MemorySaver::new())
        .observe(AgentMetrics::new().prices(Prices::none()))
        .observe(AgentSpans::new(global::tracer_with_scope(AgentSpans::scope())))
        .observe(TraceLog::new())
}

fn add() -> ToolRegistry {
    let add = TypedTool::new("add", "Adds two numbers.", |Sum { a, b }| async move { (a + b).to_string() });
    ToolRegistry::new().with(add).expect("a tool")
}

/// Compaction, model calls, a tool call.
#[expect(clippy::print_stdout, reason = "the parent reads it")]
async fn chat() {
    let input = serde_json::json!({ "a": 4, "b": 5 });
    let model = Scripted::new().then(ToolCall::new("c", "add", input)).say("Nine.").say("Bye.");
    let model: Arc<dyn ChatModel> = Arc::new(model.on(Purpose::Summarizer, ["They add."]));
    let manager = ContextManager::new().threshold(100).target(50).recent(1);
    let compact = Compact::new(Arc::clone(&model), manager, Chat::MESSAGES, Chat::COMPACTIONS);
    let tools = add();
    let agent = Agent::new(model, Chat::MESSAGES, Chat::VISITS).task(Chat::QUESTION).tools(&tools);
    let mut g = StateGraph::<Chat>::new("chat");
    let (compact, agent) = (g.node("compact", compact), g.node("agent", agent));
    let tools = g.node("tools", Tools::new(tools, Chat::MESSAGES));
    g.edge(START, compact);
    g.edge(compact, agent);
    g.route(agent, move |next| match next {
        AgentNext::RunTools => to(tools),
        AgentNext::Respond => END,
    });
    g.edge(tools, agent);
    let graph = watched(g.compile().expect("sound"));
    let mut said = Vec::new();
    for question in ["How much is four and five?", "Goodbye."] {
        let question = format!("{question} {}", "word ".repeat(200));
        let run = graph.thread("t").run(Chat::update().question(question).visits(0)).await.expect("it runs");
        let state = run.finished().expect("it finishes");
        said.push(state.messages.iter().last().expect("a response").text().into_owned());
        assert_eq!(state.compactions.len(), said.len() - 1, "{:?}", state.compactions);
    }
    println!("it has said: {}", said.join(" "));
}

/// Everything that the loop does: a compaction, a decision of the router, a tool, a fallback, a refused response.
#[expect(clippy::print_stdout, reason = "the parent reads it")]
async fn agentic_loop() {
    let route = |action: &str| Turn::Json(json!({ "action": action, "confidence": 0.9, "reasoning": "So." }));
    let call = Turn::Call(vec![ToolCall::new("c", "add", json!({ "a": 4, "b": 5 }))]);
    let model = Scripted::new()
        .on(Purpose::Router, [route("use_tools"), route("respond")])
        .then(call)
        .say("Nine, I guess.")
        .on(Purpose::Refiner, ["It is nine."])
        .then("Good-bye.")
        .on(Purpose::Verifier, [judged(0.2), judged(0.9), judged(0.9)])
        .on(Purpose::Summarizer, ["They add."]);
    let refused = ModelError::Unauthorized { reason: "no key".into() };
    let settings = AgenticSettings {
        compaction_threshold: 300,
        target_after_compaction: 150,
        recent_message_count: 1,
        ..AgenticSettings::default()
    };
    // The model that is asked first is gone for everything but the routing, which has a model of its own.
    let model = Arc::new(model);
    let first = (0..8).fold(Scripted::new(), |first, _| first.fail(refused.clone()));
    let config = AgenticConfig::new(first).fallback(Arc::clone(&model)).router(Arc::clone(&model));
    let config = config.judge(Arc::clone(&model)).summariser(model).tools(add());
    let graph = watched(graphs::agentic(config.settings(settings).expect("good")).expect("a graph"));
    let mut said = Vec::new();
    for question in ["How much is four and five?", "Goodbye."] {
        let question = format!("{question} {}", "word ".repeat(200));
        let run = graph.thread("t").run(AgenticState::ask(question)).await.expect("it runs");
        let state = run.finished().expect("it finishes");
        assert!(state.verdict().is_verified(), "{:?}", state.verdict());
        said.push(state.response().expect("a response").into_owned());
        assert_eq!(state.compactions.is_empty(), said.len() == 1, "{:?}", state.compactions);
    }
    println!("the loop has said: {}", said.join(" "));
}

/// A judgement that gives all criteria the same score.
fn judged(score: f64) -> Turn {
    let finding = |criterion| json!({ "criterion": criterion, "finding": "It is so.", "score": score });
    let findings = VerificationCriterion::ALL.map(finding);
    Turn::Json(
        json!({ "findings": findings, "critical_issues": [], "suggestions": [], "feedback": "Be sure." }),
    )
}

async fn extractive_loop() {
    let graph = watched(graphs::agentic(AgenticConfig::new(Extractive).tools(add())).expect("a graph"));
    let run = graph.thread("t").run(AgenticState::ask("What is a checkpoint?")).await.expect("it runs");
    assert!(run.finished().expect("it finishes").response().is_some());
}
