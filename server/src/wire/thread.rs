//! Threads: requests, and rows as JSON.

use serde_json::{Map, Value, json};
use superstep_core::records::{Column, Expiry, ExpiryStrategy, Order, ThreadRow, ThreadStatus};

use super::members::{Members, Page};
use super::select::Extract;
use super::state_request::Superstep;
use super::{Failure, time};

/// A request for a new thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ThreadCreate {
    /// The id; `None` for a new one.
    pub(crate) id: Option<String>,
    /// Entries for its metadata.
    pub(crate) metadata: Map<String, Value>,
    /// `true` to return an existing thread with this id.
    pub(crate) returns_existing: bool,
    /// The lifetime.
    pub(crate) ttl: Option<Ttl>,
    /// Supersteps to store on the new thread.
    pub(crate) supersteps: Vec<Superstep>,
}

/// The lifetime of a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ttl {
    /// The lifetime after the last change, in minutes.
    pub(crate) minutes: f64,
    /// The manner of its end.
    pub(crate) strategy: ExpiryStrategy,
}

impl ThreadCreate {
    /// Reads the body of `POST /threads`.
    ///
    /// # Errors
    /// Returns status 422 for a member of a wrong form.
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let members = Members::of(body)?;
        Ok(Self {
            id: members.text("thread_id")?.map(str::to_owned),
            metadata: members.object_or_empty("metadata")?,
            returns_existing: members
                .choice("if_exists", &[("raise", false), ("do_nothing", true)])?
                .unwrap_or(false),
            ttl: Ttl::read(&members)?,
            supersteps: Superstep::read_all(&members)?,
        })
    }
}

impl Ttl {
    /// Reads the member `ttl`: a number of minutes, or an object.
    fn read(members: &Members<'_>) -> Result<Option<Self>, Failure> {
        if let Some(minutes) = members.any("ttl").and_then(Value::as_f64).filter(|minutes| *minutes >= 0.0) {
            return Ok(Some(Self { minutes, strategy: ExpiryStrategy::Delete }));
        }
        let Some(ttl) = members.inner("ttl")? else { return Ok(None) };
        let minutes = ttl.number("ttl")?.ok_or_else(|| ttl.missing("ttl"))?;
        Ok(Some(Self { minutes, strategy: strategy(&ttl)?.unwrap_or(ExpiryStrategy::Delete) }))
    }
}

fn strategy(members: &Members<'_>) -> Result<Option<ExpiryStrategy>, Failure> {
    let strategies = [("delete", ExpiryStrategy::Delete), ("keep_latest", ExpiryStrategy::KeepLatest)];
    members.choice("strategy", &strategies)
}

/// A change of a thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ThreadPatch {
    /// Entries that are merged into its metadata.
    pub(crate) metadata: Map<String, Value>,
    /// The lifetime.
    pub(crate) ttl: Option<Ttl>,
}

impl ThreadPatch {
    /// Reads the body of `PATCH /threads/{thread}`.
    ///
    /// # Errors
    /// Returns status 422 for a member of a wrong form.
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let members = Members::of(body)?;
        Ok(Self { metadata: members.object_or_empty("metadata")?, ttl: Ttl::read(&members)? })
    }
}

/// A request for threads, or for their number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ThreadSearch {
    /// Only threads with these ids.
    pub(crate) ids: Option<Vec<String>>,
    /// Entries that the metadata must contain.
    pub(crate) metadata: Map<String, Value>,
    /// Entries that the state must contain.
    pub(crate) values: Map<String, Value>,
    /// Only threads with this status.
    pub(crate) status: Option<ThreadStatus>,
    /// The page.
    pub(crate) page: Page,
    /// The order.
    pub(crate) order: Order,
    /// The members of each thread; `None` for all.
    pub(crate) select: Option<Vec<String>>,
    /// Values to take out of each thread, as its member `extracted`.
    pub(crate) extract: Extract,
}

impl ThreadSearch {
    /// Reads the body of `POST /threads/search` or `POST /threads/count`.
    ///
    /// # Errors
    /// Returns status 422 for a member of a wrong form.
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let members = Members::of(body)?;
        let statuses = [
            ("idle", ThreadStatus::Idle),
            ("busy", ThreadStatus::Busy),
            ("interrupted", ThreadStatus::Interrupted),
            ("error", ThreadStatus::Error),
        ];
        let columns = [
            ("thread_id", Column::Id),
            ("status", Column::Status),
            ("created_at", Column::Created),
            ("updated_at", Column::Updated),
            ("state_updated_at", Column::StateUpdated),
        ];
        Ok(Self {
            ids: members.texts("ids")?,
            metadata: members.object_or_empty("metadata")?,
            values: members.object_or_empty("values")?,
            status: members.choice("status", &statuses)?,
            page: members.page()?,
            order: order(&members, &columns)?,
            select: members.texts("select")?,
            extract: Extract::read(&members)?,
        })
    }
}

/// Reads the members `sort_by` and `sort_order`.
pub(super) fn order(members: &Members<'_>, columns: &[(&str, Column)]) -> Result<Order, Failure> {
    let ascending = members.choice("sort_order", &[("asc", true), ("desc", false)])?.unwrap_or(false);
    Ok(Order { by: members.choice("sort_by", columns)?.unwrap_or_default(), ascending })
}

/// A request to delete threads, or all of their checkpoints but the latest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Prune {
    /// The threads.
    pub(crate) threads: Vec<String>,
    /// The part that is deleted.
    pub(crate) strategy: ExpiryStrategy,
}

impl Prune {
    /// Reads the body of `POST /threads/prune`.
    ///
    /// # Errors
    /// Returns status 422 for a member of a wrong form.
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let members = Members::of(body)?;
        Ok(Self {
            threads: members.texts("thread_ids")?.ok_or_else(|| members.missing("thread_ids"))?,
            strategy: strategy(&members)?.unwrap_or(ExpiryStrategy::Delete),
        })
    }
}

/// The parts of a thread that its checkpoints have.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ThreadView {
    /// The state, in the form of clients; `None` before the first checkpoint.
    pub(crate) values: Option<Value>,
    /// The open questions by task, in the form of clients: see [`state::interrupts_by_task`](super::state).
    pub(crate) interrupts: Map<String, Value>,
}

/// Returns a thread as JSON. `shows_ttl` adds its lifetime.
pub(crate) fn thread(row: &ThreadRow, view: &ThreadView, shows_ttl: bool) -> Value {
    let mut config: Value = row.config.decode().unwrap_or_else(|_| json!({}));
    if row.graph.is_some() && view.values.is_some() && config.get("configurable").is_none() {
        config["configurable"] = json!({});
    }
    let error: Option<Value> = row.error.as_ref().and_then(|error| error.decode().ok());
    let mut thread = json!({
        "thread_id": row.id,
        "created_at": time::text(row.created_ms),
        "updated_at": time::text(row.updated_ms),
        "state_updated_at": time::text(row.state_updated_ms),
        "metadata": row.metadata,
        "status": row.status,
        "config": config,
        "values": view.values,
        "error": error,
        "interrupts": view.interrupts,
    });
    if let Some(expiry) = row.expiry.filter(|_| shows_ttl) {
        thread["ttl"] = ttl(&expiry);
    }
    thread
}

fn ttl(expiry: &Expiry) -> Value {
    json!({
        "strategy": expiry.strategy,
        "ttl_minutes": expiry.minutes,
        "expires_at": time::text(expiry.at_ms),
    })
}

#[cfg(test)]
mod tests {
    use superstep_core::state::Json;

    use super::*;

    #[test]
    fn a_new_thread_has_no_values_and_no_error() {
        let row = ThreadRow {
            id: "t".into(),
            graph: None,
            metadata: Map::new(),
            status: ThreadStatus::Idle,
            config: Json::encode(&json!({})).unwrap(),
            error: None,
            created_ms: 0,
            updated_ms: 1,
            state_updated_ms: 2,
            expiry: Some(Expiry { minutes: 60.0, strategy: ExpiryStrategy::KeepLatest, at_ms: 3_600_000 }),
        };
        let time = |ms: &str| format!("1970-01-01T00:00:00.{ms}000+00:00");
        let expected = json!({
            "thread_id": "t", "created_at": time("000"), "updated_at": time("001"), "state_updated_at": time("002"),
            "metadata": {}, "status": "idle", "config": {}, "values": null, "error": null, "interrupts": {},
        });
        assert_eq!(thread(&row, &ThreadView::default(), false), expected);
        let ttl = json!({ "strategy": "keep_latest", "ttl_minutes": 60.0, "expires_at": "1970-01-01T01:00:00.000000+00:00" });
        assert_eq!(thread(&row, &ThreadView::default(), true)["ttl"], ttl);
    }

    #[test]
    fn requests_have_their_defaults() {
        assert_eq!(ThreadCreate::read(&json!({})).unwrap(), ThreadCreate::default());
        let created = ThreadCreate::read(&json!({ "if_exists": "do_nothing", "ttl": 5, "supersteps": [
            { "updates": [{ "values": { "count": 5 }, "as_node": "plan" }] }] }));
        let created = created.unwrap();
        assert!(created.returns_existing);
        assert_eq!(created.ttl, Some(Ttl { minutes: 5.0, strategy: ExpiryStrategy::Delete }));
        assert_eq!(created.supersteps[0].0[0].as_node.as_deref(), Some("plan"));
        let search = ThreadSearch::read(&json!({ "sort_by": "updated_at", "sort_order": "asc" })).unwrap();
        assert_eq!(search.order, Order { by: Column::Updated, ascending: true });
        for (body, member) in [
            (json!({ "thread_id": 3 }), "thread_id"),
            (json!({ "ttl": { "strategy": "delete" } }), "ttl.ttl"),
            (json!({ "supersteps": [{}] }), "supersteps"),
            (json!({ "metadata": [] }), "metadata"),
        ] {
            let error = ThreadCreate::read(&body).unwrap_err();
            assert!(error.status == 422 && error.detail.contains(member), "{body}: {error}");
        }
    }
}
