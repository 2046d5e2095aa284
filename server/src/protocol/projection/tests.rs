mod agreement;

use serde_json::json;

use super::*;
use crate::legacy::recorded::{Recorded, agent, fanout, frames, saver, store, tooly};

const ALL: [&str; 9] =
    ["values", "updates", "messages", "tools", "lifecycle", "input", "checkpoints", "tasks", "custom"];

fn filter(body: Value) -> EventFilter {
    EventFilter::read(&body).unwrap()
}

fn hi(ask: bool) -> Value {
    json!({ "messages": [{ "type": "human", "id": "m1", "content": "hi" }], "ask": ask })
}

/// Returns the methods of events, with the names of those that have one.
fn told(frames: &[Frame]) -> Vec<String> {
    let name = |frame: &Frame| match frame.data["params"]["data"]["event"].as_str() {
        Some(event) => format!("{} {event}", frame.event),
        None => frame.event.clone(),
    };
    frames.iter().map(name).collect()
}

#[tokio::test]
async fn a_message_begins_grows_and_ends() {
    let mut log = Recorded::of(agent(saver(), store()).unwrap());
    log.run(hi(false)).await;
    let mut protocol = Protocol::new(filter(json!({ "channels": ["values", "messages", "lifecycle"] })));
    let frames = frames(&mut protocol, &log.log);
    let mut expected = vec!["lifecycle running", "values", "values", "messages message-start"];
    expected.push("messages content-block-start");
    expected.extend(["messages content-block-delta"; 7]);
    expected.extend(["messages content-block-finish", "messages message-finish", "values", "values"]);
    expected.push("lifecycle completed");
    assert_eq!(told(&frames), expected);
    let finished = &frames[12].data["params"]["data"];
    assert_eq!(finished["content"], json!({ "type": "text", "text": "hello from fake model" }));
    let values = &frames[14].data["params"]["data"]["messages"];
    assert_eq!(values[0], json!({ "type": "human", "content": "hi", "id": "m1" }));
    assert_eq!(
        values[1]["content"],
        json!([{ "type": "text", "text": "hello from fake model", "index": 0 }])
    );
    assert_eq!(values[1]["response_metadata"], json!({ "output_version": "v1" }));
    assert_eq!(values[1]["id"], frames[3].data["params"]["data"]["id"]);
}

/// `@langchain/react` forks at the parent of the checkpoint that it was told of last before a state.
#[tokio::test]
async fn a_checkpoint_is_told_before_its_state() {
    let mut log = Recorded::of(agent(saver(), store()).unwrap());
    log.run(hi(false)).await;
    let mut protocol = Protocol::new(filter(json!({ "channels": ["values", "checkpoints"] })));
    let frames = frames(&mut protocol, &log.log);
    let mut expected = vec!["checkpoints"];
    expected.extend(["checkpoints", "values"].repeat(4));
    assert_eq!(told(&frames), expected);
    let ids: Vec<&Value> = frames.iter().filter_map(|frame| frame.data["params"]["data"].get("id")).collect();
    let first = frames.iter().position(|frame| frame.event == "values").unwrap();
    assert_eq!(
        &frames[first - 1].data["params"]["data"]["parent_id"],
        ids[0],
        "the state before the message"
    );
}

#[tokio::test]
async fn a_question_is_requested_once_with_payload_and_value() {
    let mut log = Recorded::of(fanout(saver(), store()).unwrap());
    log.run(json!({ "items": ["a", "b"] })).await;
    let frames = frames(&mut Protocol::new(filter(json!({ "channels": ["input"] }))), &log.log);
    assert_eq!(frames.len(), 1);
    let params = &frames[0].data["params"];
    assert_eq!(
        (&params["data"]["payload"], &params["data"]["value"]),
        (&json!("check b"), &json!("check b"))
    );
    assert!(params["namespace"][0].as_str().unwrap().starts_with("worker:"));
}

#[tokio::test]
async fn subgraphs_start_and_end() {
    let mut log = Recorded::of(fanout(saver(), store()).unwrap());
    log.run(json!({ "items": ["a", "c"] })).await;
    let frames = frames(&mut Protocol::new(filter(json!({ "channels": ["lifecycle"] }))), &log.log);
    let mut events = told(&frames);
    events.sort();
    let expected = ["completed", "completed", "completed", "running", "started", "started"];
    assert_eq!(events, expected.map(|event| format!("lifecycle {event}")));
    let started = frames.iter().find(|frame| frame.data["params"]["data"]["event"] == "started").unwrap();
    let data = &started.data["params"]["data"];
    assert_eq!(
        (&data["graph_name"], &data["namespace"]),
        (&json!("sub"), &started.data["params"]["namespace"])
    );
    let depth = json!({ "channels": ["lifecycle"], "namespaces": [[]], "depth": 0 });
    let shallow = crate::legacy::recorded::frames(&mut Protocol::new(filter(depth)), &log.log);
    assert_eq!(told(&shallow), ["lifecycle running", "lifecycle completed"]);
}

#[tokio::test]
async fn tools_and_their_messages_are_told() {
    let mut log = Recorded::of(tooly(saver(), store()).unwrap());
    log.run(json!({ "messages": [{ "type": "human", "id": "m1", "content": "hi" }] })).await;
    let tools = frames(&mut Protocol::new(filter(json!({ "channels": ["tools"] }))), &log.log);
    assert_eq!(told(&tools), ["tools tool-started", "tools tool-finished"]);
    let messages = frames(&mut Protocol::new(filter(json!({ "channels": ["messages"] }))), &log.log);
    let finished: Vec<&Value> = messages
        .iter()
        .map(|frame| &frame.data["params"]["data"])
        .filter(|data| data["event"] == "content-block-finish")
        .map(|data| &data["content"])
        .collect();
    let call = json!({ "type": "tool_call", "id": "call_1", "name": "add", "args": { "a": 2, "b": 3 } });
    let expected =
        [call, json!({ "type": "text", "text": "5" }), json!({ "type": "text", "text": "the sum is 5" })];
    assert_eq!(finished, expected.iter().collect::<Vec<_>>());
    let usage = messages.iter().rev().find_map(|frame| frame.data["params"]["data"].get("usage")).unwrap();
    assert_eq!(usage["total_tokens"], 24);
}

#[tokio::test]
async fn numbers_grow_and_a_client_continues_after_any() {
    let mut log = Recorded::of(fanout(saver(), store()).unwrap());
    log.run(json!({ "items": ["a", "b"] })).await;
    log.answer(&json!("yes")).await;
    let all = frames(&mut Protocol::new(filter(json!({ "channels": ALL }))), &log.log);
    let numbers: Vec<u64> = all.iter().map(|frame| frame.data["seq"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b));
    for (at, since) in numbers.iter().enumerate() {
        let rest = json!({ "channels": ALL, "since": since });
        assert_eq!(frames(&mut Protocol::new(filter(rest)), &log.log), all[at + 1..]);
    }
}
