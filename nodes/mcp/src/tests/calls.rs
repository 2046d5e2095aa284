//! Calls of a server's tools, and their outcomes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::McpServer;
use serde_json::{Value, json};
use superstep_core::run::CancellationToken;
use superstep_nodes::message::ToolCall;
use superstep_nodes::tool::{ToolContext, ToolEvent, ToolEventKind, ToolOutcome, ToolSession};

use super::scripted::{Act, allowed, call, echo, make, registry, said, text};

#[tokio::test]
async fn a_call_says_what_the_tool_is_called_there_and_gives_back_what_it_answers() {
    let (stream, mut heard) = echo(|message| Act::Result(text(&message["params"].to_string())));
    let server = McpServer::connect("s", stream, allowed()).await.unwrap();
    let tools = registry(&server);
    assert!(said(&tools, "s__echo").await.contains("hello"));
    let asked = heard.method("tools/call").await;
    assert_eq!(asked["params"]["name"], "echo");
    assert_eq!(asked["params"]["arguments"], json!({ "text": "hello" }));
}

#[tokio::test]
async fn an_input_that_does_not_fit_is_not_sent() {
    let (stream, _) = echo(|_| panic!("it is not to be called"));
    let server = McpServer::connect("s", stream, allowed()).await.unwrap();
    let result = make(&registry(&server), &ToolCall::new("c", "s__echo", json!({}))).await;
    assert_eq!(result.outcome(), ToolOutcome::Invalid);
}

#[tokio::test]
async fn a_tool_that_fails_says_why_and_so_does_a_server_that_refuses() {
    let mut calls = 0;
    let (stream, _) = echo(move |_| {
        calls += 1;
        let mut failed = text("no such file");
        failed["isError"] = true.into();
        match calls {
            1 => Act::Result(failed),
            2 => Act::Error("unknown tool"),
            _ => Act::Result(json!({ "surprise": true })),
        }
    });
    let server = McpServer::connect("s", stream, allowed()).await.unwrap();
    let tools = registry(&server);
    let result = make(&tools, &call("s__echo")).await;
    assert_eq!(result.outcome(), ToolOutcome::Error);
    assert_eq!(result.content.to_text(), "the tool `s__echo` failed: no such file");
    let begin = "the tool `s__echo` failed: the MCP server `s`";
    assert_eq!(said(&tools, "s__echo").await, format!("{begin} refuses the call: unknown tool"));
    assert_eq!(said(&tools, "s__echo").await, format!("{begin} answered with what is no result of a tool"));
}

#[tokio::test]
async fn observers_get_the_progress_of_a_call() {
    let (stream, _) = echo(|message| {
        let token = &message["params"]["_meta"]["progressToken"];
        let progress = |params: Value| {
            json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }).to_string()
        };
        let own = json!({ "progressToken": token, "progress": 1, "total": 2, "message": "half" });
        let of_another = json!({ "progressToken": 999_999, "progress": 1 });
        Act::Lines(vec![progress(of_another), progress(own)])
    });
    let server =
        McpServer::connect("s", stream, allowed().call_time(Duration::from_secs(3600))).await.unwrap();
    let (tools, call) = (registry(&server), call("s__echo"));
    let told: Arc<Mutex<Vec<ToolEvent>>> = Arc::default();
    let (stop, seen) = (CancellationToken::new(), Arc::clone(&told));
    let stops = stop.clone();
    let context = ToolContext::new(&call, ToolSession::new()).cancel_on(&stop).observe(move |event| {
        if matches!(event.kind, ToolEventKind::Progress { .. }) {
            stops.cancel();
        }
        seen.lock().unwrap().push(event);
    });
    // It ends when its progress was told of.
    assert_eq!(tools.call(&call, &context).await.outcome(), ToolOutcome::Cancelled);
    let told = told.lock().unwrap();
    let progress: Vec<&Value> = told
        .iter()
        .filter_map(|event| match &event.kind {
            ToolEventKind::Progress { data } => Some(data),
            _ => None,
        })
        .collect();
    assert_eq!(progress, [&json!({ "progress": 1.0, "total": 2.0, "message": "half" })]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_given_up_and_the_server_is_notified() {
    let (stream, mut heard) = echo(|_| Act::Hang);
    let server = McpServer::connect("s", stream, allowed().call_time(Duration::from_secs(7))).await.unwrap();
    let result = make(&registry(&server), &call("s__echo")).await;
    assert_eq!(result.outcome(), ToolOutcome::TimedOut);
    let asked = heard.method("tools/call").await;
    let cancelled = heard.method("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], asked["id"]);
}

#[tokio::test]
async fn a_call_that_is_cancelled_is_cancelled_there_too_and_no_other_is() {
    let mut calls = 0;
    let (stream, mut heard) = echo(move |_| {
        calls += 1;
        if calls == 1 { Act::Hang } else { Act::Result(text("done")) }
    });
    let server = McpServer::connect("s", stream, allowed()).await.unwrap();
    let (tools, stop, hanging) = (registry(&server), CancellationToken::new(), call("s__echo"));
    let context = ToolContext::new(&hanging, ToolSession::new()).cancel_on(&stop);
    let (result, id) = tokio::join!(tools.call(&hanging, &context), async {
        let asked = heard.method("tools/call").await;
        stop.cancel();
        asked["id"].clone()
    });
    assert_eq!(result.outcome(), ToolOutcome::Cancelled);
    assert_eq!(heard.method("notifications/cancelled").await["params"]["requestId"], id);
    assert_eq!(said(&tools, "s__echo").await, "done");
}

#[tokio::test]
async fn a_server_that_leaves_during_a_call_leaves_one_error_and_cannot_be_asked_again() {
    let (stream, _) = echo(|_| Act::Leave);
    let server = McpServer::connect("s", stream, allowed()).await.unwrap();
    let tools = registry(&server);
    let broke = "the connection with the MCP server `s` broke during the call; whether anything was done is not known";
    assert_eq!(said(&tools, "s__echo").await, format!("the tool `s__echo` failed: {broke}"));
    let gone = "the tool `s__echo` failed: the MCP server `s` cannot be reached: its stream has ended";
    assert_eq!(said(&tools, "s__echo").await, gone);
}

#[tokio::test]
async fn a_message_that_is_too_long_ends_the_connection_and_not_the_program() {
    let (stream, _) = echo(|_| Act::Result(text(&"x".repeat(2_000_000))));
    let server = McpServer::connect("s", stream, allowed().max_message_bytes(1_000_000)).await.unwrap();
    let said = said(&registry(&server), "s__echo").await;
    assert!(said.contains("(it sent a message of more than 1000000 bytes)"), "{said}");
}

#[tokio::test]
async fn a_long_result_is_cut_for_the_model() {
    let (stream, _) = echo(|_| Act::Result(text(&"x".repeat(200_000))));
    let server = McpServer::connect("s", stream, allowed()).await.unwrap();
    let said = said(&registry(&server), "s__echo").await;
    assert!(said.contains("[… 150000 characters left out …]") && said.len() < 51_000, "{}", said.len());
}

#[tokio::test]
async fn what_is_no_message_is_passed_over() {
    let garbage = ["Listening on port 7", "", "{", "[1, 2]", "null", "{\"jsonrpc\":\"2.0\"}", "\u{0}\u{7f}"];
    let strange = json!({ "jsonrpc": "2.0", "id": 4_711, "result": {} }).to_string();
    let unknown = json!({ "jsonrpc": "2.0", "method": "notifications/strange", "params": [1] }).to_string();
    let (stream, _) = echo(move |_| {
        let lines = garbage.iter().map(ToString::to_string).chain([strange.clone(), unknown.clone()]);
        Act::First(lines.collect(), text("done"))
    });
    let server = McpServer::connect("s", stream, allowed()).await.unwrap();
    assert_eq!(said(&registry(&server), "s__echo").await, "done");
}

#[tokio::test]
async fn what_a_server_asks_for_itself_is_refused() {
    let ask = json!({ "jsonrpc": "2.0", "id": "mine", "method": "roots/list" });
    let (stream, mut heard) = echo(move |_| Act::First(vec![ask.to_string()], text("done")));
    let server = McpServer::connect("s", stream, allowed()).await.unwrap();
    assert_eq!(heard.method("initialize").await["params"]["capabilities"], json!({}));
    assert_eq!(said(&registry(&server), "s__echo").await, "done");
}

#[tokio::test]
async fn calls_after_the_end_say_that_it_has_come() {
    let (stream, _) = echo(|_| Act::Result(text("done")));
    let server = McpServer::connect("s", stream, allowed()).await.unwrap();
    let tools = registry(&server);
    server.close().await;
    let closed = "the tool `s__echo` failed: the connection with the MCP server `s` was closed";
    assert_eq!(said(&tools, "s__echo").await, closed);
}

#[tokio::test]
async fn calls_beside_each_other_get_their_own_answers() {
    let mut first: Option<Value> = None;
    // The second is answered before the first.
    let (stream, _) = echo(move |message| match first.take() {
        None => {
            first = Some(message["id"].clone());
            Act::Hang
        }
        Some(id) => {
            let late = json!({ "jsonrpc": "2.0", "id": id, "result": text("first") });
            Act::Lines(vec![
                json!({ "jsonrpc": "2.0", "id": message["id"], "result": text("second") }).to_string(),
                late.to_string(),
            ])
        }
    });
    let server = McpServer::connect("s", stream, allowed()).await.unwrap();
    let tools = registry(&server);
    let (one, two) = tokio::join!(said(&tools, "s__echo"), said(&tools, "s__echo"));
    assert_eq!((one.as_str(), two.as_str()), ("first", "second"));
}
