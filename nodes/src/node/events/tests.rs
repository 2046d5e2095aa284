use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use superstep_core::checkpoint::MemorySaver;
use superstep_core::graph::{END, START, StateGraph, to};
use superstep_core::node::Retry;
use superstep_core::reducer::KeyedLog;
use superstep_core::run::{EventKind, Graph, RunEvent};
use superstep_core::state::State;

use super::*;
use crate::message::{MessageLog, ToolCall};
use crate::model::{ModelError, ModelReply, Scripted, Turn};
use crate::node::{Agent, AgentNext, ConversationLength, ToolRun, Tools};
use crate::tool::{ToolEffect, ToolOutcome, ToolRegistry, TypedTool};

#[derive(State, Clone, Default)]
struct Chat {
    question: String,
    #[reducer(KeyedLog)]
    messages: MessageLog,
    visits: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// The emitted events, by name.
#[derive(Clone, Default)]
struct Emitted(Arc<Mutex<Vec<(String, Value)>>>);

impl Emitted {
    fn observe(&self) -> impl Fn(&RunEvent) + Send + Sync + use<> {
        let emitted = Arc::clone(&self.0);
        move |event: &RunEvent| {
            if let EventKind::Custom { name, data, .. } = &event.kind {
                emitted.lock().unwrap().push((name.clone(), data.decode().unwrap()));
            }
        }
    }

    /// Takes the events of this name.
    fn take<T: DeserializeOwned>(&self, name: &str) -> Vec<T> {
        let mut emitted = self.0.lock().unwrap();
        let (taken, left): (Vec<_>, Vec<_>) = emitted.drain(..).partition(|(held, _)| held == name);
        *emitted = left;
        taken.into_iter().map(|(_, data)| serde_json::from_value(data).unwrap()).collect()
    }
}

/// An agent whose tools begin while its model speaks, so that its task goes on after the reply.
fn graph(model: Scripted, tools: ToolRegistry, emitted: &Emitted) -> Graph<Chat> {
    let node = Tools::new(tools, Chat::MESSAGES);
    let agent =
        Agent::new(Arc::new(model), Chat::MESSAGES, Chat::VISITS).task(Chat::QUESTION).stream_tools(&node);
    let mut g = StateGraph::<Chat>::new("chat");
    let (agent, tools) = (g.node("agent", agent), g.node("tools", node));
    g.policy(agent).retry(Retry::fixed(2, Duration::ZERO));
    g.edge(START, agent);
    g.route(agent, move |next| match next {
        AgentNext::RunTools => to(tools),
        AgentNext::Respond => END,
    });
    g.edge(tools, agent);
    g.compile().unwrap().checkpointer(MemorySaver::new()).observe(emitted.observe())
}

fn reply(text: &str, calls: Vec<ToolCall>) -> Turn {
    Turn::Reply(ModelReply::new("answerer", text).with_calls(calls).with_usage(Usage::of(30, 4)))
}

#[tokio::test]
async fn a_failed_call_and_a_reply_are_reported_once_each() {
    let overloaded = ModelError::Overloaded { reason: "too many".into(), retry_after: None };
    let emitted = Emitted::default();
    let graph = graph(
        Scripted::new().fail(overloaded).then(reply("Hello.", Vec::new())),
        ToolRegistry::new(),
        &emitted,
    );
    graph.thread("t").run(Chat::update().question("Hi".to_owned())).await.unwrap().finished().unwrap();

    let [failed, answered] = &emitted.take::<ModelCall>(ModelCall::EVENT)[..] else { panic!("two calls") };
    assert_eq!((failed.error.as_deref(), failed.usage), (Some("overloaded"), Usage::default()));
    assert_eq!((failed.asked.as_str(), failed.model.as_str()), ("scripted", "scripted"));
    assert_eq!(
        (&answered.error, answered.usage, answered.purpose),
        (&None, Usage::of(30, 4), Purpose::Agent)
    );
    assert_eq!((answered.asked.as_str(), answered.model.as_str()), ("scripted", "answerer"));
    assert!(!failed.recorded && !answered.recorded);
    let lengths: Vec<ConversationLength> = emitted.take(ConversationLength::EVENT);
    assert_eq!(lengths, [ConversationLength { messages: 2 }]);
}

// The clock moves when the run waits for nothing but the tool that hangs.
#[tokio::test(start_paused = true)]
async fn what_is_taken_from_the_record_says_so() {
    let hangs = Arc::new(AtomicBool::new(true));
    let slow = TypedTool::new("slow", "Hangs once.", move |Nothing {}| {
        let hangs = hangs.swap(false, Ordering::Relaxed);
        async move {
            if hangs {
                std::future::pending::<()>().await;
            }
            "done"
        }
    });
    let quick = TypedTool::new("quick", "Is quick.", |Nothing {}| async { Ok::<_, Infallible>("done") });
    let tools = [quick, slow].map(|tool| tool.with_effect(ToolEffect::ReadOnly));
    let tools = tools.into_iter().fold(ToolRegistry::new(), |all, tool| all.with(tool).unwrap());
    let emitted = Emitted::default();
    let calls = ["quick", "nonsense", "slow"];
    let calls = calls.iter().enumerate().map(|(id, name)| ToolCall::new(format!("c{id}"), *name, json!({})));
    let asks = reply("", calls.collect());
    let graph = graph(Scripted::new().then(asks).then(reply("So.", Vec::new())), tools, &emitted);
    let run = graph.thread("t").run(Chat::update().question("Hi".to_owned()));
    assert!(tokio::time::timeout(Duration::from_millis(100), run).await.is_err());

    let told = |calls: Vec<ModelCall>| calls.iter().map(|call| call.recorded).collect::<Vec<_>>();
    let answered = |runs: Vec<ToolRun>| -> Vec<(Option<String>, ToolOutcome, bool)> {
        runs.into_iter().map(|run| (run.tool, run.outcome, run.recorded)).collect()
    };
    assert_eq!(told(emitted.take(ModelCall::EVENT)), [false]);
    let (quick, unknown) = ((Some("quick".to_owned()), ToolOutcome::Ok), (None, ToolOutcome::Invalid));
    let live = [(quick.0.clone(), quick.1, false), (unknown.0.clone(), unknown.1, false)];
    assert_eq!(answered(emitted.take(ToolRun::EVENT)), live);

    graph.thread("t").resume().await.unwrap().finished().unwrap();
    assert_eq!(told(emitted.take(ModelCall::EVENT)), [true, false]);
    let slow = (Some("slow".to_owned()), ToolOutcome::Ok, false);
    let expected = [(quick.0, quick.1, true), (unknown.0, unknown.1, true), slow];
    assert_eq!(answered(emitted.take(ToolRun::EVENT)), expected);
}
