//! Runs: requests for lists, and rows as JSON.

use serde_json::{Map, Value, json};
use superstep_core::records::{CancelAction, RunRow, RunStatus};

use super::members::{Members, Page};
use super::query::Query;
use super::request::{Durability, Kwargs};
use super::{Failure, time};

/// The statuses of runs, with the names that clients use.
const STATUSES: [(&str, RunStatus); 6] = [
    ("pending", RunStatus::Pending),
    ("running", RunStatus::Running),
    ("success", RunStatus::Success),
    ("error", RunStatus::Error),
    ("interrupted", RunStatus::Interrupted),
    ("timeout", RunStatus::Timeout),
];

/// A request for the runs of a thread.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunSearch {
    /// Only runs with this status.
    pub(crate) status: Option<RunStatus>,
    /// The page.
    pub(crate) page: Page,
    /// The members of each run; `None` for all.
    pub(crate) select: Option<Vec<String>>,
}

impl RunSearch {
    /// Reads the query of `GET /threads/{thread}/runs`.
    ///
    /// # Errors
    /// Returns status 422 for a parameter of a wrong form.
    pub(crate) fn of_query(query: &Query) -> Result<Self, Failure> {
        let status = query.text("status").map(|name| {
            let known = STATUSES.iter().find(|(known, _)| *known == name);
            known
                .map(|(_, status)| *status)
                .ok_or_else(|| Failure::invalid(format!("status: {name:?} is not valid")))
        });
        Ok(Self { status: status.transpose()?, page: query.page()?, select: query.all("select") })
    }
}

/// A request to cancel several runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CancelMany {
    /// Only runs of this thread.
    pub(crate) thread: Option<String>,
    /// Only these runs.
    pub(crate) runs: Option<Vec<String>>,
    /// The statuses of the runs.
    pub(crate) statuses: Vec<RunStatus>,
    /// The end of the runs.
    pub(crate) action: CancelAction,
}

impl CancelMany {
    /// Reads the body and the query of `POST /runs/cancel`.
    ///
    /// # Errors
    /// Returns status 422 for a member of a wrong form, and for a request that names no runs.
    pub(crate) fn read(body: &Value, query: &Query) -> Result<Self, Failure> {
        let members = Members::of(body)?;
        let named = (members.text("thread_id")?.map(str::to_owned), members.texts("run_ids")?);
        let status = members.choice(
            "status",
            &[("pending", &[RunStatus::Pending][..]), ("running", &[RunStatus::Running]), ("all", ACTIVE)],
        )?;
        if status.is_none() && named.1.is_none() {
            return Err(Failure::invalid("either \"status\" or \"thread_id\" with \"run_ids\" is required"));
        }
        let (thread, runs) = named;
        Ok(Self { thread, runs, statuses: status.unwrap_or(ACTIVE).to_vec(), action: cancel_action(query)? })
    }
}

/// The statuses of runs that have not ended.
const ACTIVE: &[RunStatus] = &[RunStatus::Pending, RunStatus::Running];

/// Reads the parameter `action`.
///
/// # Errors
/// Returns status 422 for an unknown action.
pub(crate) fn cancel_action(query: &Query) -> Result<CancelAction, Failure> {
    match query.text("action") {
        None | Some("interrupt") => Ok(CancelAction::Interrupt),
        Some("rollback") => Ok(CancelAction::Rollback),
        Some(other) => {
            Err(Failure::invalid(format!("action: {other:?} is not valid; expected interrupt or rollback")))
        }
    }
}

/// Returns a run as JSON.
pub(crate) fn run(row: &RunRow) -> Value {
    let kwargs: Kwargs = row.kwargs.decode().unwrap_or_default();
    json!({
        "run_id": row.id,
        "thread_id": row.thread,
        "assistant_id": row.assistant,
        "metadata": metadata(row),
        "status": row.status,
        "kwargs": shown(&kwargs, row),
        "multitask_strategy": row.multitask,
        "created_at": time::text(row.created_ms),
        "updated_at": time::text(row.updated_ms),
        "langsmith_session_name": null,
    })
}

/// Returns the body of a call of a run's webhook.
#[cfg(feature = "webhooks")]
pub(crate) fn webhook(row: &RunRow, values: Value, sent_ms: u64) -> Value {
    let mut body = run(row);
    body["values"] = values;
    if let Some(error) = row.error.as_ref().and_then(|error| error.decode::<Value>().ok()) {
        body["error"] = error["message"].clone();
    }
    let started = (row.attempt > 0).then(|| time::text(row.not_before_ms));
    body["run_started_at"] = json!(started);
    body["run_ended_at"] = time::text(row.updated_ms).into();
    body["webhook_sent_at"] = time::text(sent_ms).into();
    body
}

/// Returns the request of a run, with the ids that clients find in its configuration.
fn shown(kwargs: &Kwargs, row: &RunRow) -> Value {
    let mut shown = json!(kwargs);
    shown["feedback_keys"] = Value::Null;
    shown["checkpoint_during"] = json!(kwargs.durability != Durability::Exit);
    shown["config"]["configurable"] = configurable(kwargs, row).into();
    let mut metadata = kwargs.config.metadata.clone();
    metadata.extend(self::metadata(row));
    shown["config"]["metadata"] = metadata.into();
    shown
}

/// Returns the metadata of a run, with its graph and assistant.
fn metadata(row: &RunRow) -> Map<String, Value> {
    let mut metadata = row.metadata.clone();
    metadata.insert("graph_id".into(), row.graph.as_str().into());
    metadata.insert("assistant_id".into(), row.assistant.as_str().into());
    metadata
}

/// Returns the configurable values of a run, with the ids of the run.
pub(crate) fn configurable(kwargs: &Kwargs, row: &RunRow) -> Map<String, Value> {
    let mut configurable = kwargs.config.configurable.clone();
    for (name, value) in [
        ("run_id", row.id.as_str()),
        ("thread_id", row.thread.as_str()),
        ("graph_id", row.graph.as_str()),
        ("assistant_id", row.assistant.as_str()),
    ] {
        configurable.insert(name.into(), value.into());
    }
    configurable
}

/// Returns a question, as states, the final values of a run and streams have it: `__interrupt__` is a list of these.
/// `schema` is the JSON Schema of its answers; one that every answer fits is left out.
pub(crate) fn interrupt(id: &str, value: Value, schema: Option<Value>) -> Value {
    let accepts_all = |schema: &Value| match schema {
        Value::Bool(accepts) => *accepts,
        Value::Object(rules) => rules.keys().all(|name| ["$schema", "title"].contains(&name.as_str())),
        _ => false,
    };
    json!({ "id": id, "value": value, "response_schema": schema.filter(|schema| !accepts_all(schema)) })
}

/// Returns the body of a response to a client that waited for a run that failed.
pub(crate) fn failed(error: &Value) -> Value {
    json!({ "__error__": error })
}

#[cfg(test)]
mod tests {
    use superstep_core::records::Multitask;
    use superstep_core::state::Json;

    use super::super::request::RunCreate;
    use super::*;

    #[test]
    fn a_run_shows_its_request_and_its_ids() {
        let body = json!({ "assistant_id": "agent", "input": { "x": 1 }, "metadata": { "m": 1 }, "stream_resumable": true });
        let request = RunCreate::read(&body).unwrap();
        let row = RunRow {
            id: "r".into(),
            thread: "t".into(),
            assistant: "a".into(),
            graph: "agent".into(),
            status: RunStatus::Pending,
            kwargs: Json::encode(&request.kwargs).unwrap(),
            metadata: request.metadata,
            multitask: Multitask::Enqueue,
            created_ms: 0,
            updated_ms: 0,
            not_before_ms: 0,
            owner: None,
            until_ms: 0,
            attempt: 0,
            lost: 0,
            cancel: None,
            error: None,
            calls: None,
        };
        let shown = run(&row);
        assert_eq!((&shown["status"], &shown["multitask_strategy"]), (&json!("pending"), &json!("enqueue")));
        let kwargs = &shown["kwargs"];
        let ids = json!({ "run_id": "r", "thread_id": "t", "graph_id": "agent", "assistant_id": "a" });
        assert_eq!(kwargs["config"], json!({ "configurable": ids, "metadata": shown["metadata"] }));
        assert_eq!(shown["metadata"], json!({ "m": 1, "graph_id": "agent", "assistant_id": "a" }));
        assert_eq!(kwargs["input"], json!({ "x": 1 }));
        let nulls = ["command", "interrupt_before", "interrupt_after", "webhook", "feedback_keys"];
        assert!(nulls.iter().all(|name| kwargs.get(name) == Some(&Value::Null)), "{kwargs}");
        assert_eq!((&kwargs["resumable"], &kwargs["durability"]), (&json!(true), &json!("async")));
        assert_eq!(kwargs["stream_mode"], json!(["values"]));
    }

    #[test]
    fn a_request_to_cancel_names_runs() {
        let read = |body: Value, query: &str| CancelMany::read(&body, &Query::parse(query));
        let all = read(json!({ "status": "all" }), "action=rollback").unwrap();
        assert_eq!((all.statuses.as_slice(), all.action), (ACTIVE, CancelAction::Rollback));
        assert_eq!(read(json!({}), "").unwrap_err().status, 422);
        assert_eq!(read(json!({ "status": "all" }), "action=stop").unwrap_err().status, 422);
    }
}
