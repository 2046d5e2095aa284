use proptest::prelude::*;
use proptest::sample::{Index, subsequence};
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use super::*;

use crate::legacy::recorded::{Recorded, agent, fanout, frames, saver, store, tooly};

type Log = [(LogEntry, Option<CheckpointView>)];

fn hi(more: Value) -> Value {
    let mut input = json!({ "messages": [{ "type": "human", "id": "m1", "content": "hi" }] });
    for (name, value) in more.as_object().unwrap() {
        input[name.as_str()] = value.clone();
    }
    input
}

/// Returns the names of the frames.
fn names(frames: &[Frame]) -> Vec<&str> {
    frames.iter().map(|frame| frame.event.as_str()).collect()
}

/// Returns the data of the frames with this name, without what every message has.
fn data(frames: &[Frame], event: &str) -> Vec<Value> {
    frames.iter().filter(|frame| frame.event == event).map(|frame| brief(&frame.data)).collect()
}

/// Returns a value with messages as `kind:content`.
fn brief(value: &Value) -> Value {
    if value["additional_kwargs"].is_object() {
        return format!("{}:{}", value["type"].as_str().unwrap(), value["content"].as_str().unwrap()).into();
    }
    match value {
        Value::Array(items) => items.iter().map(brief).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), brief(value))).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

fn stream(log: &Log, modes: &[StreamMode]) -> Vec<Frame> {
    frames(&mut Legacy::of_run(modes, false, false), log)
}

fn with_subgraphs(log: &Log, modes: &[StreamMode]) -> Vec<Frame> {
    frames(&mut Legacy::of_run(modes, true, true), log)
}

#[tokio::test]
async fn updates_precede_the_values_of_their_step() {
    let mut log = Recorded::of(agent(saver(), store()).unwrap());
    log.run(hi(json!({}))).await;
    let frames = stream(&log.log, &[StreamMode::Values, StreamMode::Updates]);
    let step = ["updates", "values"];
    assert_eq!(names(&frames), [&["metadata", "values"][..], &step, &step, &step].concat());
    assert_eq!(frames[0].data, json!({ "run_id": "run-0", "attempt": 1 }));
    assert!(frames.iter().all(|frame| frame.id.is_none()), "the run cannot be resumed");
    let expected = [
        json!({ "messages": ["human:hi"], "log": [] }),
        json!({ "messages": ["human:hi"], "log": ["plan"], "count": 1 }),
        json!({ "messages": ["human:hi", "ai:hello from fake model"], "log": ["plan", "talk"], "count": 1 }),
        json!({ "messages": ["human:hi", "ai:hello from fake model"], "log": ["plan", "talk", "finish"], "count": 1 }),
    ];
    assert_eq!(data(&frames, "values"), expected);
    let expected = [
        json!({ "plan": { "log": ["plan"], "count": 1 } }),
        json!({ "talk": { "messages": ["ai:hello from fake model"], "log": ["talk"] } }),
        json!({ "finish": { "log": ["finish"] } }),
    ];
    assert_eq!(data(&frames, "updates"), expected);
}

#[tokio::test]
async fn a_question_is_told_with_the_state_and_its_answer_continues() {
    let mut log = Recorded::of(agent(saver(), store()).unwrap());
    log.run(hi(json!({ "ask": true }))).await;
    let answered = log.answer(&json!("yes")).await;
    let asked = stream(&log.log[..answered], &[StreamMode::Values, StreamMode::Updates]);
    let question = json!({ "question": "approve?", "count": 1 });
    assert_eq!(names(&asked)[asked.len() - 2..], ["updates", "values"]);
    let [update, values] = [2, 1].map(|back| &asked[asked.len() - back].data);
    assert_eq!(update["__interrupt__"][0]["value"], question);
    assert_eq!(values["__interrupt__"], update["__interrupt__"]);
    assert_eq!(values["log"], json!(["plan", "talk"]));
    // A client that streams something else gets the question all the same.
    let custom = stream(&log.log[..answered], &[StreamMode::Custom]);
    assert_eq!(names(&custom), ["metadata", "custom", "values"]);
    let resumed = stream(&log.log[answered..], &[StreamMode::Values, StreamMode::Updates]);
    assert_eq!(names(&resumed), ["metadata", "values", "updates", "values", "updates", "values"]);
    assert_eq!(resumed[2].data, json!({ "approve": { "log": ["approved:yes"] } }));
}

#[tokio::test]
async fn a_failure_ends_the_stream_with_an_error() {
    let mut log = Recorded::of(agent(saver(), store()).unwrap());
    log.run(hi(json!({ "fail": true }))).await;
    let frames = stream(&log.log, &[StreamMode::Updates, StreamMode::Tasks]);
    assert_eq!(names(&frames).last(), Some(&"error"));
    let tasks = data(&frames, "tasks");
    assert_eq!(tasks.last().unwrap()["error"], "boom: deliberate failure");
}

#[tokio::test]
async fn subgraphs_have_their_namespace_and_recorded_results_are_cached() {
    let mut log = Recorded::of(fanout(saver(), store()).unwrap());
    log.run(json!({ "items": ["a", "b"] })).await;
    let answered = log.answer(&json!("yes")).await;
    let frames = with_subgraphs(&log.log[..answered], &[StreamMode::Values, StreamMode::Updates]);
    let below: Vec<&str> =
        names(&frames).into_iter().filter(|name| name.starts_with("updates|worker:")).collect();
    assert_eq!(below.len(), 4, "two nodes of two subgraphs, the last of which asks: {below:?}");
    assert!(below.iter().all(|name| name.len() == "updates|worker:".len() + 36), "a task is a UUID");
    let resumed = stream(&log.log[answered..], &[StreamMode::Updates]);
    assert_eq!(
        resumed[1].data,
        json!({ "worker": { "out": ["w1:a", "w2:a"] }, "__metadata__": { "cached": true } })
    );
    assert!(names(&resumed).iter().all(|name| !name.contains('|')), "without subgraphs");
    let tasks = stream(&log.log[..answered], &[StreamMode::Tasks]);
    let paused =
        data(&tasks, "tasks").into_iter().find(|task| task["interrupts"][0]["value"] == "check b").unwrap();
    assert_eq!(paused["name"], "worker");
    let started = data(&tasks, "tasks");
    assert!(
        started
            .iter()
            .any(|task| task["input"] == json!({ "item": "b" })
                && task["triggers"] == json!(["__pregel_push"]))
    );
}

#[tokio::test]
async fn chunks_updates_and_values_name_a_message_alike() {
    let mut log = Recorded::of(tooly(saver(), store()).unwrap());
    log.run(hi(json!({}))).await;
    let frames = stream(&log.log, &[StreamMode::MessagesTuple, StreamMode::Values, StreamMode::Updates]);
    let told =
        frames.iter().filter(|frame| frame.event == "messages").map(|frame| frame.data[0]["id"].clone());
    let mut told: Vec<Value> = told.collect();
    told.dedup();
    let last = frames.iter().rfind(|frame| frame.event == "values").unwrap();
    let stored: Vec<Value> =
        last.data["messages"].as_array().unwrap().iter().map(|message| message["id"].clone()).collect();
    assert_eq!(told, stored[1..], "all but the message of the input");
    let updated = frames.iter().filter(|frame| frame.event == "updates").map(|frame| {
        let node = frame.data.as_object().unwrap().values().next().unwrap();
        node["messages"][0]["id"].clone()
    });
    assert_eq!(updated.collect::<Vec<_>>(), stored[1..]);
    let metadata = &frames.iter().find(|frame| frame.event == "messages").unwrap().data[1];
    let expected = [
        ("langgraph_node", json!("model")),
        ("langgraph_step", json!(1)),
        ("langgraph_triggers", json!(["branch:to:model"])),
        ("langgraph_path", json!(["__pregel_pull", "model"])),
        ("ls_model_name", json!("script-1")),
        ("thread_id", json!("t")),
        ("graph_id", json!("tooly")),
    ];
    for (name, value) in expected {
        assert_eq!(metadata[name], value, "{name}");
    }
}

#[tokio::test]
async fn partial_messages_grow_and_complete_ones_come_at_once() {
    let mut log = Recorded::of(tooly(saver(), store()).unwrap());
    log.run(hi(json!({}))).await;
    let frames = stream(&log.log, &[StreamMode::Messages]);
    let order: Vec<&str> = names(&frames);
    assert_eq!(order.iter().filter(|name| **name == "messages/metadata").count(), 3);
    assert_eq!(data(&frames, "messages/complete"), [json!(["tool:5"])]);
    let partial = data(&frames, "messages/partial");
    assert_eq!(partial.last().unwrap(), &json!(["ai:the sum is 5"]));
    let whole = frames.iter().rfind(|frame| frame.event == "messages/partial").unwrap();
    assert_eq!(whole.data[0]["usage_metadata"]["total_tokens"], 24);
}

#[tokio::test]
async fn chains_models_and_tools_are_nested() {
    let mut log = Recorded::of(tooly(saver(), store()).unwrap());
    log.run(hi(json!({}))).await;
    let frames = stream(&log.log, &[StreamMode::Events]);
    let events: Vec<(&str, &str, usize)> = frames[1..]
        .iter()
        .map(|frame| {
            let text = |name: &str| frame.data[name].as_str().unwrap();
            (text("event"), text("name"), frame.data["parent_ids"].as_array().unwrap().len())
        })
        .filter(|(event, ..)| *event != "on_chat_model_stream")
        .collect();
    let model = vec![
        ("on_chain_start", "model", 1),
        ("on_chat_model_start", "script-1", 2),
        ("on_chat_model_end", "script-1", 2),
        ("on_chain_stream", "model", 1),
        ("on_chain_end", "model", 1),
    ];
    let tools = vec![
        ("on_chain_start", "tools", 1),
        ("on_tool_start", "add", 2),
        ("on_tool_end", "add", 2),
        ("on_chain_stream", "tools", 1),
        ("on_chain_end", "tools", 1),
    ];
    let expected = [
        vec![("on_chain_start", "tooly", 0)],
        model.clone(),
        tools,
        model,
        vec![("on_chain_end", "tooly", 0)],
    ];
    assert_eq!(events, expected.concat());
    let called = frames.iter().find(|frame| frame.data["event"] == "on_tool_end").unwrap();
    let output = &called.data["data"]["output"];
    assert_eq!((&output["tool_call_id"], &output["content"]), (&json!("call_1"), &json!("5")));
}

#[tokio::test]
async fn a_model_that_says_no_end_ends_with_its_task() {
    let mut log = Recorded::of(agent(saver(), store()).unwrap());
    log.run(hi(json!({}))).await;
    let frames = stream(&log.log, &[StreamMode::Events]);
    let mut ends = frames.iter().filter(|frame| frame.data["event"] == "on_chat_model_end");
    assert_eq!(ends.next().unwrap().data["data"]["output"]["content"], "hello from fake model");
    assert!(ends.next().is_none());
}

#[tokio::test]
async fn the_stream_of_a_thread_has_the_modes_of_each_run() {
    let mut log = Recorded::of(agent(saver(), store()).unwrap());
    log.run(hi(json!({}))).await;
    let second = log.run(hi(json!({}))).await;
    let Logged::Begun { modes, .. } = &mut log.log[second].0.what else { panic!("a run begins") };
    *modes = vec![StreamMode::Custom];
    let of_runs = frames(&mut Legacy::of_thread(None), &log.log);
    let run = ["metadata", "values", "values", "values", "values", "metadata"];
    assert_eq!(names(&of_runs), [&run[..], &["metadata", "custom", "metadata"]].concat());
    assert_eq!(names(&frames(&mut Legacy::of_thread(Some(&[])), &log.log)), ["metadata"; 4]);
}

#[tokio::test]
async fn checkpoints_name_their_parents() {
    let mut log = Recorded::of(agent(saver(), store()).unwrap());
    log.run(hi(json!({}))).await;
    let frames = stream(&log.log, &[StreamMode::Checkpoints, StreamMode::Debug]);
    let stored = data(&frames, "checkpoints");
    assert_eq!(stored.len(), 5);
    assert_eq!(stored[0]["metadata"], json!({ "source": "input", "step": -1, "parents": {} }));
    let id = |checkpoint: &Value| checkpoint["config"]["configurable"]["checkpoint_id"].clone();
    for (parent, child) in stored.iter().zip(&stored[1..]) {
        assert_eq!(child["parent_config"]["configurable"]["checkpoint_id"], id(parent));
    }
    let debug = data(&frames, "debug");
    let kinds: Vec<&str> = debug.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds[1..5], ["checkpoint", "task", "task_result", "checkpoint"]);
}

/// Returns logs of all kinds of runs.
async fn logs() -> Vec<Vec<(LogEntry, Option<CheckpointView>)>> {
    let mut logs = Vec::new();
    for more in [json!({}), json!({ "ask": true }), json!({ "fail": true })] {
        let mut log = Recorded::of(agent(saver(), store()).unwrap());
        log.run(hi(more.clone())).await;
        if more["ask"] == true {
            log.answer(&json!("yes")).await;
        }
        logs.push(log.log);
    }
    let mut log = Recorded::of(fanout(saver(), store()).unwrap());
    log.run(json!({ "items": ["a", "b"] })).await;
    log.answer(&json!("yes")).await;
    logs.push(log.log);
    let mut log = Recorded::of(tooly(saver(), store()).unwrap());
    log.run(hi(json!({}))).await;
    logs.push(log.log);
    logs
}

fn modes() -> impl Strategy<Value = Vec<StreamMode>> {
    let all: Vec<StreamMode> = StreamMode::ALL.iter().map(|(_, mode)| *mode).collect();
    subsequence(all, 1..=StreamMode::ALL.len())
}

#[tokio::test]
async fn a_client_that_comes_back_gets_the_frames_that_it_missed() {
    let logs = logs().await;
    let input = (any::<Index>(), modes(), any::<bool>(), any::<Index>());
    let mut runner = TestRunner::new(Config::with_cases(200));
    let result = runner.run(&input, |(log, modes, subgraphs, cut)| {
        let log = log.get(&logs);
        let all = frames(&mut Legacy::of_run(&modes, subgraphs, true), log);
        let ids: Vec<usize> = (0..all.len()).filter(|at| all[*at].id.is_some()).collect();
        let cut = *cut.get(&ids);
        let seen = all[cut].id.as_deref().and_then(|id| id.split('-').nth(1)).unwrap().parse().unwrap();
        let rest = frames(&mut Legacy::of_run(&modes, subgraphs, true).after(seen), log);
        prop_assert_eq!(&rest[..], &all[cut + 1..]);
        Ok(())
    });
    result.unwrap();
}

#[tokio::test]
async fn any_sequence_of_events_gives_valid_frames() {
    let all: Vec<(LogEntry, Option<CheckpointView>)> = logs().await.concat();
    let known: Vec<&str> = StreamMode::ALL.iter().map(|(name, _)| *name).collect();
    let order = proptest::collection::vec((any::<Index>(), any::<bool>()), 0..60);
    let mut runner = TestRunner::new(Config::with_cases(300));
    let result = runner.run(&(order, modes(), any::<bool>()), |(order, modes, subgraphs)| {
        let pick = |(at, has_view): &(Index, bool)| {
            let (entry, view) = at.get(&all);
            (entry.clone(), view.clone().filter(|_| *has_view))
        };
        let log: Vec<_> = order.iter().map(pick).collect();
        for frame in frames(&mut Legacy::of_run(&modes, subgraphs, true), &log) {
            let name = frame.event.split(['|', '/']).next().unwrap_or_default();
            prop_assert!(known.contains(&name) || ["metadata", "error"].contains(&name), "{}", frame.event);
            prop_assert!(!frame.event.contains(['\n', '\r']), "a name is one line");
            prop_assert!(
                frame.data.is_object() || frame.data.is_array() || name == "custom",
                "{}",
                frame.data
            );
            let shape = |id: &str| {
                id.split_once('-')
                    .is_some_and(|(ms, seq)| ms.parse::<u64>().is_ok() && seq.parse::<u64>().is_ok())
            };
            prop_assert!(frame.id.as_deref().is_none_or(shape));
        }
        Ok(())
    });
    result.unwrap();
}
