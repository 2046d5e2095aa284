mod flags;
mod flow;
mod paths;
mod rollout;
mod settings;
mod window;

use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::{Value, json};
use superstep_core::checkpoint::MemorySaver;
use superstep_core::run::{EventKind, Graph, RunEvent};

use super::*;
use crate::model::{ChatModel, Purpose, Scripted, Turn};
use crate::tool::{ToolRegistry, TypedTool};
use crate::verification::VerificationCriterion;

#[derive(Deserialize, schemars::JsonSchema)]
struct City {
    city: String,
}

/// A tool that knows the weather.
fn weather() -> ToolRegistry {
    let tool = TypedTool::new("weather", "Tells the weather in a city.", |City { city }| async move {
        Ok::<_, std::convert::Infallible>(format!("Rain in {city}."))
    });
    ToolRegistry::new().with(tool).unwrap()
}

fn asks_for_weather() -> Turn {
    asks_for("Paris".to_owned())
}

fn asks_for(city: String) -> Turn {
    Turn::Call(vec![crate::message::ToolCall::new("c1", "weather", json!({ "city": city }))])
}

fn routed(action: &str) -> Value {
    json!({ "action": action, "confidence": 0.9, "reasoning": "So it is." })
}

/// A judgement that gives all criteria the same score.
fn judged(score: f64) -> Value {
    let finding = |criterion: &VerificationCriterion| json!({ "criterion": criterion, "finding": "It is so.", "score": score });
    let findings: Vec<_> = VerificationCriterion::ALL.iter().map(finding).collect();
    let feedback = if score < 1.0 { "Name the city." } else { "" };
    json!({ "findings": findings, "critical_issues": [], "suggestions": [], "feedback": feedback })
}

fn json_turns(values: impl IntoIterator<Item = Value>) -> Vec<Turn> {
    values.into_iter().map(Turn::Json).collect()
}

/// A loop with memory.
fn graph(config: AgenticConfig) -> Graph<AgenticState> {
    agentic(config).unwrap().checkpointer(MemorySaver::new())
}

fn config(model: &Arc<Scripted>) -> AgenticConfig {
    AgenticConfig::new(Arc::clone(model) as Arc<dyn ChatModel>)
}

/// Runs a turn, and returns its state and the nodes that ran.
async fn turn(graph: &Graph<AgenticState>, input: AgenticStateUpdate) -> (AgenticState, String) {
    let ran = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&ran);
    let run = graph.thread("t").run(input).observe(move |event: &RunEvent| {
        if let EventKind::TaskFinished { node, .. } = &event.kind
            && event.path.is_empty()
            && !node.is_start()
        {
            notes.lock().unwrap().push(node.to_string());
        }
    });
    let state = run.await.unwrap().finished().unwrap();
    let ran = ran.lock().unwrap().join(",");
    (state, ran)
}
