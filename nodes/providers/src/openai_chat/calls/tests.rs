use serde_json::json;
use superstep_nodes::message::ToolCall;
use superstep_nodes::model::{Accumulator, StopReason};

use super::*;

/// The events of some deltas.
fn events(deltas: &[Value]) -> Vec<ModelEvent> {
    let (mut calls, mut said) = (Calls::default(), Vec::new());
    for delta in deltas {
        calls.go_on(delta, &mut said).unwrap();
    }
    calls.finish(false, &mut said);
    said
}

/// The calls that some deltas come to, each as its id, its name and its input.
fn calls(deltas: &[Value]) -> Vec<(String, String, Value)> {
    let mut reply = Accumulator::new("m");
    events(deltas).into_iter().for_each(|event| reply.push(event).unwrap());
    reply.push(ModelEvent::Stop { reason: StopReason::ToolUse }).unwrap();
    let reply = reply.finish().unwrap();
    reply.tool_calls.into_iter().map(|ToolCall { id, name, input }| (id, name, input)).collect()
}

fn called(id: &str, name: &str, input: Value) -> (String, String, Value) {
    (id.into(), name.into(), input)
}

fn delta(index: Option<u64>, id: &str, name: &str, arguments: &str) -> Value {
    let mut delta = json!({ "function": { "arguments": arguments } });
    for (member, text) in [("id", id), ("name", name)] {
        let place = if member == "id" { &mut delta } else { &mut delta["function"] };
        if !text.is_empty() {
            place[member] = text.into();
        }
    }
    if let Some(index) = index {
        delta["index"] = index.into();
    }
    delta
}

/// Returns the calls that had ended after each delta.
fn ended(deltas: &[Value]) -> Vec<Vec<u32>> {
    let (mut calls, mut said) = (Calls::default(), Vec::new());
    let ends = |said: &[ModelEvent]| {
        let end = |event: &ModelEvent| match event {
            ModelEvent::ToolCallEnd { index } => Some(*index),
            _ => None,
        };
        said.iter().filter_map(end).collect()
    };
    let after = deltas.iter().map(|delta| {
        calls.go_on(delta, &mut said).unwrap();
        ends(&said)
    });
    after.collect()
}

#[test]
fn a_call_ends_when_its_input_is_closed_and_another_has_begun() {
    let deltas = [
        delta(Some(0), "a", "x", ""),
        delta(Some(0), "", "", "{\"n\": {}}"),
        delta(Some(1), "b", "y", ""),
        delta(Some(1), "", "", "{}"),
    ];
    assert_eq!(ended(&deltas), [vec![], vec![], vec![0], vec![0]]);
}

#[test]
fn a_call_that_is_open_when_another_begins_ends_as_soon_as_it_is_closed() {
    let deltas = [
        delta(Some(0), "a", "x", "{\"n\":"),
        delta(Some(1), "b", "y", ""),
        delta(Some(0), "", "", "1"),
        delta(Some(0), "", "", "}"),
    ];
    assert_eq!(ended(&deltas), [vec![], vec![], vec![], vec![0]]);
    assert_eq!(calls(&deltas), [called("a", "x", json!({ "n": 1 })), called("b", "y", json!({}))]);
}

#[test]
fn more_of_a_call_that_has_ended_is_refused_unless_it_is_nothing() {
    let mut all = Calls::default();
    let mut said = Vec::new();
    for delta in [delta(Some(0), "a", "x", "{}"), delta(Some(1), "b", "y", ""), delta(Some(0), "", "", " ")] {
        all.go_on(&delta, &mut said).unwrap();
    }
    let refused = all.go_on(&delta(Some(0), "", "", "{}"), &mut said);
    assert!(matches!(refused, Err(Unreadable::Malformed(_))), "{refused:?}");
}

#[test]
fn a_reply_that_is_cut_off_ends_only_the_calls_that_are_closed() {
    let (mut calls, mut said) = (Calls::default(), Vec::new());
    for delta in [delta(Some(0), "a", "x", "{}"), delta(Some(1), "b", "y", "")] {
        calls.go_on(&delta, &mut said).unwrap();
    }
    calls.finish(true, &mut said);
    assert_eq!(said.last(), Some(&ModelEvent::ToolCallEnd { index: 0 }));
}

#[test]
fn calls_without_an_index_are_distinguished_by_their_ids() {
    let deltas = [
        delta(None, "a", "x", "{\"n\":"),
        delta(None, "", "", "1}"),
        delta(None, "b", "x", "{\"n\":"),
        delta(None, "b", "x", "2}"),
    ];
    assert_eq!(calls(&deltas), [called("a", "x", json!({ "n": 1 })), called("b", "x", json!({ "n": 2 }))]);
}

#[test]
fn calls_without_an_index_and_an_id_are_distinguished_by_their_names() {
    let deltas = [
        delta(None, "", "x", "{\"n\":"),
        delta(None, "", "x", "1}"),
        delta(None, "", "x", "{\"n\":2}"),
        delta(None, "", "y", ""),
    ];
    let expected =
        [called("", "x", json!({ "n": 1 })), called("", "x", json!({ "n": 2 })), called("", "y", json!({}))];
    assert_eq!(calls(&deltas), expected);
}

#[test]
fn calls_that_all_have_one_index_are_distinguished() {
    let by_id =
        [delta(Some(0), "a", "x", "{}"), delta(Some(0), "b", "x", "{\"n\":"), delta(Some(0), "", "", "1}")];
    assert_eq!(calls(&by_id), [called("a", "x", json!({})), called("b", "x", json!({ "n": 1 }))]);
    let by_name = [delta(Some(0), "", "x", "{\"n\":1}"), delta(Some(0), "", "x", "{\"n\":2}")];
    assert_eq!(calls(&by_name), [called("", "x", json!({ "n": 1 })), called("", "x", json!({ "n": 2 }))]);
}

#[test]
fn a_name_may_come_after_the_input_and_an_input_need_be_no_text() {
    let late = [delta(Some(0), "a", "", "{\"n\":"), delta(Some(0), "", "x", "1}")];
    assert_eq!(calls(&late), [called("a", "x", json!({ "n": 1 }))]);
    let whole = json!({ "id": "a", "function": { "name": "x", "arguments": { "n": 1 } } });
    assert_eq!(calls(&[whole]), [called("a", "x", json!({ "n": 1 }))]);
}
