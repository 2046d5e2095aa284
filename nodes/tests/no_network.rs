//! Who is not told where to send metrics and traces to sends them nowhere: observed runs open no socket.
#![cfg(target_os = "linux")]

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::sync::Arc;

use opentelemetry::global;
use schemars::JsonSchema;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use serde::Deserialize;
use superstep_core::checkpoint::MemorySaver;
use superstep_core::graph::{END, START, StateGraph, to};
use superstep_core::reducer::KeyedLog;
use superstep_core::run::TraceLog;
use superstep_core::state::State;
use superstep_nodes::compaction::{Compaction, ContextManager};
use superstep_nodes::message::{MessageLog, ToolCall};
use superstep_nodes::model::{ChatModel, Prices, Purpose, Scripted};
use superstep_nodes::node::{Agent, AgentNext, Compact, Tools};
use superstep_nodes::telemetry::{AgentMetrics, AgentSpans, Metric};
use superstep_nodes::tool::{ToolRegistry, TypedTool};

extern crate superstep_core as superstep;

/// What the child is to do.
const ROLE: &str = "SUPERSTEP_TEST_ROLE";

/// This test again, in a process that is killed when it makes a socket.
fn child(role: &str) -> Output {
    let mut child = Command::new(std::env::current_exe().expect("a test knows its program"));
    child.args(["--exact", "in_a_process_without_sockets", "--ignored", "--nocapture"]).env(ROLE, role);
    child.output().expect("the child runs")
}

#[test]
fn an_observed_run_opens_no_socket() {
    let Output { status, stdout, stderr } = child("run");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{status}: {stdout}{stderr}");
    assert!(stdout.contains("it has said: Nine."), "{stdout}");
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
            .block_on(observed_run()),
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

/// Compaction, model calls, a tool call; watched by everything that watches.
#[expect(clippy::print_stdout, reason = "the parent reads it")]
async fn observed_run() {
    Metric::describe_all();
    let input = serde_json::json!({ "a": 4, "b": 5 });
    let model = Scripted::new().then(ToolCall::new("c", "add", input)).say("Nine.").say("Bye.");
    let model: Arc<dyn ChatModel> = Arc::new(model.on(Purpose::Summarizer, ["They add."]));
    let manager = ContextManager::new().threshold(100).target(50).recent(1);
    let compact = Compact::new(Arc::clone(&model), manager, Chat::MESSAGES, Chat::COMPACTIONS);
    let add = TypedTool::new("add", "Adds two numbers.", |Sum { a, b }| async move { (a + b).to_string() });
    let tools = ToolRegistry::new().with(add).expect("a tool");
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
    let graph = g.compile().expect("sound").checkpointer(MemorySaver::new());
    let graph = graph
        .observe(AgentMetrics::new().prices(Prices::none()))
        .observe(AgentSpans::new(global::tracer_with_scope(AgentSpans::scope())))
        .observe(TraceLog::new());
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
