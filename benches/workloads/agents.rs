//! Sub-agents of an assistant: side by side, and one after the other.

use std::time::{Duration, Instant};

use futures_util::stream::{self, BoxStream, StreamExt};
use serde_json::{Map, json};
use superstep::nodes::assistant::agents::{AgentKind, AgentTool};
use superstep::nodes::assistant::permission::{Permissions, RuleKind, RulePlace, RuleSource};
use superstep::nodes::assistant::{AssistantConfig, AssistantState, assistant};
use superstep::nodes::message::ToolCall;
use superstep::nodes::model::{ChatModel, ModelError, ModelEvent, ModelReply, ModelRequest};
use superstep::prelude::*;

use crate::engine::on_worker;
use crate::report::Figure;

/// The time that the model of an agent takes.
const WORK: Duration = Duration::from_millis(300);
const AGENTS: usize = 5;
const ROUNDS: usize = 3;
const REQUEST: &str = "Look everywhere.";

/// A model that starts the agents at once for the session, and answers slowly for an agent.
struct Lead {
    kind: &'static str,
}

impl ChatModel for Lead {
    fn name(&self) -> &str {
        "lead"
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let is_agent = request.messages[0].text() != REQUEST;
        let call = |number: usize| {
            let input = json!({ "kind": self.kind, "task": format!("Look in place {number}.") });
            ToolCall::new(format!("c{number}"), AgentTool::NAME, input)
        };
        let reply = match request.messages.len() {
            1 if !is_agent => ModelReply::new("lead", "").with_calls((0..AGENTS).map(call).collect()),
            _ => ModelReply::new("lead", "Done."),
        };
        let answer = async move {
            if is_agent {
                tokio::time::sleep(WORK).await;
            }
            stream::iter(reply.to_events().into_iter().map(Ok))
        };
        stream::once(answer).flatten().boxed()
    }
}

async fn turn(kind: &'static str) -> f64 {
    let allow = RulePlace::new("agent".parse().expect("a sound rule"), RuleSource::Program);
    let config = AssistantConfig::new(Lead { kind })
        .permissions(Permissions::new().rule(RuleKind::Allow, allow))
        .agents([AgentKind::reader("look", "Looks."), AgentKind::writer("mend", "Mends.")]);
    let graph = assistant(config).expect("a sound configuration").checkpointer(MemorySaver::new());
    let begun = Instant::now();
    let state = graph.run(AssistantState::ask(REQUEST)).await.expect("nothing fails");
    let state = state.finished().expect("it ends");
    assert_eq!(state.messages.len(), 3 + AGENTS);
    begun.elapsed().as_secs_f64() * 1e3
}

/// Compares agents that only read with agents that write.
pub(crate) fn readers() -> Figure {
    let (mut values, mut baselines) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        baselines.push(on_worker(turn("mend")));
        values.push(on_worker(turn("look")));
    }
    let target = "one after the other, ≤ 0.3";
    Figure { unit: "ms/turn", values, baselines, extra: Map::new(), target }
}
