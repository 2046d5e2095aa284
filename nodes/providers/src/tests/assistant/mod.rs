//! The assistant against the server: long sessions, and failures of providers.

mod failures;
mod long_sessions;

use std::convert::Infallible;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use superstep_assistant::context::{ContextWindow, ContextWindows};
use superstep_assistant::permission::{Permissions, RuleKind, RulePlace, RuleSource};
use superstep_assistant::recovery::RecoveryOptions;
use superstep_assistant::{AssistantConfig, AssistantState};
use superstep_core::run::{EventKind, Observer, RunEvent, View, Views};
use superstep_nodes::compaction::ContextManager;
use superstep_nodes::model::ChatModel;
use superstep_nodes::tool::{ToolEffect, ToolRegistry, TypedTool};

use super::clients::Way;

/// A protocol of each vendor.
const PROTOCOLS: [Way; 3] = [Way::Messages, Way::Chat, Way::Responses];

/// Returns the tools `look`, which changes nothing, and `act`. Each third result is long.
fn tools() -> ToolRegistry {
    let tool = |name: &'static str, effect| {
        let run = move |input: Value| async move {
            let number = input["number"].as_u64().unwrap_or(0);
            let length = if number.is_multiple_of(3) { 600 } else { 30 };
            Ok::<_, Infallible>(format!("{name} {number}: {}", "some text ".repeat(length)))
        };
        TypedTool::new(name, "Says something about a number.", run).with_effect(effect)
    };
    let look = tool("look", ToolEffect::ReadOnly);
    ToolRegistry::new().with(look).unwrap().with(tool("act", ToolEffect::Idempotent)).unwrap()
}

/// Returns a configuration with a window of 16,000 tokens, and waits of no time.
fn config(model: impl ChatModel, folder: &Path) -> AssistantConfig {
    let window = ContextWindow::new(16_000, 2_000);
    let models = ["claude-test-*", "gpt-test-*"];
    let windows = models.iter().fold(ContextWindows::none(), |windows, model| windows.with(*model, window));
    let allow = RulePlace::new("act".parse().unwrap(), RuleSource::User);
    AssistantConfig::new(model)
        .tools(tools())
        .workspace(folder)
        .windows(windows)
        .permissions(Permissions::new().rule(RuleKind::Allow, allow))
        .compaction(ContextManager::new().target(4_000).pin(|message| message.text().contains("FACT")))
        .recovery(RecoveryOptions { first_wait: std::time::Duration::ZERO, ..RecoveryOptions::default() })
}

/// Sees the errors of runs, and the updates of nodes that record something about the conversation.
#[derive(Clone, Default)]
struct Watch(Arc<Watched>);

#[derive(Default)]
struct Watched {
    errors: Mutex<Vec<String>>,
    /// The nodes that recorded something, each with the number that this function returned then.
    recorded: Mutex<Vec<(String, usize)>>,
    requests: Mutex<Option<Box<dyn Fn() -> usize + Send>>>,
}

impl Watch {
    fn errors(&self) -> Vec<String> {
        self.0.errors.lock().unwrap().clone()
    }
}

impl Observer for Watch {
    fn on_event(&self, event: &RunEvent) {
        match &event.kind {
            EventKind::TaskFailed { .. } | EventKind::RunFailed { .. } => {
                self.0.errors.lock().unwrap().push(format!("{:?}", event.kind));
            }
            EventKind::Update { node, writes, .. } => {
                let is_record = |field: &str| matches!(field, "trims" | "compactions");
                let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
                let value = |value| serde_json::to_value(value).unwrap();
                if writes.iter().any(|write| is_record(&write.field) && !is_empty(&value(&write.value))) {
                    let requests = self.0.requests.lock().unwrap().as_ref().map_or(0, |requests| requests());
                    self.0.recorded.lock().unwrap().push((node.to_string(), requests));
                }
            }
            _ => {}
        }
    }

    fn views(&self) -> Views {
        View::Updates | View::Messages
    }
}

/// Returns the texts of a state's messages.
fn texts(state: &AssistantState) -> Vec<String> {
    state.messages.iter().map(|message| message.text().into_owned()).collect()
}

fn number(number: usize) -> Value {
    json!({ "number": number })
}
