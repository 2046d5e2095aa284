use std::sync::atomic::{AtomicU32, Ordering};

use serde::Deserialize;
use serde_json::json;
use superstep_core::checkpoint::MemorySaver;
use superstep_core::graph::{END, START, StateGraph, to};
use superstep_core::reducer::{KeyedLog, Sum};
use superstep_core::run::Graph;

use super::*;
use crate::compaction::ContextManager;
use crate::message::{MessageLog, ToolCall, ToolStatus};
use crate::model::{Ledger, ModelError, Scripted, StopReason, Turn};
use crate::node::ModelChunk;
use crate::tool::TypedTool;

#[derive(State, Clone, Debug, Default)]
struct Chat {
    #[reducer(KeyedLog)]
    messages: MessageLog,
    #[reducer(KeyedLog)]
    compactions: Vec<Compaction>,
    #[reducer(Sum)]
    ledger: Ledger,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Page {
    number: u32,
}

/// A tool that reads long pages, and how often it was called.
fn pages() -> (ToolRegistry, Arc<AtomicU32>) {
    let read = Arc::new(AtomicU32::new(0));
    let reads = Arc::clone(&read);
    let tool = TypedTool::new("page", "Reads a page.", move |Page { number }| {
        reads.fetch_add(1, Ordering::Relaxed);
        async move { Ok::<_, std::convert::Infallible>(format!("Page {number}. {}", "word ".repeat(80))) }
    });
    (ToolRegistry::new().with(tool).unwrap(), read)
}

/// Asks for pages; all calls have the same id.
fn asks(pages: std::ops::Range<u32>) -> Turn {
    Turn::Call(pages.map(|number| ToolCall::new("c", "page", json!({ "number": number }))).collect())
}

fn graph(node: UseTools<Chat>) -> Graph<Chat> {
    let mut graph = StateGraph::<Chat>::new("reading");
    let tools = graph.node("use_tools", node.count(Chat::LEDGER));
    graph.edge(START, tools);
    graph.route(tools, move |next| match next {
        UseToolsNext::Done => END,
        UseToolsNext::Again => to(tools),
    });
    graph.compile().unwrap().checkpointer(MemorySaver::new())
}

fn question() -> ChatUpdate {
    Chat::update().messages([Message::human("q", "What do the pages say?")])
}

fn ids(state: &Chat) -> Vec<&str> {
    state.messages.iter().map(|message| message.id().as_str()).collect()
}

fn node(model: &Arc<Scripted>, tools: &ToolRegistry) -> UseTools<Chat> {
    UseTools::new(Arc::clone(model) as _, tools.clone(), Chat::MESSAGES)
}

#[tokio::test]
async fn s0_026_tools_run_until_the_model_asks_for_none() {
    let (tools, read) = pages();
    let model = Arc::new(Scripted::new().then(asks(1..3)).then(asks(3..4)).say("Words."));
    let state = graph(node(&model, &tools)).run(question()).await.unwrap().finished().unwrap();
    let expected = [
        "q",
        "use_tools.1.1",
        "use_tools.1.1.0",
        "use_tools.1.1.1",
        "use_tools.1.2",
        "use_tools.1.2.0",
        "use_tools.1.3",
    ];
    assert_eq!(ids(&state), expected);
    assert_eq!(state.messages.last().unwrap().text(), "Words.");
    assert_eq!((read.load(Ordering::Relaxed), state.ledger.total().calls), (3, 3));
    assert_eq!(model.requests()[2].messages.len(), 6);
}

#[tokio::test]
async fn the_pieces_of_each_call_name_the_message_that_it_becomes() {
    let (tools, _) = pages();
    let model = Arc::new(Scripted::new().then(asks(1..2)).then(asks(2..3)).say("Words."));
    let mut run = graph(node(&model, &tools)).run(question()).stream();
    let mut seen: Vec<String> = Vec::new();
    while let Some(event) = run.next().await {
        if let Some(chunk) = ModelChunk::of(&event)
            && seen.last().is_none_or(|last| last != chunk.message.as_str())
        {
            seen.push(chunk.message.to_string());
        }
    }
    assert_eq!(seen, ["use_tools.1.1", "use_tools.1.2", "use_tools.1.3"]);
    let state = run.finish().await.unwrap().finished().unwrap();
    assert!(seen.iter().all(|id| ids(&state).contains(&id.as_str())));
}

#[tokio::test]
async fn after_the_last_round_there_is_no_response_yet_and_no_open_call() {
    let (tools, _) = pages();
    let model = Arc::new(Scripted::new().then(asks(1..2)).then(asks(2..3)).say("Never asked for."));
    let node = node(&model, &tools).rounds(NonZeroU32::new(2).unwrap());
    let state = graph(node).run(question()).await.unwrap().finished().unwrap();
    assert_eq!(ids(&state).last(), Some(&"use_tools.1.2.0"));
    assert_eq!(model.remaining(), 1);
}

fn gone() -> ModelError {
    ModelError::Unauthorized { reason: "expired".into() }
}

#[tokio::test]
async fn a_turn_that_failed_between_tools_has_what_they_did_and_continues_with_them() {
    let (tools, read) = pages();
    let model =
        Arc::new(Scripted::new().then(asks(1..2)).fail(gone()).fail(gone()).then(asks(2..3)).say("Words."));
    let graph = graph(node(&model, &tools).rounds(NonZeroU32::new(2).unwrap()));
    graph.thread("t").run(question()).await.unwrap_err();
    let left = graph.thread("t").state().await.unwrap().values;
    assert_eq!(ids(&left), ["q", "use_tools.1.1", "use_tools.1.1.0"]);
    assert_eq!(left.ledger.total().calls, 1, "what was paid is counted");

    // Of two rounds one is left.
    let state = graph.thread("t").resume().await.unwrap().finished().unwrap();
    assert_eq!(ids(&state)[3..], ["use_tools.2.1", "use_tools.2.1.0"]);
    assert_eq!((read.load(Ordering::Relaxed), model.remaining()), (2, 1));
}

#[tokio::test]
async fn who_asks_something_new_after_a_failure_is_not_given_the_work_again() {
    let (tools, read) = pages();
    let model = Arc::new(Scripted::new().then(asks(1..2)).fail(gone()).fail(gone()).say("It is read."));
    let graph = graph(node(&model, &tools));
    graph.thread("t").run(question()).await.unwrap_err();
    let next = Chat::update().messages([Message::human("q2", "Did you read it?")]);
    graph.thread("t").run(next).await.unwrap().finished().unwrap();
    let shown = model.requests().pop().unwrap().messages;
    assert!(shown.iter().any(|message| message.text().starts_with("Page 1. ")), "{shown:?}");
    assert_eq!(read.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn another_attempt_neither_asks_nor_runs_again_what_is_done() {
    let (tools, read) = pages();
    let busy = ModelError::Overloaded { reason: "busy".into(), retry_after: None };
    let model = Arc::new(Scripted::new().then(asks(1..2)).fail(busy).say("Words."));
    let mut graph = StateGraph::<Chat>::new("reading");
    let tools = graph.node("use_tools", node(&model, &tools));
    graph.policy(tools).retry(superstep_core::node::Retry::exponential(2));
    graph.edge(START, tools);
    graph.route(tools, |_| END);
    let graph = graph.compile().unwrap().checkpointer(MemorySaver::new());
    let state = graph.run(question()).await.unwrap().finished().unwrap();
    assert_eq!(ids(&state), ["q", "use_tools.1.1", "use_tools.1.1.0", "use_tools.1.2"]);
    assert_eq!((read.load(Ordering::Relaxed), model.requests().len()), (1, 3));
}

#[tokio::test]
async fn a_reply_that_is_blank_or_cut_off_is_no_response() {
    let (tools, _) = pages();
    let mut cut = crate::model::ModelReply::new("m", "The pages sa");
    cut.stop = StopReason::MaxTokens;
    for reply in [Turn::Say(" ".to_owned()), Turn::Reply(cut)] {
        let model = Arc::new(Scripted::new().then(asks(1..2)).then(reply));
        let state = graph(node(&model, &tools)).run(question()).await.unwrap().finished().unwrap();
        assert_eq!(ids(&state), ["q", "use_tools.1.1", "use_tools.1.1.0"]);
        assert_eq!(state.ledger.total().calls, 2);
    }
}

#[tokio::test]
async fn calls_of_a_reply_that_was_cut_off_are_answered_and_not_run() {
    let (tools, read) = pages();
    let call = ToolCall::new("c", "page", json!({ "number": 1 }));
    let mut cut = crate::model::ModelReply::new("m", "").with_calls(vec![call]);
    cut.stop = StopReason::MaxTokens;
    let model = Arc::new(Scripted::new().then(Turn::Reply(cut)).say("Words."));
    let state = graph(node(&model, &tools)).run(question()).await.unwrap().finished().unwrap();
    let Message::Tool(answer) = &state.messages[2] else { panic!("{:?}", state.messages) };
    assert_eq!(answer.status, ToolStatus::Error);
    assert_eq!((read.load(Ordering::Relaxed), state.messages.len()), (0, 4));
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_an_earlier_attempt_was_given_stands_for_nothing_else() {
    let (tools, _) = pages();
    let busy = ModelError::Overloaded { reason: "busy".into(), retry_after: None };
    let gone = ModelError::OutOfCredit { reason: "0.00".into() };
    let model = (1..=14).fold(Scripted::new(), |model, page| model.then(asks(page..page + 1)));
    // The first summary fails, the second stands on it, and then the node is tried again.
    let summaries = [Turn::Fail(gone), "B without A".into(), "A".into(), "B after A".into()];
    let model = Arc::new(model.fail(busy).say("Words.").on(crate::model::Purpose::Summarizer, summaries));
    let manager = ContextManager::new().threshold(600).target(300).recent(2);
    let compact = Compact::new(Arc::clone(&model) as _, manager, Chat::MESSAGES, Chat::COMPACTIONS);
    let node = node(&model, &tools).rounds(NonZeroU32::new(20).unwrap());
    let mut graph = StateGraph::<Chat>::new("reading");
    let tools = graph.node("use_tools", node.compacted(compact));
    graph.policy(tools).retry(superstep_core::node::Retry::exponential(2));
    graph.edge(START, tools);
    graph.route(tools, move |next| match next {
        UseToolsNext::Done => END,
        UseToolsNext::Again => to(tools),
    });
    let graph = graph.compile().unwrap().checkpointer(MemorySaver::new());
    let state = graph.run(question()).await.unwrap().finished().unwrap();
    let summaries: Vec<_> = state.compactions.iter().map(|made| made.summary.as_str()).collect();
    assert_eq!(summaries, ["A", "B after A"]);
}

#[tokio::test]
async fn what_becomes_too_long_between_rounds_is_compacted() {
    let (tools, _) = pages();
    let model = (1..=9).fold(Scripted::new(), |model, page| model.then(asks(page..page + 1))).say("Words.");
    let model = Arc::new(model.on(crate::model::Purpose::Summarizer, ["Pages of words."; 9]));
    let manager = ContextManager::new().threshold(400).target(200).recent(2);
    let compact = Compact::new(Arc::clone(&model) as _, manager, Chat::MESSAGES, Chat::COMPACTIONS);
    let node = node(&model, &tools).rounds(NonZeroU32::new(12).unwrap());
    let graph = graph(node.compacted(compact));
    let state = graph.run(question()).await.unwrap().finished().unwrap();
    assert_eq!(state.messages.last().unwrap().text(), "Words.");
    assert!(state.compactions.len() >= 2, "{:?}", state.compactions);
    assert_eq!(state.messages.len(), 20, "nothing is lost");
    let last = model.requests().pop().unwrap();
    let shown: Vec<_> =
        last.messages.iter().map(|message| message.text().chars().take(10).collect::<String>()).collect();
    assert!(shown.len() < 10, "{shown:?}");
}
