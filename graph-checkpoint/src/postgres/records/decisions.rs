//! Decisions about a thread and its runs: rows are read, `life` decides, and the decision is stored if the rows are still
//! the same.

use superstep_core::checkpoint::StoreError;
use superstep_core::id::NodeName;
use superstep_core::records::life::{self, Decision, RunChange, Runs};
use superstep_core::records::{CancelAction, EventRow, RunRow, ThreadChange, ThreadRow, ThreadStatus};
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::super::call::Call;
use super::super::database::Repeat;
use super::super::error::Fault;
use super::super::session::scalar;
use super::super::stored::{self, Texts};
use super::postgres_records::PostgresRecords;
use super::rows::{self, encode, get, named, number, tags};

/// A thread and runs of it, as they were read.
pub(super) struct Held {
    id: i64,
    /// The version of its row.
    seen: String,
    pub(super) row: ThreadRow,
    /// The status without active runs.
    resting: ThreadStatus,
    /// `true` if it has active runs that were not read.
    has_others: bool,
    pub(super) runs: Vec<HeldRun>,
}

pub(super) struct HeldRun {
    id: i64,
    seen: String,
    pub(super) run: RunRow,
}

/// The columns of a thread, for the queries that read one.
pub(super) const THREAD: &str =
    "t.id AS thread_id, t.name AS thread_name, t.xmin::text AS thread_seen, t.resting, t.text AS thread_text";

impl Held {
    /// Reads the rows of a query: each has the [thread](THREAD), `has_others`, and a run with its version `seen`, if there is
    /// one.
    pub(super) fn of(texts: &Texts, rows: &[Row]) -> Result<Option<Self>, StoreError> {
        let Some(first) = rows.first() else { return Ok(None) };
        let mut runs = Vec::new();
        for row in rows {
            if let Some(seen) = get::<Option<String>>(row, "seen")? {
                runs.push(HeldRun { id: get(row, "id")?, seen, run: rows::run(texts, row)? });
            }
        }
        Ok(Some(Self {
            id: get(first, "thread_id")?,
            seen: get(first, "thread_seen")?,
            row: rows::thread(texts, get(first, "thread_name")?, get(first, "thread_text")?)?,
            resting: named("server_thread", get(first, "resting")?, ThreadStatus::from_name)?,
            has_others: get(first, "has_others")?,
            runs,
        }))
    }
}

/// The changes of a thread and its runs.
pub(super) struct Changes {
    held: Held,
    is_thread_changed: bool,
    has_other_metadata: bool,
    stored: Vec<(Option<i64>, RunRow)>,
    deleted: Vec<i64>,
    events: Vec<EventRow>,
}

impl Changes {
    pub(super) fn of(held: Held) -> Self {
        let (stored, deleted, events) = (Vec::new(), Vec::new(), Vec::new());
        Self { held, is_thread_changed: false, has_other_metadata: false, stored, deleted, events }
    }

    /// Adds a new run.
    pub(super) fn create(mut self, run: RunRow) -> Self {
        self.stored.push((None, run));
        self
    }

    pub(super) fn event(mut self, event: Option<EventRow>) -> Self {
        self.events.extend(event);
        self
    }

    /// Adds the changes of a decision.
    pub(super) fn decided<T>(mut self, decision: Decision<T>, now_ms: u64) -> (T, Self) {
        for change in decision.runs {
            let name = match &change {
                RunChange::Store(run) => &run.id,
                RunChange::Delete(name) => name,
            };
            let id = self.held.runs.iter().find(|held| held.run.id == *name).map(|held| held.id);
            match (id, change) {
                (Some(id), RunChange::Store(run)) => self.stored.push((Some(id), run)),
                (Some(id), RunChange::Delete(_)) => self.deleted.push(id),
                (None, _) => {}
            }
        }
        if let Some(change) = decision.thread {
            self.change(change, now_ms);
        }
        (decision.answer, self)
    }

    /// Changes the row of the thread, as [`life::change`] decides.
    pub(super) fn change(&mut self, change: ThreadChange, now_ms: u64) {
        let is_over = |held: &&HeldRun| {
            let stored = self.stored.iter().find(|(id, _)| *id == Some(held.id));
            self.deleted.contains(&held.id) || stored.map_or(&held.run, |(_, run)| run).status.is_terminal()
        };
        let is_new = self.stored.iter().any(|(id, _)| id.is_none());
        let runs = match self.held.has_others || is_new || !self.held.runs.iter().all(|held| is_over(&held)) {
            true => Runs::Active,
            false => Runs::Over,
        };
        self.has_other_metadata |= change.metadata.is_some();
        self.is_thread_changed = true;
        life::change(&mut self.held.row, &mut self.held.resting, change, runs, now_ms);
    }

    pub(super) fn into_row(self) -> ThreadRow {
        self.held.row
    }

    fn call(&self, texts: &Texts) -> Result<Call<'_>, StoreError> {
        let Held { id, seen, row, resting, runs, .. } = &self.held;
        let call = Call::of("decide").int(*id).text(seen.as_str());
        let call = call.ints(runs.iter().map(|held| held.id));
        let seen: Vec<&str> = runs.iter().map(|held| held.seen.as_str()).collect();
        let call = call.argument(seen, Type::TEXT_ARRAY);
        let text = match self.is_thread_changed {
            true => Some(encode(texts, "server_thread", row.id.as_str(), row)?),
            false => None,
        };
        let call = call.optional_name(row.graph.as_ref().map(NodeName::as_str)).text(row.status.as_str());
        let call = call.text(resting.as_str()).time(row.updated_ms).time(row.state_updated_ms);
        let call = call.int(row.expiry.map(|expiry| number(expiry.at_ms))).text(text);
        let tags = self.has_other_metadata.then(|| tags(texts, &row.metadata));
        let call = call.argument(tags, Type::BYTEA_ARRAY).ints(self.deleted.iter().copied());
        Ok(self.runs(call, texts)?.events(texts, &self.events)?.uuid(Some(Uuid::new_v4())))
    }

    /// Adds the columns of the runs that are stored.
    fn runs<'c>(&'c self, call: Call<'c>, texts: &Texts) -> Result<Call<'c>, StoreError> {
        let runs = || self.stored.iter().map(|(_, run)| run);
        let numbers = |call: Call<'c>, of: fn(&RunRow) -> u64| call.ints(runs().map(|run| number(of(run))));
        let ids: Vec<Option<i64>> = self.stored.iter().map(|(id, _)| *id).collect();
        let call = call.argument(ids, Type::INT8_ARRAY).names(runs().map(|run| &*run.id));
        let call = call.names(runs().map(|run| run.graph.as_str()));
        let statuses: Vec<&str> = runs().map(|run| run.status.as_str()).collect();
        let call = call.argument(statuses, Type::TEXT_ARRAY);
        let call = numbers(numbers(call, |run| run.not_before_ms), |run| run.until_ms);
        let call = numbers(numbers(call, |run| run.attempt.into()), |run| run.lost.into());
        let call = numbers(call, |run| run.updated_ms);
        let owners: Vec<Option<&[u8]>> = runs().map(|run| run.owner.as_deref().map(str::as_bytes)).collect();
        let cancels: Vec<Option<&str>> = runs().map(|run| run.cancel.map(CancelAction::as_str)).collect();
        let mut errors = Vec::new();
        for run in runs() {
            let cell = stored::run_error(run.id.as_bytes());
            let error =
                run.error.as_ref().map(|error| crate::records::encode(texts.limits, error)).transpose()?;
            errors.push(error.map(|error| texts.store_row(&cell, error)).transpose()?);
        }
        let call = call.argument(owners, Type::BYTEA_ARRAY).argument(cancels, Type::TEXT_ARRAY);
        let call = call.argument(errors, Type::TEXT_ARRAY);
        let next: Vec<Option<i64>> = runs().map(|run| run.calls.map(|calls| number(calls.next_ms))).collect();
        let call = call.argument(next, Type::INT8_ARRAY);
        let call = numbers(call, |run| run.calls.map_or(0, |calls| calls.started.into()));
        let mut requests = Vec::new();
        for (id, run) in &self.stored {
            // The request of an existing run stays as it is.
            let is_new = id.is_none();
            requests.push(is_new.then(|| encode(texts, "server_run", &run.id, run)).transpose()?);
        }
        Ok(call.argument(requests, Type::TEXT_ARRAY))
    }
}

impl PostgresRecords {
    /// Reads rows, decides, and stores the decision; from the beginning if other programs change the rows in between.
    pub(super) async fn decide<T: Send>(
        &self,
        read: &Call<'_>,
        decide: impl Fn(&[Row]) -> Result<(T, Option<Changes>), StoreError> + Send + Sync,
    ) -> Result<(T, Option<Changes>), StoreError> {
        self.check_writable()?;
        let attempts = self.database.attempts();
        loop {
            let (answer, changes) = decide(&self.read(read).await?)?;
            let Some(changes) = changes else { return Ok((answer, None)) };
            let written = {
                let call = changes.call(&self.texts)?;
                self.database.call(&call, Repeat::Always).await.map_err(Fault::plain)?
            };
            if scalar(&written)? {
                return Ok((answer, Some(changes)));
            }
            // Another program was faster.
            attempts.at_once()?;
        }
    }
}
