//! The four published contracts: their schemas and examples are current, and the examples are instances.
//!
//! `UPDATE_CONTRACTS=1 cargo test --test behaviours s1_evaluator_loop::schemas` regenerates them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use superstep::nodes::graphs::AgentState;
use superstep::nodes::message::Message;
use superstep::run::{Ambient, CheckpointView, TraceLog, TraceRecord};
use uuid::Uuid;

use super::support::*;

/// A clock that advances each time it is read, and ids that count.
struct Fixed(AtomicU64);

impl Ambient for Fixed {
    fn id(&self) -> Uuid {
        let at = u128::from(1_767_225_600_000 + self.0.fetch_add(1, Ordering::Relaxed));
        Uuid::from_u128(at << 80 | 7 << 76 | 2 << 62 | at)
    }

    fn now(&self) -> Duration {
        Duration::from_millis(1_767_225_600_000 + self.0.fetch_add(1, Ordering::Relaxed))
    }

    fn roll(&self) -> f64 {
        0.5
    }
}

/// Compares a file of `docs/schemas` with its expected content, or writes it.
fn published(name: &str, value: &impl Serialize) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/schemas").join(name);
    let text = serde_json::to_string_pretty(value).unwrap() + "\n";
    if std::env::var_os("UPDATE_CONTRACTS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        return;
    }
    let held = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(held == text, "docs/schemas/{name} is not current; write it with UPDATE_CONTRACTS=1");
}

/// Publishes the schema of `T` and an example, which must decode as a `T` and encode to the same JSON.
fn contract<T: JsonSchema + Serialize + DeserializeOwned>(name: &str, example: &T) {
    published(&format!("{name}.json"), &schema_for!(T));
    published(&format!("examples/{name}.json"), example);
    let json = serde_json::to_value(example).unwrap();
    let read: T = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), json);
    let schema = Value::from(schema_for!(T));
    required(&schema, &schema, &json, name);
}

/// Checks that an instance has the required members of its schema, through nested plain objects.
fn required(root: &Value, schema: &Value, instance: &Value, path: &str) {
    let resolved = match schema.get("$ref").and_then(Value::as_str) {
        Some(reference) => root.pointer(reference.trim_start_matches('#')).unwrap(),
        None => schema,
    };
    let names = resolved.get("required").and_then(Value::as_array);
    for name in names.into_iter().flatten() {
        let name = name.as_str().unwrap();
        assert!(instance.get(name).is_some(), "{path} has no {name}");
    }
    for (name, part) in resolved.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if let Some(value) = instance.get(name) {
            required(root, part, value, &format!("{path}.{name}"));
        }
    }
}

#[tokio::test]
async fn s1_048_state_messages_checkpoint_and_call_have_current_schemas_and_examples() {
    let trace = TraceLog::new();
    let graph = graph(eventful()).ambient(Fixed(AtomicU64::new(0))).observe(trace.clone());
    let thread = graph.thread("thread-1");
    let run = thread.run(AgentState::ask("What is 2 + 3?")).await.unwrap();
    let checkpoint: CheckpointView = thread.before_named("tools").await.unwrap().view();
    let calls: Vec<TraceRecord> = trace.of(run.run);
    let messages: Vec<Message> = run.state.messages.to_vec();
    contract("agent-state", &*run.state);
    contract("messages", &messages);
    contract("checkpoint", &checkpoint);
    contract("call", &calls[1]);
}
