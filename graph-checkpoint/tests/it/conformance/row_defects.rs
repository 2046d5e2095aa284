//! A store that keeps the rows of a server wrongly fails the items about its defect.

mod noticed;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use superstep_conformance::{self as conformance, Outcome, Subject};
use superstep_core::checkpoint::{Around, Checkpointer, MemorySaver, StoreError};
use superstep_core::error::BoxError;
use superstep_core::id::{NodeName, ThreadId};
use superstep_core::records::life::{Admitted, Beat, Cancelled, Ending};
use superstep_core::records::{
    AssistantQuery, AssistantRow, CancelAction, CronQuery, CronRow, EventRow, Found, Heartbeat, Multitask,
    Records, RunClaim, RunQuery, RunRow, RunStatus, ThreadChange, ThreadQuery, ThreadRow, ThreadStatus,
};

use noticed::{Defect, NOTICED};

/// A memory saver whose rows have a defect. Clones are openings of one store.
struct Broken {
    inner: MemorySaver,
    rows: Arc<Rows>,
}

struct Rows {
    inner: Arc<dyn Records>,
    defect: Defect,
    /// The runs that this opening has stored.
    own: Mutex<HashSet<String>>,
    /// The run that was claimed last.
    claimed: Mutex<Option<RunRow>>,
}

impl Rows {
    fn new(saver: &MemorySaver, defect: Defect) -> Arc<Self> {
        let inner = saver.records().expect("a memory saver has rows");
        Arc::new(Self { inner, defect, own: Mutex::default(), claimed: Mutex::default() })
    }

    fn has(&self, defect: Defect) -> bool {
        self.defect == defect
    }
}

impl Broken {
    fn of(inner: MemorySaver, defect: Defect) -> Self {
        Self { rows: Rows::new(&inner, defect), inner }
    }
}

#[async_trait]
impl Around for Broken {
    fn inner(&self) -> &dyn Checkpointer {
        &self.inner
    }

    fn records(&self) -> Option<Arc<dyn Records>> {
        match self.rows.defect {
            defect @ Defect::RowsAreMadeAgain => Some(Rows::new(&self.inner, defect)),
            _ => Some(self.rows.clone()),
        }
    }

    async fn delete(&self, graph: &NodeName, thread: &ThreadId) -> Result<(), StoreError> {
        let row = self.rows.inner.thread(thread).await?;
        self.inner.delete(graph, thread).await?;
        if let Some(row) = row.filter(|_| self.rows.has(Defect::CheckpointsLeaveRows)) {
            self.rows.inner.insert_thread(row).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl Records for Rows {
    async fn insert_thread(&self, thread: ThreadRow) -> Result<(ThreadRow, bool), StoreError> {
        let stored = self.inner.insert_thread(thread.clone()).await?;
        Ok(if self.has(Defect::InsertsReplace) { (thread, true) } else { stored })
    }

    async fn thread(&self, thread: &ThreadId) -> Result<Option<ThreadRow>, StoreError> {
        self.inner.thread(thread).await
    }

    async fn change_thread(
        &self,
        thread: &ThreadId,
        mut change: ThreadChange,
        now_ms: u64,
    ) -> Result<Option<ThreadRow>, StoreError> {
        if self.has(Defect::MetadataLost) {
            change.metadata = None;
        }
        self.inner.change_thread(thread, change, now_ms).await
    }

    async fn delete_thread(&self, thread: &ThreadId) -> Result<bool, StoreError> {
        match self.defect {
            Defect::ThreadsStay => Ok(self.inner.thread(thread).await?.is_some()),
            _ => self.inner.delete_thread(thread).await,
        }
    }

    async fn threads(&self, query: &ThreadQuery) -> Result<Found<ThreadRow>, StoreError> {
        let mut query = query.clone();
        match self.defect {
            Defect::MetadataIgnored => query.metadata.clear(),
            Defect::StatusIgnored => query.status = None,
            Defect::OrderIgnored => query.order = ThreadQuery::default().order,
            _ => {}
        }
        self.inner.threads(&query).await
    }

    async fn create_run(&self, mut run: RunRow) -> Result<Admitted, StoreError> {
        self.own.lock().expect("no other thread panicked").insert(run.id.clone());
        match (self.defect, run.multitask) {
            (Defect::BusyThreadsAdmit, Multitask::Reject)
            | (Defect::InterruptsWait, Multitask::Interrupt) => {
                run.multitask = Multitask::Enqueue;
            }
            (Defect::RollbacksInterrupt, Multitask::Rollback) => run.multitask = Multitask::Interrupt,
            (Defect::DelaysIgnored, _) => run.not_before_ms = 0,
            _ => {}
        }
        match self.inner.create_run(run).await? {
            Admitted::Exists if self.has(Defect::AdmittedTwice) => {
                Ok(Admitted::Stored { ended: Vec::new(), asked: Vec::new() })
            }
            admitted => Ok(admitted),
        }
    }

    async fn run(&self, id: &str) -> Result<Option<RunRow>, StoreError> {
        let is_seen = !self.has(Defect::RunsAreVolatile)
            || self.own.lock().expect("no other thread panicked").contains(id);
        Ok(self.inner.run(id).await?.filter(|_| is_seen))
    }

    async fn runs(&self, query: &RunQuery) -> Result<Found<RunRow>, StoreError> {
        let mut found = self.inner.runs(query).await?;
        if self.has(Defect::OldestRunsFirst) {
            found.rows.reverse();
        }
        Ok(found)
    }

    async fn claim_run(&self, claim: &RunClaim, now_ms: u64) -> Result<Option<RunRow>, StoreError> {
        let mut claim = claim.clone();
        if self.has(Defect::GraphsIgnored) {
            claim.graphs = vec!["graph".into(), "other".into()];
        }
        if self.has(Defect::LeftRunsAreClaimed) {
            claim.left.clear();
        }
        let now_ms = if self.has(Defect::AbandonedRunsStay) { 0 } else { now_ms };
        let claimed = self.inner.claim_run(&claim, now_ms).await?;
        if !self.has(Defect::ClaimedTwice) {
            return Ok(claimed);
        }
        let mut last = self.claimed.lock().expect("no other thread panicked");
        Ok(match claimed {
            Some(run) => last.insert(run).clone().into(),
            None => last.take(),
        })
    }

    async fn beat(&self, heartbeats: &[Heartbeat], until_ms: u64) -> Result<Vec<Beat>, StoreError> {
        let mut answers = Vec::new();
        for heartbeat in heartbeats {
            let held = self.inner.run(&heartbeat.run).await?.map_or(until_ms, |row| row.until_ms);
            let until_ms = if self.has(Defect::BeatsExtendNothing) { held } else { until_ms };
            let lost = heartbeat.lost.filter(|_| !self.has(Defect::LostAttemptsStay));
            let heartbeat = Heartbeat { lost, ..heartbeat.clone() };
            answers.extend(self.inner.beat(&[heartbeat], until_ms).await?);
        }
        Ok(answers)
    }

    async fn finish_run(
        &self,
        run: &str,
        attempt: u32,
        ending: Ending,
        last: Option<EventRow>,
        now_ms: u64,
    ) -> Result<bool, StoreError> {
        let (mut attempt, mut ending) = (attempt, ending);
        match (self.defect, &ending) {
            (Defect::AttemptsIgnored, _) => {
                attempt = self.inner.run(run).await?.map_or(attempt, |row| row.attempt);
            }
            (Defect::GivenBackIsLost, Ending::GivenBack) => {
                let heartbeat = Heartbeat { run: run.to_owned(), attempt, lost: None };
                return Ok(self.inner.beat(&[heartbeat], 0).await? != [Beat::Lost]);
            }
            (Defect::RolledBackRunsStay, Ending::RolledBack { thread }) => {
                ending = Ending::Ended { status: RunStatus::Interrupted, thread: *thread, error: None };
            }
            _ => {}
        }
        let last = last.filter(|_| !self.has(Defect::LastEventsLost));
        let has_ended = self.inner.finish_run(run, attempt, ending, last, now_ms).await?;
        Ok(has_ended || self.has(Defect::EndsTwice))
    }

    async fn cancel_run(
        &self,
        run: &str,
        action: CancelAction,
        now_ms: u64,
    ) -> Result<Cancelled, StoreError> {
        let row = self.inner.run(run).await?;
        let is_running = row.as_ref().is_some_and(|row| row.status == RunStatus::Running);
        if is_running && self.has(Defect::RequestsToCancelLost) {
            return Ok(Cancelled::Asked);
        }
        let action = if self.has(Defect::RollbacksInterrupt) { CancelAction::Interrupt } else { action };
        let cancelled = self.inner.cancel_run(run, action, now_ms).await?;
        if let Some(row) = row.filter(|_| self.has(Defect::RestingStatusLost)) {
            let change = ThreadChange { status: Some(ThreadStatus::Idle), ..ThreadChange::default() };
            self.inner.change_thread(&row.thread, change, now_ms).await?;
        }
        Ok(cancelled)
    }

    async fn delete_run(&self, run: &str) -> Result<bool, StoreError> {
        if self.has(Defect::RunningRunsAreDeleted)
            && let Some(row) = self.inner.run(run).await?
        {
            let ending =
                Ending::Ended { status: RunStatus::Success, thread: ThreadStatus::Idle, error: None };
            self.inner.finish_run(run, row.attempt, ending, None, row.updated_ms).await?;
        }
        self.inner.delete_run(run).await
    }

    async fn claim_call(
        &self,
        graphs: &[NodeName],
        until_ms: u64,
        now_ms: u64,
    ) -> Result<Option<RunRow>, StoreError> {
        let (until_ms, now_ms) = match self.defect {
            Defect::WebhooksIgnored => return Ok(None),
            Defect::CallsAreMadeTwice => (now_ms, now_ms),
            Defect::CallTimesIgnored => (until_ms, now_ms + 60_000),
            _ => (until_ms, now_ms),
        };
        self.inner.claim_call(graphs, until_ms, now_ms).await
    }

    async fn finish_call(&self, run: &str, call: u32, next_ms: Option<u64>) -> Result<bool, StoreError> {
        let calls = self.inner.run(run).await?.and_then(|row| row.calls);
        let call = match calls.filter(|_| self.has(Defect::LostCallsCount)) {
            Some(calls) => calls.started,
            None => call,
        };
        self.inner.finish_call(run, call, next_ms).await
    }

    async fn put_assistant(&self, assistant: AssistantRow) -> Result<(AssistantRow, bool), StoreError> {
        self.inner.put_assistant(assistant).await
    }

    async fn assistant(&self, id: &str) -> Result<Option<AssistantRow>, StoreError> {
        self.inner.assistant(id).await
    }

    async fn assistants(&self, query: &AssistantQuery) -> Result<Found<AssistantRow>, StoreError> {
        let name = query.name.clone().filter(|_| !self.has(Defect::NamesIgnored));
        self.inner.assistants(&AssistantQuery { name, ..query.clone() }).await
    }

    async fn versions(&self, assistant: &str) -> Result<Vec<AssistantRow>, StoreError> {
        let mut versions = self.inner.versions(assistant).await?;
        if self.has(Defect::VersionsForgotten) {
            versions.truncate(1);
        }
        Ok(versions)
    }

    async fn set_version(
        &self,
        assistant: &str,
        version: u32,
        now_ms: u64,
    ) -> Result<Option<AssistantRow>, StoreError> {
        self.inner.set_version(assistant, version, now_ms).await
    }

    async fn delete_assistant(&self, id: &str) -> Result<bool, StoreError> {
        self.inner.delete_assistant(id).await
    }

    async fn put_cron(&self, cron: CronRow) -> Result<(), StoreError> {
        self.inner.put_cron(cron).await
    }

    async fn cron(&self, id: &str) -> Result<Option<CronRow>, StoreError> {
        self.inner.cron(id).await
    }

    async fn crons(&self, query: &CronQuery) -> Result<Found<CronRow>, StoreError> {
        let due_ms = query.due_ms.filter(|_| !self.has(Defect::DueTimesIgnored));
        self.inner.crons(&CronQuery { due_ms, ..query.clone() }).await
    }

    async fn advance_cron(&self, id: &str, due_ms: u64, next_ms: Option<u64>) -> Result<bool, StoreError> {
        let has_moved = self.inner.advance_cron(id, due_ms, next_ms).await?;
        Ok(has_moved || self.has(Defect::SchedulesAdvanceTwice))
    }

    async fn delete_cron(&self, id: &str) -> Result<bool, StoreError> {
        self.inner.delete_cron(id).await
    }

    async fn reserve_events(&self, thread: &ThreadId, count: u64) -> Result<u64, StoreError> {
        let first = self.inner.reserve_events(thread, count).await?;
        if self.has(Defect::EventNumbersReused) {
            self.inner.release_events(thread, first, first + count).await?;
        }
        Ok(first)
    }

    async fn release_events(&self, thread: &ThreadId, next: u64, reserved_to: u64) -> Result<(), StoreError> {
        self.inner.release_events(thread, next, reserved_to).await
    }

    async fn append_events(&self, attempt: u32, events: Vec<EventRow>) -> Result<bool, StoreError> {
        let latest = match events.first().filter(|_| self.has(Defect::LateEventsAreStored)) {
            Some(event) => self.inner.run(&event.run).await?,
            None => None,
        };
        self.inner.append_events(latest.map_or(attempt, |run| run.attempt), events).await
    }

    async fn events(
        &self,
        thread: &ThreadId,
        run: Option<&str>,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        let mut events = self.inner.events(thread, run, after, limit).await?;
        if self.has(Defect::EventsReversed) {
            events.reverse();
        }
        Ok(events)
    }

    async fn expire_events(&self, thread: &ThreadId, run: &str, at_ms: u64) -> Result<(), StoreError> {
        match self.defect {
            Defect::EventsNeverExpire => Ok(()),
            _ => self.inner.expire_events(thread, run, at_ms).await,
        }
    }

    async fn sweep(&self, now_ms: u64, limit: usize) -> Result<Vec<ThreadRow>, StoreError> {
        match self.defect {
            Defect::NothingExpires => Ok(Vec::new()),
            Defect::SweptBeforeTheCall => {
                let query = ThreadQuery { limit, ..ThreadQuery::default() };
                let mut rows = self.inner.threads(&query).await?.rows;
                rows.retain(|row| row.expiry.is_some_and(|expiry| expiry.at_ms <= now_ms));
                Ok(rows)
            }
            _ => self.inner.sweep(now_ms, limit).await,
        }
    }
}

struct Stores(Defect);

#[async_trait]
impl Subject for Stores {
    type Saver = Broken;

    async fn fresh(&self) -> Result<Broken, BoxError> {
        Ok(Broken::of(MemorySaver::new(), self.0))
    }

    async fn reopen(&self, saver: &Broken) -> Result<Option<Broken>, BoxError> {
        Ok(Some(Broken::of(saver.inner.clone(), self.0)))
    }
}

/// Returns the items of the groups about rows that a store fails.
fn failed(defect: Defect) -> Vec<&'static str> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let groups = ["rows.", "queue.", "webhooks.", "assistants."];
    let reports = groups.map(|group| runtime.block_on(conformance::run_only(&Stores(defect), group)));
    let is_failed = |(_, outcome): &(_, &Outcome)| **outcome != Outcome::Passed;
    reports.iter().flat_map(|report| report.items().filter(is_failed).map(|(item, _)| item.name)).collect()
}

#[test]
fn the_wrapper_of_rows_itself_fails_nothing() {
    assert_eq!(failed(Defect::None), Vec::<&str>::new());
}

#[test]
fn every_defect_of_rows_fails_the_items_that_are_about_it() {
    for (defect, items) in NOTICED {
        let failed = failed(defect);
        println!("{defect:?} fails {failed:?}");
        for item in items {
            assert!(failed.contains(item), "{item} does not notice {defect:?}; only {failed:?} do");
        }
    }
}

/// An item that no store fails may be wrong itself.
#[test]
fn every_item_about_rows_notices_a_defect() {
    let noticed: HashSet<&str> = NOTICED.iter().flat_map(|(_, items)| items.iter().copied()).collect();
    let about_rows =
        |name: &str| ["rows.", "queue.", "assistants."].iter().any(|group| name.starts_with(group));
    let unnoticed: Vec<_> = conformance::items()
        .map(|item| item.name)
        .filter(|name| about_rows(name) && !noticed.contains(name))
        .collect();
    assert_eq!(unnoticed, Vec::<&str>::new());
}
