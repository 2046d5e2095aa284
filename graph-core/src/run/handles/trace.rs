//! Trace records: one call per node execution, grouped by run, built by an observer.

use std::collections::HashMap;
use std::string::{String, ToString};
use std::sync::{Arc, Mutex, PoisonError};
use std::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::RunId;
use crate::run::runtime::event::{EventKind, Observer, PathSegment, RunEvent};

/// One traced operation: a run, or one execution of a node.
///
/// Calls of one run share its `trace_id`; the run's own call is the root.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceRecord {
    /// The call's id, unique in its trace.
    pub id: String,
    /// The graph's name for the root, `NODE_node` for a node.
    pub op_name: String,
    /// The run.
    pub trace_id: String,
    /// The root's id for a node's call; `null` for the root.
    pub parent_id: Option<String>,
    /// The superstep, as its checkpoint is numbered; `null` for the root.
    pub step: Option<i64>,
    /// The inputs: the attempt of a node, the thread of a run.
    pub inputs: serde_json::Value,
    /// The outputs: a node's writes and decision, a run's status; an error under `error`.
    pub output: Option<serde_json::Value>,
    /// The start, in milliseconds since the Unix epoch.
    pub started_at: u64,
    /// The end; `null` for a call that is running or was cancelled.
    pub ended_at: Option<u64>,
}

/// Collects the trace records of the runs that it observes.
///
/// It is cheap to clone, and clones share the records. START is not a call, and each attempt is a call of its own.
#[derive(Clone, Debug, Default)]
pub struct TraceLog {
    traces: Arc<Mutex<HashMap<RunId, Vec<TraceRecord>>>>,
}

impl TraceLog {
    /// Creates an empty log.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the records of a run, in the order in which the calls began, the root first.
    #[must_use]
    pub fn of(&self, run: RunId) -> Vec<TraceRecord> {
        self.traces.lock().unwrap_or_else(PoisonError::into_inner).get(&run).cloned().unwrap_or_default()
    }
}

impl Observer for TraceLog {
    fn on_event(&self, event: &RunEvent) {
        let mut traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        let records = traces.entry(event.run).or_default();
        let trace_id = event.run.to_string();
        let above = path_id(&event.path);
        match &event.kind {
            // A subgraph's run is part of the call of its task.
            EventKind::RunStarted { .. } | EventKind::RunFinished { .. } | EventKind::RunFailed { .. }
                if !event.path.is_empty() => {}
            EventKind::RunStarted { graph, thread, .. } => records.push(TraceRecord {
                id: trace_id.clone(),
                op_name: graph.to_string(),
                trace_id,
                parent_id: None,
                step: None,
                inputs: serde_json::json!({ "thread_id": thread }),
                output: None,
                started_at: event.at_ms,
                ended_at: None,
            }),
            EventKind::TaskStarted { step, task, node, attempt } if !node.is_start() => {
                records.push(TraceRecord {
                    id: above.clone() + &call_id(*step, *task, *attempt),
                    op_name: std::format!("{node}_node"),
                    parent_id: Some(if above.is_empty() {
                        trace_id.clone()
                    } else {
                        above[..above.len() - 1].to_string()
                    }),
                    trace_id,
                    step: Some(*step),
                    inputs: serde_json::json!({ "attempt": attempt }),
                    output: None,
                    started_at: event.at_ms,
                    ended_at: None,
                });
            }
            EventKind::TaskFinished { step, task, writes, route, .. } => {
                let output = serde_json::json!({ "writes": writes, "route": route });
                end(records, &std::format!("{above}{step}.{task}."), event.at_ms, output);
            }
            EventKind::TaskPaused { step, task, .. } => {
                end(
                    records,
                    &std::format!("{above}{step}.{task}."),
                    event.at_ms,
                    serde_json::json!({ "paused": true }),
                );
            }
            EventKind::TaskFailed { step, task, error, .. } => {
                end(
                    records,
                    &std::format!("{above}{step}.{task}."),
                    event.at_ms,
                    serde_json::json!({ "error": error }),
                );
            }
            EventKind::RunFinished { status } => {
                end(records, &trace_id, event.at_ms, serde_json::json!(status));
            }
            EventKind::RunFailed { message } => {
                end(records, &trace_id, event.at_ms, serde_json::json!({ "error": message }));
            }
            _ => {}
        }
    }
}

/// Returns the ids of the calls whose subgraphs contain an event, each followed by a slash.
fn path_id(path: &[PathSegment]) -> String {
    path.iter().map(|above| call_id(above.step, above.task, above.attempt) + "/").collect()
}

fn call_id(step: i64, task: u32, attempt: u32) -> String {
    std::format!("{step}.{task}.{attempt}")
}

/// Ends the latest call whose id begins with `id`.
fn end(records: &mut [TraceRecord], id: &str, at_ms: u64, output: serde_json::Value) {
    let open = |record: &&mut TraceRecord| {
        let is_own = record.id.strip_prefix(id).is_some_and(|attempt| !attempt.contains('/'));
        is_own && record.ended_at.is_none()
    };
    if let Some(record) = records.iter_mut().rev().find(open) {
        record.output = Some(output);
        record.ended_at = Some(at_ms);
    }
}
