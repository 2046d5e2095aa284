//! The errors of requests: their status and their text.

use std::future::pending;

use serde_json::{Value, json};
use superstep_core::graph::{END, START, StateGraph};
use superstep_core::node::Ask;
use superstep_core::run::{AnyGraph, Graph};

use super::*;
use crate::Workers;

/// A server with threads in the states that errors need: `fresh` never ran, `asks` has a question, `pair` two, and
/// `busy` a run that never ends.
struct Fixture {
    router: Router,
    _workers: Workers,
}

/// A graph that asks two questions at once.
fn pairs(saver: std::sync::Arc<dyn superstep_core::checkpoint::Checkpointer>) -> AnyGraph {
    let mut g = StateGraph::<Story>::new("pairs");
    for name in ["left", "right"] {
        let node = g.node(name, async |ask: Ask<String, String>| {
            let answer = ask.ask("Which way?".to_owned()).await;
            Story::update().lines([answer])
        });
        g.edge(START, node);
        g.edge(node, END);
    }
    g.compile().unwrap().shared_checkpointer(saver).erased()
}

/// A graph whose only node never ends.
fn stalls(saver: std::sync::Arc<dyn superstep_core::checkpoint::Checkpointer>) -> AnyGraph {
    let mut g = StateGraph::<Story>::new("stalls");
    let wait = g.node("wait", async || pending::<()>().await);
    g.edge(START, wait);
    g.edge(wait, END);
    g.compile().unwrap().shared_checkpointer(saver).erased()
}

impl Fixture {
    async fn new() -> Self {
        let stories = stories().erased();
        let saver = stories.saver().unwrap().clone();
        let (router, workers) = serve(&[&stories, &pairs(saver.clone()), &stalls(saver)])
            .limits(|limits| limits.body_bytes = 4096)
            .router()
            .unwrap();
        workers.start();
        let fixture = Self { router: contract::checked(router), _workers: workers };
        for thread in ["fresh", "asks", "pair", "busy"] {
            fixture.done("POST", "/threads", json!({ "thread_id": thread })).await;
        }
        let input = json!({ "topic": "Rust" });
        for (thread, graph) in [("asks", "stories"), ("pair", "pairs")] {
            let run = json!({ "assistant_id": graph, "input": input });
            fixture.done("POST", &format!("/threads/{thread}/runs/wait"), run).await;
        }
        fixture.done("POST", "/threads/busy/runs", json!({ "assistant_id": "stalls", "input": input })).await;
        fixture
    }

    async fn done(&self, method: &str, path: &str, body: Value) {
        let response = send(&self.router, json_request(method, path, body.to_string())).await;
        assert_eq!(response.status(), 200, "{method} {path}: {}", super::body(response).await);
    }

    /// Returns the status and the text of a response.
    async fn error(&self, method: &str, path: &str, body: String) -> (u16, String) {
        let response = send(&self.router, json_request(method, path, body)).await;
        let status = response.status().as_u16();
        let body = super::body(response).await;
        // Commands of the thread protocol have the text in another member.
        let text = body["detail"].as_str().or(body["message"].as_str());
        (status, text.map_or_else(|| body.to_string(), str::to_owned))
    }
}

fn json_request(method: &str, path: &str, body: String) -> Request<Body> {
    let request = request(method, path).header("content-type", "application/json");
    request.body(body.into()).unwrap()
}

#[cfg(not(feature = "webhooks"))]
const PRIVATE_WEBHOOK: &str = "webhook: this server was built without webhooks (feature `webhooks`)";
#[cfg(not(feature = "webhooks"))]
const LOCAL_WEBHOOK: &str = PRIVATE_WEBHOOK;
#[cfg(feature = "webhooks")]
const PRIVATE_WEBHOOK: &str = "webhook: `10.0.0.1` is not on the public internet, ";
#[cfg(feature = "webhooks")]
const LOCAL_WEBHOOK: &str = "webhook: `localhost` is not on the public internet, ";

/// Errors: the method, the path, the body, the status, and the beginning of the text.
fn table() -> Vec<(&'static str, &'static str, Value, u16, &'static str)> {
    let nil = "00000000-0000-0000-0000-000000000000";
    let run = |members: Value| {
        let mut run = json!({ "assistant_id": "stories" });
        run.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        run
    };
    vec![
        // Objects that do not exist.
        ("GET", "/threads/nope", Value::Null, 404, "Thread with ID nope not found"),
        ("GET", "/threads/nope/state", Value::Null, 404, "Thread with ID nope not found"),
        ("POST", "/threads/nope/runs", run(json!({})), 404, "Thread or assistant not found."),
        ("GET", "/threads/asks/runs/nope", Value::Null, 404, "Run with ID nope not found"),
        ("POST", "/threads/asks/runs/nope/cancel", json!({}), 404, "Run with ID nope not found"),
        ("GET", "/assistants/nope", Value::Null, 404, "Assistant nope not found"),
        (
            "POST",
            "/threads/asks/runs",
            json!({ "assistant_id": "nope" }),
            404,
            "Thread or assistant not found.",
        ),
        ("POST", "/assistants", json!({ "graph_id": "nope" }), 404, "graph \"nope\" is not served here"),
        ("DELETE", "/assistants/nope", Value::Null, 404, "Assistant nope not found"),
        ("GET", "/assistants/nope/schemas", Value::Null, 404, "Assistant nope not found"),
        (
            "POST",
            "/assistants/stories/latest",
            json!({ "version": 9 }),
            404,
            "Assistant stories has no version 9",
        ),
        ("PATCH", "/threads/nope", json!({}), 404, "Thread with ID nope not found"),
        ("DELETE", "/threads/nope", Value::Null, 404, "Thread with ID nope not found"),
        ("POST", "/threads/nope/copy", json!({}), 404, "Thread with ID nope not found"),
        ("POST", "/threads/nope/history", json!({}), 404, "Thread with ID nope not found"),
        ("GET", "/threads/nope/runs", Value::Null, 404, "Thread with ID nope not found"),
        (
            "POST",
            "/threads/nope/state",
            json!({ "values": { "topic": "Go" } }),
            404,
            "Thread with ID nope not found",
        ),
        ("GET", "/threads/asks/runs/nope/join", Value::Null, 404, "Run with ID nope not found"),
        ("GET", "/threads/asks/runs/nope/stream", Value::Null, 404, "Run with ID nope not found"),
        ("DELETE", "/threads/asks/runs/nope", Value::Null, 404, "Run with ID nope not found"),
        ("GET", "/runs/nope/stream", Value::Null, 404, "Run with ID nope not found"),
        (
            "POST",
            "/runs/cancel",
            json!({ "thread_id": "asks", "run_ids": ["nope"] }),
            404,
            "No matching runs to cancel.",
        ),
        ("GET", "/threads/asks/state/nope", Value::Null, 404, "Checkpoint nope not found"),
        (
            "POST",
            "/threads/asks/state/checkpoint",
            json!({ "checkpoint": { "checkpoint_id": nil } }),
            404,
            "Checkpoint 0000",
        ),
        (
            "POST",
            "/threads/asks/state",
            json!({ "values": {}, "checkpoint_id": nil }),
            404,
            "Checkpoint 0000",
        ),
        (
            "POST",
            "/threads/asks/history",
            json!({ "before": nil }),
            404,
            "Thread asks has no checkpoint 0000",
        ),
        (
            "POST",
            "/threads/asks/commands",
            json!({ "id": 1, "method": "state.fork", "params": { "checkpoint_id": nil } }),
            200,
            "Checkpoint 0000",
        ),
        ("POST", "/threads/asks/runs", run(json!({ "checkpoint_id": nil })), 404, "Checkpoint 0000"),
        ("GET", "/nope", Value::Null, 404, "Not Found"),
        ("PUT", "/threads", json!({}), 405, "Method Not Allowed"),
        // Names that a graph or the API does not have.
        (
            "POST",
            "/threads/fresh/runs",
            run(json!({ "interrupt_before": ["nope"] })),
            422,
            "interrupt_before: graph stories has no node \"nope\"",
        ),
        (
            "POST",
            "/threads/asks/runs",
            run(json!({ "command": { "goto": "nope" } })),
            400,
            "Node nope does not exist",
        ),
        (
            "POST",
            "/threads/asks/state",
            json!({ "values": {}, "as_node": "nope" }),
            400,
            "Node nope does not exist",
        ),
        (
            "POST",
            "/threads/fresh/runs",
            run(json!({ "stream_mode": "nope" })),
            422,
            "stream_mode: \"nope\" is not valid; expected one of values, ",
        ),
        (
            "GET",
            "/threads/asks/stream?stream_mode=nope",
            Value::Null,
            422,
            "stream_mode: \"nope\" is not valid; expected one of run_modes, lifecycle, state_update",
        ),
        (
            "POST",
            "/threads/asks/stream/events",
            json!({ "channels": ["nope"] }),
            400,
            "channels contains unsupported entries: nope. Allowed: values, ",
        ),
        (
            "POST",
            "/threads/asks/commands",
            json!({ "id": 1, "method": "nope" }),
            200,
            "Unknown protocol command: nope",
        ),
        ("GET", "/assistants/stories/graph?xray=nope", Value::Null, 422, "xray: \"nope\" is not a boolean"),
        (
            "POST",
            "/threads/fresh/runs",
            run(json!({ "multitask_strategy": "nope" })),
            422,
            "multitask_strategy: \"nope\" is not valid; expected one of reject, enqueue, ",
        ),
        // Bodies of a wrong form.
        ("POST", "/threads", json!([]), 422, "the body is a list, and must be an object"),
        (
            "POST",
            "/threads/fresh/runs",
            json!({ "input": {} }),
            422,
            "\"assistant_id\" is a required property",
        ),
        (
            "POST",
            "/threads/fresh/runs",
            json!({ "assistant_id": 3 }),
            422,
            "assistant_id: expected a string, found ",
        ),
        (
            "POST",
            "/threads/fresh/runs",
            run(json!({ "config": { "configurable": 3 } })),
            422,
            "config.configurable: expected an object, found a number",
        ),
        ("POST", "/threads/search", json!({ "limit": 1001 }), 422, "limit: 1001 is not from 1 to 1000"),
        ("GET", "/threads/asks/runs?limit=x", Value::Null, 422, "limit: \"x\" is not a whole number from 0"),
        ("GET", "/ok?check_db=maybe", Value::Null, 422, "check_db: \"maybe\" is not a boolean"),
        ("POST", "/runs/batch", json!({}), 422, "the body must be a list of runs"),
        (
            "POST",
            "/threads",
            json!({ "thread_id": "no spaces" }),
            422,
            "Invalid thread ID: must be 1 to 255 letters, digits or _.:-",
        ),
        (
            "PUT",
            "/store/items",
            json!({ "namespace": [], "key": "k", "value": {} }),
            400,
            "Namespace cannot be empty",
        ),
        (
            "POST",
            "/threads",
            json!({ "metadata": "x".repeat(5000) }),
            413,
            "the body has more than 4096 bytes",
        ),
        // Inputs and edits that do not fit the graph.
        (
            "POST",
            "/threads/fresh/runs",
            run(json!({ "input": { "topik": "Rust" } })),
            422,
            "the input does not fit: the state has no field \"topik\"; did you mean \"topic\"?",
        ),
        (
            "POST",
            "/threads/fresh/runs/stream",
            run(json!({ "input": { "topic": 3 } })),
            422,
            "the input does not fit: field \"topic\"",
        ),
        ("POST", "/runs/wait", run(json!({ "input": ["Rust"] })), 422, "the input does not fit: "),
        (
            "POST",
            "/threads/asks/state",
            json!({ "values": { "topik": "Go" } }),
            422,
            "the edit does not fit: the state has no field \"topik\"; did you mean \"topic\"?",
        ),
        // Answers.
        (
            "POST",
            "/threads/asks/runs",
            run(json!({ "command": { "resume": 3 } })),
            422,
            "the answer to question ",
        ),
        (
            "POST",
            "/threads/pair/runs",
            json!({ "assistant_id": "pairs", "command": { "resume": "left" } }),
            422,
            "the thread asks 2 questions; answer with an object by id: ",
        ),
        (
            "POST",
            "/threads/asks/runs",
            run(json!({ "strict_resume": true, "command": { "resume": { "0".repeat(32): "yes" } } })),
            422,
            "question 00000000000000000000000000000000 is not open; the open questions are: ",
        ),
        (
            "POST",
            "/threads/asks/commands",
            json!({ "id": 1, "method": "input.respond", "params": { "interrupt_id": "nope", "response": 1 } }),
            200,
            "question nope is not open",
        ),
        (
            "POST",
            "/runs/wait",
            run(json!({ "command": { "resume": "yes" } })),
            400,
            "You must provide a thread_id when resuming.",
        ),
        // Webhooks.
        (
            "POST",
            "/threads/fresh/runs",
            run(json!({ "webhook": 3 })),
            422,
            "webhook: expected a string, found ",
        ),
        ("POST", "/threads/fresh/runs", run(json!({ "webhook": "http://10.0.0.1/" })), 422, PRIVATE_WEBHOOK),
        (
            "POST",
            "/threads/fresh/runs/stream",
            run(json!({ "webhook": "http://localhost/" })),
            422,
            LOCAL_WEBHOOK,
        ),
        ("POST", "/runs/batch", json!([run(json!({ "webhook": "http://10.0.0.1/" }))]), 422, PRIVATE_WEBHOOK),
        // Conflicts.
        ("POST", "/threads", json!({ "thread_id": "asks" }), 409, "Thread with ID asks already exists"),
        (
            "POST",
            "/threads/busy/runs",
            json!({ "assistant_id": "stalls", "input": {}, "multitask_strategy": "reject" }),
            409,
            "Thread is already running a task.",
        ),
        ("POST", "/threads/busy/state", json!({ "values": {} }), 409, "Thread is already running a task."),
        (
            "POST",
            "/threads/asks/runs",
            json!({ "assistant_id": "pairs", "input": {} }),
            409,
            "the thread belongs to graph stories; a run of graph pairs needs another",
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_error_has_its_status_and_its_text() {
    let fixture = Fixture::new().await;
    let mut wrong = Vec::new();
    for (method, path, body, status, text) in table() {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let found = fixture.error(method, path, body.clone()).await;
        if found.0 != status || !found.1.starts_with(text) {
            wrong.push(format!("{method} {path} {body}: {} {}", found.0, found.1));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    let deep = "[".repeat(500) + &"]".repeat(500);
    for (text, status, begins) in [
        ("{", 422, "Invalid JSON in request body"),
        ("{\"a\": \"\u{0}\"}", 422, "Invalid JSON in request body"),
        (deep.as_str(), 422, "the body has "),
    ] {
        let found = fixture.error("POST", "/threads", text.to_owned()).await;
        assert!(found.0 == status && found.1.starts_with(begins), "{text}: {found:?}");
    }
    let plain = request("POST", "/threads").header("content-type", "text/plain").body("{}".into()).unwrap();
    let found = super::error(send(&fixture.router, plain).await).await;
    assert_eq!(found, (415, "the body must have the content type application/json".to_owned()));
}

/// A file may have threads and assistants of graphs that the program no longer has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_graph_that_is_no_longer_served_is_404_by_its_name() {
    let saver = stories().saver().unwrap().clone();
    let before = router(serve(&[&stalls(saver.clone()), &pairs(saver.clone())]));
    let after = router(serve(&[&pairs(saver)]));
    for (path, body) in [
        ("/threads", json!({ "thread_id": "t", "metadata": { "graph_id": "stalls" } })),
        ("/assistants", json!({ "assistant_id": "a", "graph_id": "stalls" })),
    ] {
        let created = send(&before, json_request("POST", path, body.to_string())).await;
        assert_eq!(created.status(), 200, "{path}");
    }
    let text = "graph \"stalls\" is not served here";
    for (method, path, body, text) in [
        ("GET", "/threads/t/state", Value::Null, text),
        ("POST", "/threads/t/history", json!({}), text),
        ("POST", "/threads/t/state", json!({ "values": {} }), text),
        ("GET", "/assistants/a/schemas", Value::Null, text),
        ("POST", "/threads/t/runs", json!({ "assistant_id": "a" }), text),
        ("POST", "/threads/t/runs", json!({ "assistant_id": "stalls" }), "Thread or assistant not found."),
    ] {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let found = super::error(send(&after, json_request(method, path, body)).await).await;
        assert_eq!(found, (404, text.to_owned()), "{method} {path}");
    }
}

#[tokio::test]
async fn graphs_without_a_store_have_no_items() {
    let saver = stories().saver().unwrap().clone();
    let router = router(serve(&[&pairs(saver)]));
    let search = json_request("POST", "/store/items/search", json!({ "namespace_prefix": [] }).to_string());
    let text = "no graph has a store; give one its own with `.store(..)`";
    assert_eq!(super::error(send(&router, search).await).await, (404, text.to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_refused_request_the_question_is_open_and_no_run_exists() {
    let fixture = Fixture::new().await;
    let refused = json!({ "assistant_id": "stories", "command": { "resume": 3 } });
    assert_eq!(fixture.error("POST", "/threads/asks/runs", refused.to_string()).await.0, 422);
    let misfit = json!({ "assistant_id": "stories", "input": { "topik": "x" }, "if_not_exists": "create" });
    assert_eq!(fixture.error("POST", "/threads/new/runs", misfit.to_string()).await.0, 422);
    assert_eq!(fixture.error("GET", "/threads/new", String::new()).await.0, 404);
    let got = async |path: &str| {
        super::body(send(&fixture.router, request("GET", path).body(Body::empty()).unwrap()).await).await
    };
    assert_eq!(got("/threads/asks/runs").await.as_array().unwrap().len(), 1);
    assert_eq!(got("/threads/asks/state").await["interrupts"][0]["value"], "Is it good?");
    let answer = json!({ "assistant_id": "stories", "command": { "resume": "yes" } });
    fixture.done("POST", "/threads/asks/runs/wait", answer).await;
    assert_eq!(got("/threads/asks/state").await["next"], json!([]));
}

#[test]
fn a_server_needs_graphs_with_a_checkpointer() {
    let bare: Graph<Story> = {
        let mut g = StateGraph::<Story>::new("bare");
        let write = g.node("write", async || {});
        g.edge(START, write);
        g.edge(write, END);
        g.compile().unwrap()
    };
    let error = serve(&[&bare]).router().err().unwrap();
    assert_eq!(error.to_string(), "graph \"bare\" has no checkpointer; give it one with `.checkpointer(..)`");
    let none = serve(&[]).router().err().unwrap();
    assert_eq!(none.to_string(), "a server needs at least one graph");
    let twice = stories();
    let twice = serve(&[&twice, &twice]).router().err().unwrap();
    assert_eq!(twice.to_string(), "two graphs are named \"stories\"; a server needs different names");
    let apart = serve(&[&stories(), &pairs(stories().saver().unwrap().clone())]).router().err().unwrap();
    let text =
        "graphs \"pairs\" and \"stories\" have different stores; share one with `.shared_checkpointer(..)`";
    assert_eq!(apart.to_string(), text);
}
