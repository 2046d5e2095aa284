//! Generated runs, as both kinds of streams tell them: their events fold to the same messages and the same state.

use std::path::Path;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep_core::error::NodeError;
use superstep_core::graph::{END, START, StateGraph, to};
use superstep_core::node::{Ask, Emit, Snapshot};
use superstep_core::reducer::KeyedLog;
use superstep_core::run::AnyGraph;
use superstep_core::state::Update;
use superstep_macros::{Route, State};
use superstep_nodes::message::{Message, ToolCall};
use superstep_nodes::model::{ModelEvent, Purpose, StopReason};
use superstep_nodes::node::ModelChunk;

use super::ALL;
use crate::api::sse;
use crate::legacy::Legacy;
use crate::legacy::recorded::{Recorded, frames, saver};
use crate::log::Frame;
use crate::protocol::{EventFilter, Protocol};
use crate::wire::request::StreamMode;
use crate::wire::state;

/// The variable with the folder in which the streams are kept for the parsers of the clients: `.ci/run clients`.
const STREAMS: &str = "SUPERSTEP_STREAMS";

/// A superstep of a generated run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
enum Step {
    /// A reply that arrives in pieces, with a tool call for each list of pieces of its input.
    Reply { texts: Vec<String>, calls: Vec<Vec<String>>, says_stop: bool },
    /// A message that comes at once.
    Message(String),
    /// An event of the node.
    Tell,
    /// A question.
    Ask,
    /// A failure, which ends the run.
    Fail,
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(crate = superstep_core)]
struct Play {
    #[reducer(KeyedLog)]
    messages: Vec<Message>,
    steps: Vec<Step>,
    at: usize,
}

#[derive(Route, Serialize, Deserialize)]
#[route(crate = superstep_core)]
enum Next {
    Again,
    Done,
}

fn play() -> AnyGraph {
    let mut g = StateGraph::<Play>::new("play");
    let act = g.node("act", act);
    g.edge(START, act);
    g.route(act, move |next| match next {
        Next::Again => to(act),
        Next::Done => END,
    });
    g.compile().unwrap().shared_checkpointer(saver() as Arc<_>).erased()
}

async fn act(
    state: Snapshot<Play>,
    emit: Emit,
    human: Ask<String, Value>,
) -> Result<(Update<Play>, Next), NodeError> {
    let id = format!("m-{}", state.at);
    let at = state.at + 1;
    let next = if at < state.steps.len() { Next::Again } else { Next::Done };
    let mut update = Play::update().at(at);
    match &state.steps[state.at] {
        Step::Reply { texts, calls, says_stop } => {
            update = update.messages([reply(&emit, &id, texts, calls, *says_stop)]);
        }
        Step::Message(text) => update = update.messages([Message::ai(id.as_str(), text.as_str())]),
        Step::Tell => emit.emit("progress", &at),
        Step::Ask => {
            update =
                update.messages([Message::human(id.as_str(), human.ask("?".to_owned()).await.to_string())])
        }
        Step::Fail => return Err(NodeError::terminal("it fails")),
    }
    Ok((update, next))
}

/// Sends a reply in pieces, and returns it.
fn reply(emit: &Emit, id: &str, texts: &[String], calls: &[Vec<String>], says_stop: bool) -> Message {
    let say = |event| emit.message(&ModelChunk { message: id.into(), purpose: Purpose::Agent, event });
    for text in texts {
        say(ModelEvent::TextDelta { text: text.clone() });
    }
    let mut made = Vec::new();
    for (index, words) in (0_u32..).zip(calls) {
        let call = format!("call-{id}-{index}");
        say(ModelEvent::ToolCallStart { index, id: call.clone(), name: "look".to_owned() });
        let input = json!({ "words": words });
        let text = input.to_string();
        let (first, second) = text.split_at(text.len() / 2);
        for json in [first, second] {
            say(ModelEvent::ToolCallInput { index, json: json.to_owned() });
        }
        say(ModelEvent::ToolCallEnd { index });
        made.push(ToolCall::new(call, "look", input));
    }
    if says_stop {
        say(ModelEvent::Stop { reason: StopReason::EndTurn });
    }
    Message::ai_with_calls(id, texts.concat(), made)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let words = || vec("[a-z]{1,6} ?", 1..4);
    let reply = (words(), vec(words(), 0..3), any::<bool>());
    let step = prop_oneof![
        4 => reply.prop_map(|(texts, calls, says_stop)| Step::Reply { texts, calls, says_stop }),
        2 => "[a-z]{1,8}".prop_map(Step::Message),
        1 => Just(Step::Tell),
        1 => Just(Step::Ask),
    ];
    (vec(step, 1..7), prop::bool::weighted(0.2)).prop_map(|(mut steps, fails)| {
        steps.extend(fails.then_some(Step::Fail));
        steps
    })
}

/// A message as a client has it: its id, its text and its tool calls.
type Told = (String, String, Vec<Value>);

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        blocks => {
            blocks.as_array().into_iter().flatten().filter_map(|block| block["text"].as_str()).collect()
        }
    }
}

fn call(call: &Value) -> Value {
    json!([call["id"], call["name"], call["args"]])
}

fn told(message: &Value) -> Told {
    let calls = message["tool_calls"].as_array().into_iter().flatten().map(call).collect();
    (message["id"].as_str().unwrap().to_owned(), text_of(&message["content"]), calls)
}

/// Returns the messages of a state but that of the input, and its other values.
fn of_state(values: &Value) -> (Vec<Told>, Value) {
    let messages = values["messages"].as_array().unwrap().iter().map(told).filter(|(id, ..)| id != "input");
    (messages.collect(), json!([values["steps"], values["at"]]))
}

/// Folds a stream of the older format, as its clients do.
fn folded_legacy(frames: &[Frame]) -> (Vec<Told>, Value) {
    let (mut messages, mut state): (Vec<Told>, _) = (Vec::new(), Value::Null);
    for frame in frames {
        match frame.event.as_str() {
            "values" => state = frame.data.clone(),
            "messages" if frame.data[0]["type"] == "AIMessageChunk" => {
                let chunk = &frame.data[0];
                let id = chunk["id"].as_str().unwrap();
                if !messages.iter().any(|(known, ..)| known == id) {
                    messages.push((id.to_owned(), String::new(), Vec::new()));
                }
                let (_, text, calls) = messages.iter_mut().find(|(known, ..)| known == id).unwrap();
                text.push_str(&text_of(&chunk["content"]));
                for part in chunk["tool_call_chunks"].as_array().unwrap() {
                    if !part["id"].is_null() {
                        calls.push(json!([part["id"], part["name"], ""]));
                    }
                    let args = &mut calls.last_mut().unwrap()[2];
                    *args = format!("{}{}", args.as_str().unwrap(), part["args"].as_str().unwrap()).into();
                }
            }
            "messages" => messages.push(told(&frame.data[0])),
            _ => {}
        }
    }
    for (_, _, calls) in &mut messages {
        for call in calls.iter_mut().filter(|call| call[2].is_string()) {
            call[2] = serde_json::from_str(call[2].as_str().unwrap()).unwrap();
        }
    }
    (messages, state)
}

/// Folds a stream of the thread protocol.
fn folded_protocol(frames: &[Frame]) -> (Vec<Told>, Value) {
    let (mut messages, mut state): (Vec<Told>, _) = (Vec::new(), Value::Null);
    let mut grown = String::new();
    for frame in frames {
        let data = &frame.data["params"]["data"];
        match (frame.event.as_str(), data["event"].as_str().unwrap_or_default()) {
            ("values", _) => state = data.clone(),
            ("messages", "message-start") => {
                messages.push((data["id"].as_str().unwrap().to_owned(), String::new(), Vec::new()));
            }
            ("messages", "content-block-start") => grown.clear(),
            ("messages", "content-block-delta") => {
                grown.push_str(data["delta"]["text"].as_str().unwrap_or_default())
            }
            ("messages", "content-block-finish") => {
                let (_, text, calls) = messages.last_mut().unwrap();
                let content = &data["content"];
                match content["type"].as_str() {
                    Some("tool_call") => calls.push(call(content)),
                    _ => {
                        let whole = content["text"].as_str().unwrap();
                        assert!(grown.is_empty() || grown == whole, "the pieces of a block are its text");
                        text.push_str(whole);
                    }
                }
            }
            _ => {}
        }
    }
    (messages, state)
}

/// Writes streams as their clients get them, with the events and messages that are in them.
fn keep(folder: &Path, streams: &[(&str, &[Frame])], messages: &[Told]) {
    let shown = |frames: &[Frame]| {
        let mut text = String::new();
        for frame in frames {
            sse::push(frame, &mut text);
            text.push_str(": heartbeat\n\n");
        }
        let event = |frame: &Frame| json!({ "event": frame.event, "data": frame.data, "id": frame.id });
        json!({ "text": text, "events": frames.iter().map(event).collect::<Vec<_>>() })
    };
    let streams: serde_json::Map<_, _> =
        streams.iter().map(|(name, frames)| ((*name).to_owned(), shown(frames))).collect();
    let number = std::fs::read_dir(folder).unwrap().count();
    let file = folder.join(format!("{number:04}.json"));
    std::fs::write(file, json!({ "streams": streams, "messages": messages }).to_string()).unwrap();
}

async fn check(steps: &[Step]) {
    let mut log = Recorded::of(play());
    let input = json!([{ "type": "human", "id": "input", "content": "hi" }]);
    log.run(json!({ "messages": input, "steps": steps, "at": 0 })).await;
    for _ in steps.iter().filter(|step| **step == Step::Ask) {
        log.answer(&json!("yes")).await;
    }
    let modes = [StreamMode::Values, StreamMode::MessagesTuple, StreamMode::Updates];
    let legacy = frames(&mut Legacy::of_run(&modes, true, true), &log.log);
    let filter = EventFilter::read(&json!({ "channels": ["values", "messages"] })).unwrap();
    let protocol = frames(&mut Protocol::new(filter), &log.log);

    let view = log.thread().head().await.unwrap().whole_view();
    let (stored, rest) = of_state(&state::values_of(&view));
    if let Some(folder) = std::env::var_os(STREAMS) {
        let modes: Vec<StreamMode> = StreamMode::ALL.iter().map(|(_, mode)| *mode).collect();
        let every = frames(&mut Legacy::of_run(&modes, true, true), &log.log);
        let channels = EventFilter::read(&json!({ "channels": ALL })).unwrap();
        let channels = frames(&mut Protocol::new(channels), &log.log);
        let streams =
            [("legacy", &legacy[..]), ("modes", &every), ("protocol", &protocol), ("channels", &channels)];
        keep(Path::new(&folder), &streams, &stored);
    }
    for (messages, values) in [folded_legacy(&legacy), folded_protocol(&protocol)] {
        assert_eq!(messages, stored, "the messages in pieces are those of the state");
        assert_eq!(of_state(&values), (stored.clone(), rest.clone()), "the last state is the stored one");
    }
    let updates = legacy.iter().filter(|frame| frame.event == "updates");
    let updated =
        updates.flat_map(|frame| frame.data["act"]["messages"].as_array().cloned().unwrap_or_default());
    assert_eq!(updated.map(|message| told(&message)).collect::<Vec<_>>(), stored);
    for (_, view) in &log.log {
        if let Some(view) = view {
            let (past, _) = of_state(&state::values_of(view));
            assert_eq!(past[..], stored[..past.len()], "the history has the same messages");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn both_streams_and_the_history_tell_the_same_messages_and_states(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(check(&steps));
    }
}
