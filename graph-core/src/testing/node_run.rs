//! The result of a node that was run alone.

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
    /// The state with what it wrote; as it was given where the node failed or asks.
    pub state: S,
    /// Its writes, in order. Values of secret fields are not shown.
    pub writes: Vec<NamedWrite>,
    /// The case that it has chosen, where it decides.
    pub case: Option<String>,
    /// Its decision as JSON, payload included.
    pub route: Option<Json>,
    /// The next nodes: those that its decision and its edges lead to, in merge order, each with its item, if any.
    pub next: Vec<(NodeName, Option<Json>)>,
    /// Why it failed, after its retries, where no error handler dealt with that.
    pub failure: Option<NodeFailure>,
    /// Its failure, where its error handler did all this.
    pub handled: Option<ErrorReport>,
    /// Its unanswered questions.
    pub asked: Vec<Interrupt>,
    /// The custom events that it emitted, by name.
    pub custom: Vec<(String, Json)>,
    /// The pieces of messages that it emitted.
    pub messages: Vec<Json>,
    /// Its effects and drawn values, with their outcomes.
    pub effects: Vec<EffectRecord>,
}

impl<S> NodeRun<S> {
    /// Its writes by the names of the fields, as JSON; for several writes to one field, a list of them.
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

    /// The names of the nodes that are next, in merge order.
    #[must_use]
    pub fn next_nodes(&self) -> Vec<&str> {
        self.next.iter().map(|(node, _)| node.as_str()).collect()
    }

    /// Returns the run, if the node has finished.
    ///
    /// # Panics
    /// When the node failed, or asks.
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
