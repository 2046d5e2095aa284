//! Shared by the tests: scripted models, and the record of a thread.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use superstep::nodes::graphs::{self, AgentState, EvaluatorConfig};
use superstep::nodes::message::{Message, ToolCall};
use superstep::nodes::model::{ChatModel, Purpose, Scripted, Turn};
use superstep::nodes::tool::{ToolEffect, ToolRegistry, TypedTool};
use superstep::prelude::*;

/// A response that is complete.
pub(crate) const WHOLE: &str = "The sum of two and three is five.";

/// One that is too short to be complete.
pub(crate) const SHORT: &str = "five";

pub(crate) fn say(text: &str) -> Turn {
    Turn::Say(text.into())
}

/// Asks for the tool `add`, once for each id.
pub(crate) fn add<const N: usize>(ids: [&str; N]) -> Turn {
    Turn::Call(ids.map(|id| ToolCall::new(id, "add", json!({ "a": 2, "b": 3 }))).into())
}

pub(crate) fn evaluation(iteration: u32) -> Value {
    let score = f64::from(iteration) / 10.0;
    json!({ "iteration": iteration, "score": score, "complete": false, "feedback": format!("Feedback {iteration}.") })
}

/// A ranking made in the last of `iterations`; the latest is the best.
pub(crate) fn ranking(iterations: &[u32]) -> Value {
    let order: Vec<u32> = iterations.iter().rev().copied().collect();
    json!({ "iteration": order[0], "order": order, "best": order[0], "reason": "It is the latest." })
}

/// A model with these turns of the agent, whose judges judge these iterations.
pub(crate) fn model<const N: usize>(agent: [Turn; N], judged: &[u32]) -> Arc<Scripted> {
    let rankings = (1..=judged.len()).map(|made| Turn::Json(ranking(&judged[..made])));
    let evaluations = judged.iter().map(|iteration| Turn::Json(evaluation(*iteration)));
    Arc::new(
        Scripted::new()
            .on(Purpose::Agent, agent)
            .on(Purpose::Evaluator, evaluations)
            .on(Purpose::Ranker, rankings)
            .on(Purpose::Decider, [say("Five, as far as I can say.")]),
    )
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

pub(crate) fn tools() -> ToolRegistry {
    let add = TypedTool::new("add", "Adds two numbers.", |Add { a, b }: Add| async move {
        a.checked_add(b).map(|sum| sum.to_string()).ok_or("the sum is too large")
    });
    ToolRegistry::new().with(add.with_effect(ToolEffect::ReadOnly)).unwrap()
}

/// The graph with the tool `add`, in memory, and with retries that do not wait.
pub(crate) fn graph(model: impl ChatModel) -> Graph<AgentState> {
    compiled(EvaluatorConfig::new(model).tools(tools()))
}

pub(crate) fn compiled(config: EvaluatorConfig) -> Graph<AgentState> {
    let config = config.retry(Retry::fixed(2, Duration::ZERO));
    graphs::evaluator(config).unwrap().checkpointer(MemorySaver::new())
}

/// A finished run, and its thread for checks.
pub(crate) async fn ran(model: &Arc<Scripted>) -> (Thread<AgentState>, AgentState) {
    let thread = graph(Arc::clone(model)).thread("t");
    let run = thread.run(AgentState::ask("What is 2 + 3?")).await.unwrap();
    (thread, run.finished().unwrap())
}

/// The nodes that a thread ran, in order.
pub(crate) async fn path(thread: &Thread<AgentState>) -> Vec<String> {
    let mut history = thread.history().unwrap().collect().await.unwrap();
    history.reverse();
    let ran = history.iter().flat_map(|checkpoint| &checkpoint.ran);
    ran.map(ToString::to_string).filter(|node| node != "__start__").collect()
}

/// The kinds of messages, in order.
pub(crate) fn kinds(messages: &[Message]) -> Vec<String> {
    let kind = |message: &Message| {
        let json = serde_json::to_value(message).unwrap();
        json["type"].as_str().unwrap().to_owned()
    };
    messages.iter().map(kind).collect()
}

/// A run with tools, an incomplete response and then a complete one.
pub(crate) fn eventful() -> Arc<Scripted> {
    model([add(["c1"]), say(SHORT), say(WHOLE)], &[2, 3])
}
