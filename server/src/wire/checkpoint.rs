//! Names of checkpoints in requests, and their JSON form in responses.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Failure;
use super::members::Members;

/// A checkpoint that a request names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct CheckpointRef {
    /// The subgraph, as `node:task|node:task`; empty for the graph itself.
    #[serde(rename = "checkpoint_ns")]
    pub(crate) namespace: String,
    /// The checkpoint; `None` for the head.
    #[serde(rename = "checkpoint_id")]
    pub(crate) id: Option<String>,
}

impl CheckpointRef {
    /// Reads the members `checkpoint` and `checkpoint_id`. `None` if they name neither a checkpoint nor a subgraph.
    pub(super) fn of(members: &Members<'_>) -> Result<Option<Self>, Failure> {
        let mut found = match members.inner("checkpoint")? {
            Some(checkpoint) => Self::read(&checkpoint)?,
            None => Self::default(),
        };
        if let Some(id) = members.text("checkpoint_id")? {
            found.id = Some(id.to_owned());
        }
        Ok((found != Self::default()).then_some(found))
    }

    /// Reads those members, or else takes the same from the configurable values.
    pub(super) fn of_run(
        members: &Members<'_>,
        configurable: &mut Map<String, Value>,
    ) -> Result<Option<Self>, Failure> {
        if let Some(found) = Self::of(members)? {
            return Ok(Some(found));
        }
        let text = |name: &str| configurable.get(name).and_then(Value::as_str).map(str::to_owned);
        let found = Self { namespace: text("checkpoint_ns").unwrap_or_default(), id: text("checkpoint_id") };
        Ok((found != Self::default()).then_some(found))
    }

    /// Reads the members of a checkpoint.
    pub(super) fn read(checkpoint: &Members<'_>) -> Result<Self, Failure> {
        let namespace = checkpoint.text("checkpoint_ns")?.unwrap_or_default().to_owned();
        Ok(Self { namespace, id: checkpoint.text("checkpoint_id")?.map(str::to_owned) })
    }

    /// Reads the member `before` of a request for a thread's history: a text, a checkpoint, or a configuration with
    /// `configurable`.
    pub(super) fn before(members: &Members<'_>) -> Result<Option<String>, Failure> {
        let id = |object: &Map<String, Value>| {
            object.get("checkpoint_id").and_then(Value::as_str).map(str::to_owned)
        };
        match members.any("before") {
            None => Ok(None),
            Some(Value::String(id)) => Ok(Some(id.clone())),
            Some(Value::Object(config)) => {
                let inner = config.get("configurable").and_then(Value::as_object);
                let missing = || members.invalid("before", "expected a checkpoint with \"checkpoint_id\"");
                inner.and_then(id).or_else(|| id(config)).map(Some).ok_or_else(missing)
            }
            Some(_) => Err(members.invalid("before", "expected a checkpoint")),
        }
    }
}

/// Returns the JSON form of a checkpoint.
pub(crate) fn checkpoint(thread: &str, namespace: &str, id: &str) -> Value {
    json!({ "thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": id })
}

/// Returns the response to an update of a thread's state, which stored this checkpoint.
pub(crate) fn updated(thread: &str, namespace: &str, id: &str) -> Value {
    let checkpoint = checkpoint(thread, namespace, id);
    json!({ "checkpoint": checkpoint, "configurable": checkpoint, "checkpoint_id": id })
}
