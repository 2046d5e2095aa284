//! The result of a test of a single node.

use std::string::String;
use std::vec::Vec;

use alloc::string::ToString;

use serde_json::{Map, Value};

use crate::checkpoint::EffectRecord;
use crate::error::ErrorReport;
use crate::id::NodeName;
use crate::run::{Interrupt, NamedWrite, NodeFailure};
use crate::state::Json;

/// The result of a node that was [run alone](super::node).
#[derive(Debug)]
#[non_exhaustive]
pub struct NodeRun<S> {
    /// The node.
    pub node: NodeName,
    /// The state after the node's writes; the initial state if the node failed or asks.
    pub state: S,
    /// The node's writes, in order. Values of secret fields are redacted.
    pub writes: Vec<NamedWrite>,
    /// The case of its decision, if it makes one.
    pub case: Option<String>,
    /// Its decision as JSON, with the payload.
    pub route: Option<Json>,
    /// The targets of its decision and its edges, in merge order, each with its item, if any.
    pub next: Vec<(NodeName, Option<Json>)>,
    /// The node's failure after its retries, if no error handler handled it.
    pub failure: Option<NodeFailure>,
    /// The node's failure, if its error handler produced this result.
    pub handled: Option<ErrorReport>,
    /// Its unanswered questions.
    pub asked: Vec<Interrupt>,
    /// The custom events that it emitted, by name.
    pub custom: Vec<(String, Json)>,
    /// The parts of messages that it emitted.
    pub messages: Vec<Json>,
    /// Its effects and drawn values, with their outcomes.
    pub effects: Vec<EffectRecord>,
}

impl<S> NodeRun<S> {
    /// Returns the writes as JSON by field name; several writes to one field become a list.
    #[must_use]
    pub fn writes_json(&self) -> Value {
        let mut fields = Map::new();
        for write in &self.writes {
            if !fields.contains_key(&write.field) {
                let values = self.writes.iter().filter(|one| one.field == write.field);
                let mut values: Vec<Value> = values.map(|one| value(&one.value)).collect();
                let written = if values.len() == 1 { values.remove(0) } else { Value::Array(values) };
                fields.insert(write.field.clone(), written);
            }
        }
        Value::Object(fields)
    }

    /// Returns the names of the next nodes, in merge order.
    #[must_use]
    pub fn next_nodes(&self) -> Vec<&str> {
        self.next.iter().map(|(node, _)| node.as_str()).collect()
    }

    /// Returns the run, if the node has finished.
    ///
    /// # Panics
    /// Panics if the node failed, or asks.
    #[track_caller]
    #[must_use]
    pub fn finished(self) -> Self {
        if let Some(failure) = &self.failure {
            panic!("node {} failed: {}", self.node, failure.error);
        }
        if !self.asked.is_empty() {
            let asked: Vec<String> = self.asked.iter().map(|ask| ask.question.to_string()).collect();
            panic!("node {} asks {}", self.node, asked.join(" and "));
        }
        self
    }
}

fn value(json: &Json) -> Value {
    json.decode().expect("JSON is JSON")
}
