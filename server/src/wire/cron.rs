//! Schedules: requests, and rows as JSON.

use serde_json::{Map, Value, json};
use superstep_core::records::{Column, CronRow, Order};

use super::members::{Members, Page};
use super::request::RunCreate;
use super::thread::order;
use super::{Failure, time};

/// A request for a schedule of runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CronCreate {
    /// The times, as a cron expression. The service checks it.
    pub(crate) schedule: String,
    /// The time zone of the expression; UTC without one.
    pub(crate) timezone: Option<String>,
    /// The request of each run.
    pub(crate) run: RunCreate,
    /// The body of the request, which is shown as the payload.
    pub(crate) payload: Map<String, Value>,
    /// Entries for its metadata.
    pub(crate) metadata: Map<String, Value>,
    /// `true` if the thread of a run is kept, for runs on threads of their own.
    pub(crate) keeps_thread: bool,
    /// `false` for a schedule that starts nothing.
    pub(crate) enabled: bool,
    /// The time after which nothing starts, as an RFC 3339 text.
    pub(crate) end_time: Option<String>,
}

impl CronCreate {
    /// Reads the body of `POST /runs/crons` or `POST /threads/{thread}/runs/crons`.
    ///
    /// # Errors
    /// Returns status 422 for a member of a wrong form.
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let members = Members::of(body)?;
        let run = RunCreate::read(body)?;
        let payload = body.as_object().cloned().unwrap_or_default();
        Ok(Self {
            schedule: members.required("schedule")?.to_owned(),
            timezone: members.text("timezone")?.map(str::to_owned),
            metadata: members.object_or_empty("metadata")?,
            keeps_thread: keeps_thread(&members)?.unwrap_or(false),
            enabled: members.flag("enabled", true)?,
            end_time: members.text("end_time")?.map(str::to_owned),
            payload: payload.into_iter().filter(|(_, value)| !value.is_null()).collect(),
            run,
        })
    }
}

fn keeps_thread(members: &Members<'_>) -> Result<Option<bool>, Failure> {
    members.choice("on_run_completed", &[("delete", false), ("keep", true)])
}

/// A change of a schedule. Members that are `None` stay as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CronPatch {
    /// The times, as a cron expression.
    pub(crate) schedule: Option<String>,
    /// The time zone of the expression.
    pub(crate) timezone: Option<String>,
    /// `false` for a schedule that starts nothing.
    pub(crate) enabled: Option<bool>,
    /// The time after which nothing starts, as an RFC 3339 text.
    pub(crate) end_time: Option<String>,
    /// `true` if the thread of a run is kept.
    pub(crate) keeps_thread: Option<bool>,
    /// Entries that are merged into its metadata.
    pub(crate) metadata: Map<String, Value>,
    /// The webhook of each run, which is also a member of the request.
    pub(crate) webhook: Option<String>,
    /// Members of the request of each run, which replace the present ones.
    pub(crate) payload: Map<String, Value>,
}

impl CronPatch {
    /// Reads the body of `PATCH /runs/crons/{cron}`.
    ///
    /// # Errors
    /// Returns status 422 for a member of a wrong form.
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let members = Members::of(body)?;
        let own = ["schedule", "timezone", "enabled", "end_time", "on_run_completed"];
        let payload = body.as_object().into_iter().flatten();
        let payload = payload.filter(|(name, value)| !own.contains(&name.as_str()) && !value.is_null());
        Ok(Self {
            schedule: members.text("schedule")?.map(str::to_owned),
            timezone: members.text("timezone")?.map(str::to_owned),
            enabled: members.any("enabled").map(|_| members.flag("enabled", true)).transpose()?,
            end_time: members.text("end_time")?.map(str::to_owned),
            keeps_thread: keeps_thread(&members)?,
            metadata: members.object_or_empty("metadata")?,
            webhook: members.text("webhook")?.map(str::to_owned),
            payload: payload.map(|(name, value)| (name.clone(), value.clone())).collect(),
        })
    }
}

/// A request for schedules, or for their number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CronSearch {
    /// Only schedules of this assistant.
    pub(crate) assistant: Option<String>,
    /// Only schedules of this thread.
    pub(crate) thread: Option<String>,
    /// Only schedules that are enabled, or not.
    pub(crate) enabled: Option<bool>,
    /// Entries that the metadata must contain.
    pub(crate) metadata: Map<String, Value>,
    /// The page.
    pub(crate) page: Page,
    /// The order.
    pub(crate) order: Order,
    /// The members of each schedule; `None` for all.
    pub(crate) select: Option<Vec<String>>,
}

impl CronSearch {
    /// Reads the body of `POST /runs/crons/search` or `POST /runs/crons/count`.
    ///
    /// # Errors
    /// Returns status 422 for a member of a wrong form.
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let members = Members::of(body)?;
        let columns = [
            ("cron_id", Column::Id),
            ("assistant_id", Column::Id),
            ("thread_id", Column::Id),
            ("created_at", Column::Created),
            ("updated_at", Column::Updated),
            ("next_run_date", Column::Next),
        ];
        Ok(Self {
            assistant: members.text("assistant_id")?.map(str::to_owned),
            thread: members.text("thread_id")?.map(str::to_owned),
            enabled: members.any("enabled").map(|_| members.flag("enabled", true)).transpose()?,
            metadata: members.object_or_empty("metadata")?,
            page: members.page()?,
            order: order(&members, &columns)?,
            select: members.texts("select")?,
        })
    }
}

/// Returns a schedule as JSON.
pub(crate) fn cron(row: &CronRow) -> Value {
    let completed = row.thread.is_none().then_some(if row.keeps_thread { "keep" } else { "delete" });
    json!({
        "cron_id": row.id,
        "assistant_id": row.assistant,
        "thread_id": row.thread,
        "user_id": "",
        "end_time": row.end_ms.map(time::text),
        "schedule": row.schedule,
        "timezone": row.timezone,
        "payload": payload(row),
        "next_run_date": row.next_ms.map(seconds),
        "metadata": row.metadata,
        "on_run_completed": completed,
        "enabled": row.enabled,
        "created_at": time::text(row.created_ms),
        "updated_at": time::text(row.updated_ms),
    })
}

/// Returns the request of the runs, with the ids that they get: that of the assistant, and that of the schedule in the
/// configuration.
fn payload(row: &CronRow) -> Value {
    let mut payload: Map<String, Value> = row.payload.decode().unwrap_or_default();
    payload.insert("assistant_id".into(), row.assistant.as_str().into());
    let config = payload.entry("config").or_insert_with(|| json!({}));
    config["configurable"]["cron_id"] = row.id.as_str().into();
    payload.into()
}

/// Returns a time without a fraction if it has none, as schedules have it.
fn seconds(unix_ms: u64) -> String {
    time::text(unix_ms).replace(".000000+", "+")
}

#[cfg(test)]
mod tests {
    use superstep_core::state::Json;

    use super::*;

    #[test]
    fn a_schedule_shows_its_payload_and_its_next_start() {
        let body = json!({ "assistant_id": "agent", "schedule": "0 0 1 1 *", "input": { "x": 1 }, "timezone": null });
        let request = CronCreate::read(&body).unwrap();
        assert_eq!(request.payload.len(), 3);
        let row = CronRow {
            id: "c".into(),
            thread: None,
            assistant: "a".into(),
            schedule: request.schedule,
            timezone: None,
            payload: Json::encode(&request.payload).unwrap(),
            metadata: Map::new(),
            keeps_thread: false,
            enabled: true,
            next_ms: Some(1_798_761_600_000),
            end_ms: None,
            created_ms: 0,
            updated_ms: 0,
        };
        let shown = cron(&row);
        assert_eq!(shown["next_run_date"], "2027-01-01T00:00:00+00:00");
        assert_eq!(shown["on_run_completed"], "delete");
        let config = json!({ "configurable": { "cron_id": "c" } });
        let request =
            json!({ "assistant_id": "a", "schedule": "0 0 1 1 *", "input": { "x": 1 }, "config": config });
        assert_eq!(shown["payload"], request);
        assert_eq!(CronCreate::read(&json!({ "assistant_id": "a" })).unwrap_err().status, 422);
        let patch = CronPatch::read(&json!({ "enabled": false, "input": { "x": 2 } })).unwrap();
        assert_eq!((patch.enabled, json!(patch.payload)), (Some(false), json!({ "input": { "x": 2 } })));
    }
}
