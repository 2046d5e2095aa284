//! The reported usage of model calls.

use std::path::PathBuf;

use serde_json::{Value, json};
use superstep::cli::Look;
use superstep::nodes::message::ToolCall;
use superstep::nodes::model::{ModelReply, Scripted, Turn, Usage};
use superstep::prelude::*;
use tempfile::TempDir;

use crate::agent::{Chat, agent};
use crate::said;

fn reply(text: &str, read: u64, written: u64) -> ModelReply {
    ModelReply::new("claude-x", text).with_usage(Usage::of(read, written))
}

/// A thread `day` that asked for a tool, a branch `night` of it that asks again, and `failed`, whose model failed.
async fn written() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("days.db");
    let asking = ModelReply { tool_calls: vec![ToolCall::new("1", "now", json!({}))], ..reply("", 100, 20) };
    let model = Scripted::new()
        .then(Turn::Reply(asking))
        .then(Turn::Reply(reply("It is noon.", 140, 5)))
        .then(Turn::Reply(reply("Still noon.", 160, 7)));
    let graph = agent(model).checkpointer(SqliteSaver::open(&path).await.unwrap());
    let day = graph.thread("day");
    day.run(Chat::ask("What time is it?")).await.unwrap().finished().unwrap();
    let night = day.head().await.unwrap().fork("night").await.unwrap();
    night.run(Chat::ask("And now?")).await.unwrap().finished().unwrap();
    (folder, path)
}

fn json_of(path: &std::path::Path, line: &str) -> Value {
    let said = said(path, Look::PIPED, &format!("{line} --json"));
    assert_eq!(said.err, "");
    serde_json::from_str(&said.out).unwrap()
}

fn used(document: &Value) -> Vec<Value> {
    let lines = document.as_array().unwrap();
    lines
        .iter()
        .map(|line| json!([line["step"], line["used"]["input_tokens"], line["used"]["output_tokens"]]))
        .collect()
}

#[tokio::test]
async fn the_log_says_which_supersteps_called_a_model_and_how_many_tokens_that_took() {
    let (_folder, path) = written().await;
    let history = json_of(&path, "log FILE day");
    let expected = [
        json!([3, 140, 5]),
        json!([2, null, null]),
        json!([1, 100, 20]),
        json!([0, null, null]),
        json!([-1, null, null]),
    ];
    assert_eq!(used(&history["checkpoints"]), expected);
    assert_eq!(history["checkpoints"][0]["used"]["model_calls"], 1);

    let text = said(&path, Look::PIPED, "log FILE day").out;
    assert!(text.lines().next().unwrap().contains("tokens"), "{text}");
    assert!(text.contains("140+5"), "{text}");
}

#[tokio::test]
async fn the_oldest_line_that_is_shown_says_it_too_and_so_does_a_drawing_of_all_branches() {
    let (_folder, path) = written().await;
    let newest = json_of(&path, "log FILE day -n 1");
    assert_eq!(used(&newest["checkpoints"]), [json!([3, 140, 5])]);
    assert_eq!(newest["more"], true);
    let all = json_of(&path, "log FILE day --graph");
    let mut told = used(&all["checkpoints"]);
    told.retain(|line| line[1] != Value::Null);
    assert_eq!(told, [json!([6, 160, 7]), json!([3, 140, 5]), json!([1, 100, 20])]);
}

#[tokio::test]
async fn a_difference_has_the_sum_of_the_model_calls_on_the_way() {
    let (_folder, path) = written().await;
    let (day, tools) = (json_of(&path, "diff FILE day@-1 day"), json_of(&path, "diff FILE day@1 day@2"));
    let sums = ["model_calls", "input_tokens", "output_tokens"].map(|name| day["used"][name].clone());
    assert_eq!(sums, [json!(2), json!(240), json!(25)]);
    assert_eq!(tools["used"], Value::Null);

    let text = said(&path, Look::PIPED, "diff FILE day@-1 day").out;
    assert!(text.contains("2 model calls: 240 tokens read, 25 written, "), "{text}");
}

#[tokio::test]
async fn branches_are_compared_by_what_each_used_of_its_own() {
    let (_folder, path) = written().await;
    let branches = json_of(&path, "compare FILE day night");
    assert_eq!(branches["a"]["used"], Value::Null);
    assert_eq!(
        (&branches["b"]["used"]["input_tokens"], &branches["b"]["used"]["model_calls"]),
        (&json!(160), &json!(1))
    );
    let text = said(&path, Look::PIPED, "compare FILE day night").out;
    assert!(text.contains("b: 1 model call: 160 tokens read, 7 written, "), "{text}");
}

#[tokio::test]
async fn calls_lists_the_model_calls_of_one_superstep_with_their_responses() {
    let (_folder, path) = written().await;
    let document = json_of(&path, "calls FILE day@1");
    let calls = document["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 1);
    let call = &calls[0];
    assert_eq!(
        json!([call["model"], call["input_tokens"], call["output_tokens"]]),
        json!(["claude-x", 100, 20])
    );
    assert_eq!(call["response"]["usage"]["input_tokens"], 100);
    assert_eq!(document["used"]["model_calls"], 1);

    let text = said(&path, Look::PIPED, "calls FILE day").out;
    assert!(text.contains("claude-x  140+5 tokens") && text.contains("It is noon."), "{text}");
    assert_eq!(said(&path, Look::PIPED, "calls FILE day@2").out, "no model was called\n");
}
