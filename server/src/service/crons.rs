//! Schedules of runs.

use serde_json::{Map, Value};
use superstep_core::records::{CronQuery, CronRow};
use superstep_core::state::Json;

use super::runs::redacted;
use super::schedule::{next, time};
use super::state::thread_id;
use super::{Scope, Service, new_id};
use crate::wire::Failure;
use crate::wire::cron::{CronCreate, CronPatch, CronSearch, cron};
use crate::wire::request::RunCreate;
use crate::wire::select::select;

/// The number of due schedules that are read at once.
const DUE: usize = 256;

impl Service {
    /// Returns `true` if the server was built with schedules.
    pub(crate) fn has_crons(&self) -> bool {
        cfg!(feature = "crons")
    }

    /// Creates a schedule, of runs on a thread or on threads of their own.
    pub(crate) async fn create_cron(
        &self,
        scope: &Scope,
        thread: Option<&str>,
        request: CronCreate,
    ) -> Result<Value, Failure> {
        let now = self.now_ms();
        self.check_webhook(request.run.kwargs.webhook.as_deref())?;
        let assistant = self.assistant_row(scope, &request.run.assistant).await?;
        let thread = match thread {
            Some(thread) => Some(self.thread_row(scope, thread).await?.id),
            None => None,
        };
        let next_ms = next(&request.schedule, request.timezone.as_deref(), now)?;
        let end_ms = request.end_time.as_deref().map(time).transpose()?;
        let row = CronRow {
            id: new_id(),
            thread,
            assistant: assistant.id,
            schedule: request.schedule,
            timezone: request.timezone,
            payload: payload(&request.payload),
            metadata: scope.stamped(request.metadata),
            keeps_thread: request.keeps_thread,
            enabled: request.enabled,
            next_ms: next_ms.filter(|next| end_ms.is_none_or(|end| *next <= end)),
            end_ms,
            created_ms: now,
            updated_ms: now,
        };
        self.0.records.put_cron(row.clone()).await?;
        Ok(self.shown_cron(row))
    }

    /// Returns a schedule for clients, without the secrets of its request.
    fn shown_cron(&self, row: CronRow) -> Value {
        cron(&CronRow { payload: redacted(row.payload, self.0.graphs.iter()), ..row })
    }

    async fn cron_row(&self, scope: &Scope, id: &str) -> Result<CronRow, Failure> {
        let row = self.0.records.cron(id).await?;
        let unknown = || Failure::not_found(format!("Cron with ID {id} not found"));
        row.filter(|row| scope.admits(&row.metadata)).ok_or_else(unknown)
    }

    /// Returns a schedule.
    pub(crate) async fn cron(&self, scope: &Scope, id: &str) -> Result<Value, Failure> {
        Ok(self.shown_cron(self.cron_row(scope, id).await?))
    }

    /// Changes a schedule. Its next time follows from the new one.
    pub(crate) async fn patch_cron(
        &self,
        scope: &Scope,
        id: &str,
        patch: CronPatch,
    ) -> Result<Value, Failure> {
        let mut row = self.cron_row(scope, id).await?;
        let now = self.now_ms();
        self.check_webhook(patch.webhook.as_deref())?;
        let mut request: Map<String, Value> = row.payload.decode().unwrap_or_default();
        request.extend(patch.payload);
        row.payload = payload(&request);
        row.schedule = patch.schedule.unwrap_or(row.schedule);
        row.timezone = patch.timezone.or(row.timezone);
        row.end_ms = patch.end_time.as_deref().map(time).transpose()?.or(row.end_ms);
        row.enabled = patch.enabled.unwrap_or(row.enabled);
        row.keeps_thread = patch.keeps_thread.unwrap_or(row.keeps_thread);
        row.metadata.extend(scope.stamped(patch.metadata));
        row.updated_ms = now;
        let (next_ms, end_ms) = (next(&row.schedule, row.timezone.as_deref(), now)?, row.end_ms);
        row.next_ms = next_ms.filter(|next| end_ms.is_none_or(|end| *next <= end));
        self.0.records.put_cron(row.clone()).await?;
        Ok(self.shown_cron(row))
    }

    /// Deletes a schedule.
    pub(crate) async fn delete_cron(&self, scope: &Scope, id: &str) -> Result<(), Failure> {
        let row = self.cron_row(scope, id).await?;
        match self.0.records.delete_cron(&row.id).await? {
            true => Ok(()),
            false => Err(Failure::not_found(format!("Cron with ID {id} not found"))),
        }
    }

    /// Finds schedules. Returns a page and the number of all that fit.
    pub(crate) async fn search_crons(
        &self,
        scope: &Scope,
        request: CronSearch,
    ) -> Result<(Vec<Value>, u64), Failure> {
        let selected = request.select.clone();
        let found = self.0.records.crons(&query(scope, request)).await?;
        let shown = |row| select(self.shown_cron(row), selected.as_deref());
        Ok((found.rows.into_iter().map(shown).collect(), found.total))
    }

    /// Returns the number of schedules that fit.
    pub(crate) async fn count_crons(&self, scope: &Scope, request: CronSearch) -> Result<u64, Failure> {
        let query = CronQuery { offset: 0, limit: 0, ..query(scope, request) };
        Ok(self.0.records.crons(&query).await?.total)
    }

    /// Starts the runs of the schedules that are due. Each time starts one run, whichever process is first.
    pub(super) async fn start_due(&self) -> Result<(), Failure> {
        if !self.has_crons() {
            return Ok(());
        }
        let now = self.now_ms();
        let query = CronQuery { enabled: Some(true), due_ms: Some(now), limit: DUE, ..CronQuery::default() };
        for row in self.0.records.crons(&query).await?.rows {
            let Some(due_ms) = row.next_ms else { continue };
            let end = |next: &u64| row.end_ms.is_none_or(|end| *next <= end);
            let next_ms = next(&row.schedule, row.timezone.as_deref(), now)?.filter(end);
            if self.0.records.advance_cron(&row.id, due_ms, next_ms).await?
                && let Err(failure) = self.start_scheduled(&row).await
            {
                tracing::warn!(%failure, cron = row.id, "a scheduled run could not be created");
            }
        }
        Ok(())
    }

    async fn start_scheduled(&self, row: &CronRow) -> Result<(), Failure> {
        let mut request: Map<String, Value> = row.payload.decode().unwrap_or_default();
        request.insert("assistant_id".to_owned(), row.assistant.clone().into());
        let mut request = RunCreate::read(&request.into())?;
        request.kwargs.config.configurable.insert("cron_id".to_owned(), row.id.clone().into());
        request.keeps_thread = row.keeps_thread;
        // The runs of a schedule belong to the client that created it.
        let scope = Scope { stamp: row.metadata.clone(), ..Scope::default() };
        self.create_run(&scope, row.thread.as_ref().map(|thread| thread.as_str()), request).await.map(drop)
    }
}

fn payload(request: &Map<String, Value>) -> Json {
    Json::encode(request).expect("an object has a JSON form")
}

fn query(scope: &Scope, request: CronSearch) -> CronQuery {
    CronQuery {
        assistant: request.assistant,
        thread: request.thread.as_deref().map(thread_id),
        enabled: request.enabled,
        metadata: scope.narrowed(request.metadata),
        due_ms: None,
        order: request.order,
        offset: request.page.offset,
        limit: request.page.limit,
    }
}
