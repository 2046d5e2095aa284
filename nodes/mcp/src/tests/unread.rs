//! Servers and clients that do not read what is written to them.

use std::time::Duration;

use crate::McpServer;
use serde_json::json;
use superstep_nodes::message::ToolCall;
use superstep_nodes::tool::ToolOutcome;
use tokio::io::AsyncWriteExt;

use super::graphs;
use super::scripted::{Act, HANGS, allowed, call, echo, make, registry, said, server, text, tool};

/// So many requests of the server itself, as lines.
fn asked(count: usize) -> Vec<String> {
    let request = |id: usize| {
        let message = json!({ "role": "user", "content": { "type": "text", "text": "hello" } });
        let params = json!({ "messages": [message], "maxTokens": 10 });
        json!({ "jsonrpc": "2.0", "id": id, "method": "sampling/createMessage", "params": params })
            .to_string()
    };
    (0..count).map(request).collect()
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_not_read_is_closed_though_a_message_is_being_written_to_it() {
    let (stream, _) = server(|_, _| Act::Deaf(json!({ "tools": [tool("echo")] })));
    let options = allowed().call_time(Duration::from_millis(100));
    let deaf = McpServer::connect("s", stream, options).await.unwrap();
    let tools = registry(&deaf);
    for _ in 0..2 {
        let call = ToolCall::new("c", "s__echo", json!({ "text": "x".repeat(500_000) }));
        assert_eq!(make(&tools, &call).await.outcome(), ToolOutcome::TimedOut);
    }
    tokio::time::timeout(HANGS, deaf.close()).await.expect("it is closed");
    assert!(said(&tools, "s__echo").await.contains("was closed"));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_without_end_and_reads_no_answers_is_broken_off() {
    let (stream, _) = echo(|_| Act::First(asked(20_000), text("done")));
    let greedy = McpServer::connect("s", stream, allowed()).await.unwrap();
    let broke = said(&registry(&greedy), "s__echo").await;
    assert!(broke.contains("broke during the call"), "{broke}");
    assert!(broke.contains("it does not read the answers to more than 64 requests"), "{broke}");
}

#[tokio::test]
async fn a_server_that_reads_may_ask_as_much_as_it_will() {
    let (stream, mut heard) = echo(|_| Act::First(asked(300), text("done")));
    let curious = McpServer::connect("s", stream, allowed()).await.unwrap();
    let tools = registry(&curious);
    for _ in 0..3 {
        assert_eq!(make(&tools, &call("s__echo")).await.outcome(), ToolOutcome::Ok);
    }
    curious.close().await;
    // Each request was refused, in words.
    let mut refused = 0;
    while refused < 900 {
        let message = heard.next().await;
        refused += usize::from(message["error"]["message"].is_string());
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_and_goes_away_is_not_waited_for_forever() {
    let (mut says, read) = tokio::io::duplex(1 << 16);
    // It has room for the handshake, and is not read.
    let (write, _unread) = tokio::io::duplex(1 << 10);
    let service = graphs::service(graphs::tool("write", graphs::reviewed()));
    let serves = tokio::spawn(service.serve(read, write));
    let hello = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": { "name": "unread", "version": "1" },
    });
    let mut lines = vec![
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
    ];
    lines.extend((1..20).map(|id| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" })));
    for line in lines {
        says.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }
    drop(says);
    let ended = tokio::time::timeout(HANGS, serves).await;
    ended.expect("it ends").unwrap().unwrap();
}
