use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use superstep_core::checkpoint::MemorySaver;
use superstep_core::graph::{END, START, StateGraph};
use superstep_core::node::{EffectQuestion, OnUnknown};
use superstep_core::reducer::KeyedLog;
use superstep_core::run::{EventKind, Graph, RunEvent};

use super::*;
use crate::message::{MessageLog, ToolCall, ToolMessage, ToolStatus};
use crate::tool::{Concurrency, ToolEffect, ToolEvent, ToolEventKind, TypedTool};

#[derive(State, Clone, Debug, Default)]
struct Chat {
    #[reducer(KeyedLog)]
    messages: MessageLog,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

fn graph(node: Tools<Chat>) -> Graph<Chat> {
    let mut g = StateGraph::<Chat>::new("tools");
    let tools = g.node("tools", node);
    g.edge(START, tools);
    g.edge(tools, END);
    g.compile().unwrap().checkpointer(MemorySaver::new())
}

/// The answers to calls of these tools, on this thread.
async fn answers(graph: &Graph<Chat>, thread: &str, tools: &[&str]) -> Vec<ToolMessage> {
    let calls = tools.iter().enumerate().map(|(id, tool)| ToolCall::new(format!("c{id}"), *tool, json!({})));
    let asked = Message::ai_with_calls("asked", "", calls.collect());
    let state = graph.thread(thread).run(Chat::update().messages([asked])).await.unwrap().finished().unwrap();
    let answers = state.messages.iter().filter_map(|message| match message {
        Message::Tool(answer) => Some(answer.clone()),
        _ => None,
    });
    answers.collect()
}

/// A safe tool that notes when it begins and when it ends.
fn noting(name: &'static str, notes: &Arc<Mutex<Vec<String>>>) -> TypedTool<Nothing> {
    let notes = Arc::clone(notes);
    let run = move |Nothing {}| {
        let notes = Arc::clone(&notes);
        async move {
            notes.lock().unwrap().push(format!("{name} begins"));
            tokio::task::yield_now().await;
            notes.lock().unwrap().push(format!("{name} ends"));
            Ok::<_, Infallible>("noted")
        }
    };
    TypedTool::new(name, "Notes.", run).with_concurrency(Concurrency::Safe)
}

async fn noted(policy: ExecutionPolicy) -> Vec<String> {
    let notes = Arc::default();
    let tools = ToolRegistry::new().with(noting("a", &notes)).unwrap().with(noting("b", &notes)).unwrap();
    let graph = graph(Tools::new(tools, Chat::MESSAGES).policy(policy));
    assert_eq!(answers(&graph, "t", &["a", "b"]).await.len(), 2);
    let notes = notes.lock().unwrap();
    notes.clone()
}

#[tokio::test]
async fn the_policy_says_which_calls_run_at_the_same_time() {
    let sequential = noted(ExecutionPolicy::Sequential).await;
    assert_eq!(sequential, ["a begins", "a ends", "b begins", "b ends"]);
    let parallel = noted(ExecutionPolicy::PARALLEL_SAFE).await;
    assert_eq!(parallel[..2], ["a begins", "b begins"]);
}

#[tokio::test]
async fn every_call_is_answered_and_the_run_continues() {
    let broken = TypedTool::new("broken", "Breaks.", |Nothing {}| async {
        match std::hint::black_box(true) {
            true => panic!("a mistake"),
            false => "unreachable",
        }
    });
    let fails = TypedTool::new("fails", "Fails.", |Nothing {}| async { Err::<String, _>("no disk") });
    let tools = ToolRegistry::new().with(broken).unwrap().with(fails).unwrap();
    let graph = graph(Tools::new(tools, Chat::MESSAGES));
    let answers = answers(&graph, "t", &["broken", "unknown", "fails"]).await;
    let texts: Vec<_> = answers.iter().map(|answer| answer.content.to_text()).collect();
    assert!(texts[0].starts_with("the tool `broken` broke: a mistake"), "{}", texts[0]);
    assert_eq!(texts[1], "there is no tool named `unknown`; the tools are: broken, fails");
    assert_eq!(texts[2], "the tool `fails` failed: no disk");
    assert!(answers.iter().all(|answer| answer.status == ToolStatus::Error));
    let ids: Vec<_> = answers.iter().map(|answer| answer.tool_call_id.as_str()).collect();
    assert_eq!(ids, ["c0", "c1", "c2"]);
}

#[tokio::test]
async fn calls_of_a_thread_share_values_and_work_in_the_workspace() {
    let count = TypedTool::with_context("count", "Counts.", |Nothing {}, context| async move {
        let before = context.shared::<AtomicU32>().fetch_add(1, Ordering::Relaxed);
        format!("{} in {}", before + 1, context.workspace().unwrap().display())
    });
    let tools = ToolRegistry::new().with(count).unwrap();
    let graph = graph(Tools::new(tools, Chat::MESSAGES).workspace("/work"));
    let texts = async |thread: &str| -> Vec<String> {
        let answers = answers(&graph, thread, &["count", "count"]).await;
        answers.iter().map(|answer| answer.content.to_text().into_owned()).collect()
    };
    assert_eq!(texts("one").await, ["1 in /work", "2 in /work"]);
    assert_eq!(texts("two").await, ["1 in /work", "2 in /work"]);
}

#[tokio::test]
async fn calls_are_reported_while_the_run_is_observed() {
    let events = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&events);
    let observer = move |event: &RunEvent| {
        if let EventKind::Custom { name, data, .. } = &event.kind
            && name == Tools::<Chat>::EVENT
        {
            sink.lock().unwrap().push(data.decode::<ToolEvent>().unwrap().kind);
        }
    };
    let slow = TypedTool::with_context("slow", "Is slow.", |Nothing {}, context| async move {
        context.progress(&json!({ "done": 0.5 }));
        "done"
    });
    let tools = ToolRegistry::new().with(slow).unwrap();
    let graph = graph(Tools::new(tools, Chat::MESSAGES)).observe(observer);
    answers(&graph, "t", &["slow"]).await;
    let expected = [
        ToolEventKind::Started { input: json!({}) },
        ToolEventKind::Progress { data: json!({ "done": 0.5 }) },
        ToolEventKind::Ended { outcome: crate::tool::ToolOutcome::Ok, text: "done".into() },
    ];
    assert_eq!(*events.lock().unwrap(), expected);
}

// The clock moves when the run waits for nothing but the tool that hangs.
#[tokio::test(start_paused = true)]
async fn a_recorded_call_is_reported_again_when_the_run_is_resumed() {
    let events = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&events);
    let observer = move |event: &RunEvent| {
        if let EventKind::Custom { name, data, .. } = &event.kind
            && name == Tools::<Chat>::EVENT
        {
            let ToolEvent { tool, kind, .. } = data.decode().unwrap();
            sink.lock().unwrap().push((tool, kind));
        }
    };
    let runs = Arc::new(AtomicU32::new(0));
    let made = Arc::clone(&runs);
    let quick = TypedTool::new("quick", "Is quick.", move |Nothing {}| {
        made.fetch_add(1, Ordering::Relaxed);
        async { "done" }
    });
    let hangs = Arc::new(AtomicU32::new(1));
    let slow = TypedTool::new("slow", "Hangs once.", move |Nothing {}| {
        let hangs = hangs.swap(0, Ordering::Relaxed) == 1;
        async move {
            if hangs {
                std::future::pending::<()>().await;
            }
            "done"
        }
    });
    let tools =
        ToolRegistry::new().with(quick).unwrap().with(slow.with_effect(ToolEffect::ReadOnly)).unwrap();
    let graph =
        graph(Tools::new(tools, Chat::MESSAGES).policy(ExecutionPolicy::Sequential)).observe(observer);
    let run = answers(&graph, "t", &["quick", "slow"]);
    assert!(tokio::time::timeout(std::time::Duration::from_millis(100), run).await.is_err());

    events.lock().unwrap().clear();
    graph.thread("t").resume().await.unwrap().finished().unwrap();
    let started = || ToolEventKind::Started { input: json!({}) };
    let ended = || ToolEventKind::Ended { outcome: crate::tool::ToolOutcome::Ok, text: "done".into() };
    let expected = [("quick", started()), ("quick", ended()), ("slow", started()), ("slow", ended())];
    assert_eq!(*events.lock().unwrap(), expected.map(|(tool, kind)| (tool.to_owned(), kind)));
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

/// A call that a crash cut short may have happened. The node's policy decides if the user is asked.
#[tokio::test(start_paused = true)]
async fn the_user_is_asked_about_an_interrupted_call_if_the_node_requires_it() {
    let pays = Arc::new(AtomicU32::new(0));
    let paid = Arc::clone(&pays);
    let pay = TypedTool::new("pay", "Pays.", move |Nothing {}| {
        let first = paid.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            if first {
                std::future::pending::<()>().await;
            }
            Ok::<_, Infallible>("paid")
        }
    });
    let tools = ToolRegistry::new().with(pay).unwrap();
    let saver = MemorySaver::new();
    let graph = |policy: Option<OnUnknown>| {
        let mut g = StateGraph::<Chat>::new("tools");
        let node = g.node("tools", Tools::new(tools.clone(), Chat::MESSAGES));
        if let Some(policy) = policy {
            g.policy(node).on_unknown(policy);
        }
        g.edge(START, node);
        g.edge(node, END);
        g.compile().unwrap().checkpointer(saver.clone())
    };
    let asked = Message::ai_with_calls("asked", "", vec![ToolCall::new("c7", "pay", json!({}))]);
    let thread = graph(None);
    let run = thread.thread("t");
    let begun = run.run(Chat::update().messages([asked]));
    tokio::time::timeout(std::time::Duration::from_millis(50), begun.into_future()).await.unwrap_err();
    assert_eq!(pays.load(Ordering::Relaxed), 1);

    let error = graph(None).thread("t").resume().await.unwrap_err().to_string();
    assert!(error.contains("effect `tool.pay[0:c7]` was started before"), "{error}");
    let run = graph(Some(OnUnknown::Ask)).thread("t").resume().await.unwrap();
    let question: EffectQuestion = run.interrupted().unwrap()[0].question().unwrap();
    assert_eq!((question.effect.as_str(), question.key.as_str()), ("tool.pay", "0:c7"));
    let state = graph(Some(OnUnknown::Retry)).thread("t").resume().await.unwrap().finished().unwrap();
    assert_eq!(state.messages.last().unwrap().text(), "paid");
    assert_eq!(pays.load(Ordering::Relaxed), 2);
}
