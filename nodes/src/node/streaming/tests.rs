use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use superstep_core::checkpoint::MemorySaver;
use superstep_core::graph::{END, START, StateGraph, to};
use superstep_core::node::Retry;
use superstep_core::reducer::KeyedLog;
use superstep_core::run::Graph;
use superstep_core::state::State;
use tokio::time::{Instant, sleep};

use super::*;
use crate::message::{Message, MessageLog};
use crate::model::{ModelError, ModelEvent, StopReason};
use crate::node::{Agent, AgentNext, Tools};
use crate::tool::{Concurrency, ExecutionPolicy, ToolEffect, ToolRegistry, TypedTool};

/// The time that a model takes for one piece.
const PIECE: Duration = Duration::from_millis(60);

#[derive(State, Clone, Default)]
struct Chat {
    #[reducer(KeyedLog)]
    messages: MessageLog,
    visits: u32,
    max_visits: u32,
}

#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
}

/// The events of a stream, and the error after them.
type Said = (Vec<ModelEvent>, Option<ModelError>);

/// A model that takes its time for each piece.
struct Slow(Mutex<VecDeque<Said>>);

impl ChatModel for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    fn stream(&self, _: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let (said, error) = self.0.lock().unwrap().pop_front().expect("the script says what is asked for");
        let pieces = said.into_iter().map(Ok).chain(error.map(Err));
        stream::iter(pieces)
            .then(|piece| async {
                sleep(PIECE).await;
                piece
            })
            .boxed()
    }
}

/// The pieces that ask for a tool.
fn call(index: u32, name: &str, city: &str) -> Vec<ModelEvent> {
    let (first, second) = (r#"{ "city": "#, format!("{city:?} }}"));
    vec![
        ModelEvent::ToolCallStart { index, id: format!("c{index}"), name: name.into() },
        ModelEvent::ToolCallInput { index, json: first.into() },
        ModelEvent::ToolCallInput { index, json: second },
        ModelEvent::ToolCallEnd { index },
    ]
}

fn stop(reason: StopReason) -> Vec<ModelEvent> {
    vec![ModelEvent::Stop { reason }]
}

fn answer() -> Said {
    let text = "It is warm there.".to_owned();
    ([vec![ModelEvent::TextDelta { text }], stop(StopReason::EndTurn)].concat(), None)
}

/// The events, each with the milliseconds since the run began.
#[derive(Clone)]
struct Notes(Arc<Mutex<Vec<(u128, String)>>>, Instant);

impl Notes {
    fn begin() -> Self {
        Self(Arc::default(), Instant::now())
    }

    fn note(&self, what: String) {
        self.0.lock().unwrap().push((self.1.elapsed().as_millis(), what));
    }

    fn all(&self) -> Vec<(u128, String)> {
        self.0.lock().unwrap().clone()
    }
}

/// `weather` looks, `book` changes something and may run twice; both take three pieces' time.
fn tools(notes: &Notes) -> ToolRegistry {
    let run = |name: &'static str| {
        let notes = notes.clone();
        move |City { city }| {
            let notes = notes.clone();
            async move {
                notes.note(format!("{name} {city}"));
                sleep(3 * PIECE).await;
                format!("{name} of {city}")
            }
        }
    };
    let weather =
        TypedTool::new("weather", "Tells the weather.", run("weather")).with_effect(ToolEffect::ReadOnly);
    let book = TypedTool::new("book", "Books a journey.", run("book"));
    let book = book.with_effect(ToolEffect::Idempotent).with_concurrency(Concurrency::Safe);
    ToolRegistry::new().with(weather).unwrap().with(book).unwrap()
}

fn graph(model: Slow, notes: &Notes, streams: bool) -> Graph<Chat> {
    let tools = tools(notes);
    let node = Tools::new(tools.clone(), Chat::MESSAGES).policy(ExecutionPolicy::PARALLEL_SAFE);
    let agent = Agent::new(Arc::new(model), Chat::MESSAGES, Chat::VISITS).limit(Chat::MAX_VISITS);
    let agent = if streams { agent.stream_tools(&node) } else { agent.tools(&tools) };
    let mut g = StateGraph::<Chat>::new("chat");
    let (agent, tools) = (g.node("agent", agent), g.node("tools", node));
    g.policy(agent).retry(Retry::fixed(2, PIECE));
    g.edge(START, agent);
    g.route(agent, move |next| match next {
        AgentNext::RunTools => to(tools),
        AgentNext::Respond => END,
    });
    g.edge(tools, agent);
    g.compile().unwrap().checkpointer(MemorySaver::new())
}

struct PlayedStream {
    messages: Vec<Message>,
    notes: Vec<(u128, String)>,
    took: Duration,
}

/// Plays a turn with this script.
async fn play(streams: bool, max_visits: u32, said: impl IntoIterator<Item = Said>) -> PlayedStream {
    let notes = Notes::begin();
    let graph = graph(Slow(Mutex::new(said.into_iter().collect())), &notes, streams);
    let thread = graph.thread("t");
    let input = Chat::update().messages([Message::human("q", "Where is it warm?")]).max_visits(max_visits);
    let state = thread.run(input).await.unwrap().finished().unwrap();
    let took = notes.1.elapsed();
    let replay = thread.replay().await.unwrap();
    assert!(replay.is_equal(), "{replay:?}");
    PlayedStream { messages: state.messages.to_vec(), notes: notes.all(), took }
}

fn texts(messages: &[Message]) -> Vec<String> {
    messages.iter().map(|message| message.text().into_owned()).collect()
}

/// Two cities, and then something that takes a while to say.
fn two_cities() -> [Said; 2] {
    let text = |text: &str| ModelEvent::TextDelta { text: text.into() };
    let more = ["I ", "ask ", "for ", "both."].map(text).to_vec();
    let said = [call(0, "weather", "Rome"), call(1, "weather", "Oslo"), more, stop(StopReason::ToolUse)];
    [(said.concat(), None), answer()]
}

#[tokio::test(start_paused = true)]
async fn s2_018_a_tool_begins_as_soon_as_its_input_is_complete() {
    let played = play(true, 5, two_cities()).await;
    // Four pieces to each call, and thirteen to the whole reply.
    let expected = [(240, "weather Rome".to_owned()), (480, "weather Oslo".to_owned())];
    assert_eq!(played.notes, expected);
    assert_eq!(texts(&played.messages)[2..4], ["weather of Rome", "weather of Oslo"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_tools_stream_has_the_same_history_in_less_time() {
    let long = |index| call(index, "weather", &format!("city {index}"));
    let said = || [((0..3).flat_map(long).chain(stop(StopReason::ToolUse)).collect(), None), answer()];
    let (streams, waits) = (play(true, 5, said()).await, play(false, 5, said()).await);
    let json = |played: &PlayedStream| -> Vec<_> {
        let without_id = |message: &Message| {
            let mut message = serde_json::to_value(message).unwrap();
            message.as_object_mut().unwrap().remove("id").unwrap();
            message
        };
        played.messages.iter().map(without_id).collect()
    };
    assert_eq!(json(&streams), json(&waits));
    let ids = |played: &PlayedStream| -> Vec<_> {
        let ai = played.messages.iter().filter(|message| matches!(message, Message::Ai(_)));
        ai.map(|message| message.id().clone()).collect()
    };
    assert_eq!(ids(&streams), ids(&waits));
    assert!(streams.took < waits.took, "{:?}, {:?}", streams.took, waits.took);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_changes_something_waits_for_the_reply_and_so_do_those_after_it() {
    let said = [
        call(0, "weather", "Rome"),
        call(1, "book", "Rome"),
        call(2, "weather", "Oslo"),
        stop(StopReason::ToolUse),
    ];
    let played = play(true, 5, [(said.concat(), None), answer()]).await;
    let expected = [(240, "weather Rome"), (780, "book Rome"), (780, "weather Oslo")];
    assert_eq!(played.notes, expected.map(|(at, what)| (at, what.to_owned())));
    assert_eq!(texts(&played.messages)[2..5], ["weather of Rome", "book of Rome", "weather of Oslo"]);
}

#[tokio::test(start_paused = true)]
async fn of_a_reply_that_a_limit_cut_off_is_answered_what_has_run() {
    let broken = vec![
        ModelEvent::ToolCallStart { index: 2, id: "c2".into(), name: "weather".into() },
        ModelEvent::ToolCallInput { index: 2, json: "{ \"city\": \"Be".into() },
        ModelEvent::ToolCallEnd { index: 2 },
    ];
    let said = [call(0, "weather", "Rome"), call(1, "book", "Rome"), broken, stop(StopReason::MaxTokens)];
    let played = play(true, 5, [(said.concat(), None), answer()]).await;
    assert_eq!(played.notes, [(240, "weather Rome".to_owned())]);
    let texts = texts(&played.messages);
    assert_eq!(texts[2], "weather of Rome");
    assert!(texts[3].starts_with("Not run: the reply was cut off"), "{texts:?}");
    assert_eq!(texts.len(), 5);
}

#[tokio::test(start_paused = true)]
async fn of_calls_with_one_id_none_is_taken_for_the_other() {
    let mut book = call(1, "book", "Rome");
    book[0] = ModelEvent::ToolCallStart { index: 1, id: "c0".into(), name: "book".into() };
    let said = [call(0, "weather", "Rome"), book, stop(StopReason::ToolUse)].concat();
    let played = play(true, 5, [(said, None), answer()]).await;
    assert_eq!(texts(&played.messages)[2..4], ["weather of Rome", "book of Rome"]);
}

#[tokio::test(start_paused = true)]
async fn on_the_last_visit_no_tool_begins() {
    let played = play(true, 1, [two_cities()[0].clone()]).await;
    assert!(played.notes.is_empty(), "{:?}", played.notes);
    assert!(texts(&played.messages)[2].starts_with("Not run: the limit"), "{:?}", played.messages);
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_breaks_off_takes_its_tools_along_and_the_next_one_finds_what_they_ended_with() {
    let broken = || Some(crate::model::StreamFault::EndedEarly.into());
    let pause = vec![ModelEvent::TextDelta { text: "Well, ".into() }; 4];
    let first = [call(0, "weather", "Rome"), pause, call(1, "weather", "Oslo")].concat();
    let second = [call(0, "weather", "Rome"), call(1, "weather", "Bern"), stop(StopReason::ToolUse)].concat();
    let played = play(true, 5, [(first, broken()), (second, None), answer()]).await;
    let told: Vec<_> = played.notes.iter().map(|(_, what)| &**what).collect();
    assert_eq!(told, ["weather Rome", "weather Oslo", "weather Bern"]);
    assert_eq!(texts(&played.messages)[2..4], ["weather of Rome", "weather of Bern"]);
}

#[tokio::test]
async fn an_input_that_differs_is_another_call() {
    let one = ToolCall::new("c", "weather", json!({ "city": "Rome" }));
    let other = ToolCall::new("c", "weather", json!({ "city": "Oslo" }));
    assert_eq!(digest(&one), digest(&one.clone()));
    assert_ne!(digest(&one), digest(&other));
}
