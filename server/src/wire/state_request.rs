//! Requests for states of threads, and for changes of them.

use serde_json::{Map, Value};

use super::Failure;
use super::checkpoint::CheckpointRef;
use super::members::Members;
use super::query::Query;

/// A request for a state of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StateAt {
    /// The checkpoint and the subgraph; the default is the head of the graph itself.
    pub(crate) checkpoint: CheckpointRef,
    /// `true` to include the states of the subgraphs that the next tasks run.
    pub(crate) subgraphs: bool,
    /// The members of the response; `None` for all.
    pub(crate) select: Option<Vec<String>>,
}

impl StateAt {
    /// Reads the query of `GET /threads/{thread}/state`, with the checkpoint of the path.
    ///
    /// # Errors
    /// Returns status 422 for a parameter of a wrong form.
    pub(crate) fn of_query(query: &Query, id: Option<&str>) -> Result<Self, Failure> {
        let namespace = query.text("checkpoint_ns").unwrap_or_default().to_owned();
        Ok(Self {
            checkpoint: CheckpointRef { namespace, id: id.map(str::to_owned) },
            subgraphs: query.flag("subgraphs")?.unwrap_or(false),
            select: query.all("select"),
        })
    }

    /// Reads the body of `POST /threads/{thread}/state/checkpoint`.
    ///
    /// # Errors
    /// Returns status 422 for a member of a wrong form.
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let members = Members::of(body)?;
        let checkpoint = members.inner("checkpoint")?.ok_or_else(|| members.missing("checkpoint"))?;
        Ok(Self {
            checkpoint: CheckpointRef::read(&checkpoint)?,
            subgraphs: members.flag("subgraphs", false)?,
            select: members.texts("select")?,
        })
    }
}

/// A change of a thread's state.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StateUpdate {
    /// The updates, in order; none to change only the next nodes.
    pub(crate) values: Vec<Map<String, Value>>,
    /// The node that the updates count as the result of.
    pub(crate) as_node: Option<String>,
    /// The checkpoint to change; `None` for the head.
    pub(crate) checkpoint: Option<CheckpointRef>,
}

impl StateUpdate {
    /// Reads the body of `POST /threads/{thread}/state`.
    ///
    /// # Errors
    /// Returns status 422 for a member of a wrong form.
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let members = Members::of(body)?;
        Ok(Self {
            values: updates(&members)?,
            as_node: members.text("as_node")?.map(str::to_owned),
            checkpoint: CheckpointRef::of(&members)?,
        })
    }
}

/// Reads the member `values`: an object, a list of objects, or nothing.
fn updates(members: &Members<'_>) -> Result<Vec<Map<String, Value>>, Failure> {
    match members.any("values") {
        None => Ok(Vec::new()),
        Some(Value::Object(update)) => Ok(vec![update.clone()]),
        Some(Value::Array(updates)) => {
            let objects: Option<Vec<_>> = updates.iter().map(|update| update.as_object().cloned()).collect();
            objects.ok_or_else(|| members.invalid("values", "expected an object or a list of objects"))
        }
        Some(_) => Err(members.invalid("values", "expected an object or a list of objects")),
    }
}

/// The updates that make up one superstep of a new thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Superstep(pub(crate) Vec<StateUpdate>);

impl Superstep {
    /// Reads the member `supersteps`.
    pub(super) fn read_all(members: &Members<'_>) -> Result<Vec<Self>, Failure> {
        let supersteps = members.list("supersteps")?.map(Vec::as_slice).unwrap_or_default();
        let read = supersteps.iter().map(|superstep| {
            let updates = superstep.get("updates").and_then(Value::as_array);
            let missing = || members.invalid("supersteps", "expected objects with a list \"updates\"");
            let read = updates.ok_or_else(missing)?.iter().map(StateUpdate::read);
            read.collect::<Result<Vec<_>, _>>().map(Self)
        });
        read.collect()
    }
}

/// A request for the history of a thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HistoryRequest {
    /// The maximum number of states.
    pub(crate) limit: usize,
    /// The checkpoint that all states precede.
    pub(crate) before: Option<String>,
    /// Entries that the metadata of a state must contain.
    pub(crate) metadata: Map<String, Value>,
    /// The subgraph, as `node:task|node:task`; empty for the graph itself.
    pub(crate) namespace: String,
}

impl HistoryRequest {
    /// Reads the body of `POST /threads/{thread}/history`.
    ///
    /// # Errors
    /// Returns status 422 for a member of a wrong form.
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let members = Members::of(body)?;
        let checkpoint = members.inner("checkpoint")?.map(|checkpoint| CheckpointRef::read(&checkpoint));
        Ok(Self {
            limit: members.page()?.limit,
            before: CheckpointRef::before(&members)?,
            metadata: members.object_or_empty("metadata")?,
            namespace: checkpoint.transpose()?.unwrap_or_default().namespace,
        })
    }

    /// Reads the query of `GET /threads/{thread}/history`.
    ///
    /// # Errors
    /// Returns status 422 for a parameter of a wrong form.
    pub(crate) fn of_query(query: &Query) -> Result<Self, Failure> {
        let limit = query.page()?.limit;
        let before = query.text("before").map(str::to_owned);
        Ok(Self { limit, before, ..Self::default() })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_update_is_an_object_a_list_or_nothing() {
        let read = |body: Value| StateUpdate::read(&body);
        assert_eq!(read(json!({ "values": { "count": 1 } })).unwrap().values.len(), 1);
        assert_eq!(
            read(json!({ "values": [{ "a": 1 }, { "a": 2 }], "as_node": "plan" })).unwrap().values.len(),
            2
        );
        let ends = read(json!({ "values": null, "as_node": "__end__" })).unwrap();
        assert_eq!((ends.values.len(), ends.as_node.as_deref()), (0, Some("__end__")));
        let error = read(json!({ "values": [3] })).unwrap_err();
        assert_eq!(error.status, 422);
        assert!(error.detail.starts_with("values:"));
    }

    #[test]
    fn the_history_begins_before_a_checkpoint_in_any_form() {
        for before in [
            json!("c"),
            json!({ "checkpoint_id": "c", "checkpoint_ns": "" }),
            json!({ "configurable": { "checkpoint_id": "c", "thread_id": "t" } }),
        ] {
            let request = HistoryRequest::read(&json!({ "before": before })).unwrap();
            assert_eq!((request.before.as_deref(), request.limit), (Some("c"), 10));
        }
        assert_eq!(HistoryRequest::read(&json!({ "before": 3 })).unwrap_err().status, 422);
        let below = json!({ "checkpoint": { "checkpoint_ns": "worker:1" } });
        assert_eq!(HistoryRequest::read(&below).unwrap().namespace, "worker:1");
    }
}
