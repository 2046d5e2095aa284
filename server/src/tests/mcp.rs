//! Tools for clients of the Model Context Protocol.

use serde_json::{Value, json};

use super::flow::Client;

async fn call(client: &Client, method: &str, params: Value) -> Value {
    let message = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    let answer = client.post("/mcp", message).await;
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(7)), "{answer}");
    answer
}

async fn tool(client: &Client, name: &str, arguments: Value) -> Value {
    call(client, "tools/call", json!({ "name": name, "arguments": arguments })).await["result"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_runs_a_graph_and_another_answers_its_question() {
    let client = Client::new().await;
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {} });
    let hello = call(&client, "initialize", params).await;
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(client.send("POST", "/mcp", ready).await.status, 202);

    let assistant = json!({ "graph_id": "stories", "name": "poems", "description": "Writes a poem." });
    client.post("/assistants", assistant).await;
    let unfit = json!({ "graph_id": "stories", "name": "a name with spaces" });
    let unfit = client.post("/assistants", unfit).await["assistant_id"].clone();
    let listed = call(&client, "tools/list", json!({})).await["result"]["tools"].clone();
    let names: Vec<&Value> = listed.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names.first(), Some(&&json!("stories")), "{listed}");
    assert_eq!(names.last(), Some(&&json!("resume_run")), "{listed}");
    assert!(names.contains(&&json!("poems")) && names.contains(&&unfit), "{listed}");
    assert_eq!(listed[0]["inputSchema"]["type"], "object");

    for name in ["stories", "poems"] {
        let asked = tool(&client, name, json!({ "topic": "Rust" })).await;
        let questions = &asked["structuredContent"]["questions"];
        assert_eq!(questions[0]["value"], "Is it good?", "{asked}");
        let thread = asked["structuredContent"]["thread"].as_str().unwrap();
        assert!(asked["content"][0]["text"].as_str().unwrap().contains(thread), "{asked}");

        let refused = tool(&client, "resume_run", json!({ "thread": thread, "answer": 3 })).await;
        assert_eq!(refused["isError"], true, "an answer that is no text leaves the question open: {refused}");
        let ended = tool(&client, "resume_run", json!({ "thread": thread, "answer": "very" })).await;
        let lines = json!(["about Rust", "very"]);
        assert_eq!(ended["structuredContent"]["output"]["lines"], lines, "{ended}");
        let gone = client.send("GET", &format!("/threads/{thread}"), Value::Null).await;
        assert_eq!(gone.status, 404, "the thread of a tool that has ended is deleted");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_does_not_fit_is_refused_with_a_text() {
    let client = Client::new().await;
    let unfit = tool(&client, "stories", json!({ "title": "Rust" })).await;
    assert_eq!(unfit["isError"], true);
    assert!(unfit["content"][0]["text"].as_str().unwrap().contains("title"), "{unfit}");
    for (arguments, expected) in [
        (json!({}), "thread: the id of a thread is missing"),
        (json!({ "thread": "t" }), "answer, or answers by their ids, are missing"),
        (json!({ "thread": "t", "answer": 1, "answers": {} }), "give either answer or answers"),
        (json!({ "thread": "t", "answers": 1 }), "answers: an object by the ids of questions is needed"),
        (json!({ "thread": "t", "answer": 1, "who": 2 }), "who: resume_run has no such argument"),
        (json!({ "thread": "t", "answer": 1 }), "Thread with ID t not found"),
    ] {
        let refused = tool(&client, "resume_run", arguments).await;
        assert_eq!((&refused["isError"], &refused["content"][0]["text"]), (&json!(true), &json!(expected)));
    }
    for (method, params, code) in [
        ("tools/call", json!({ "name": "novels" }), -32602),
        ("tools/call", json!({}), -32602),
        ("tools/call", json!({ "name": "stories", "arguments": [] }), -32602),
        ("prompts/list", json!({}), -32601),
    ] {
        let answer = call(&client, method, params).await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    for message in [json!({}), json!([]), json!({ "jsonrpc": "2.0", "id": [1], "method": "ping" })] {
        let answer = client.post("/mcp", message).await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32600)), "{answer}");
    }
    let ready = client.send("GET", "/mcp", Value::Null).await;
    assert_eq!(ready.status, 405, "the server sends nothing by itself");
}
