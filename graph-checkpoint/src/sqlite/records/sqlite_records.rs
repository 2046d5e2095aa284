//! The rows of a server as a trait object.

use async_trait::async_trait;
use superstep_core::checkpoint::StoreError;
use superstep_core::id::{NodeName, ThreadId};
use superstep_core::records::life::{Admitted, Beat, Cancelled, Ending};
use superstep_core::records::{
    AssistantQuery, AssistantRow, CancelAction, CronQuery, CronRow, EventRow, Found, Heartbeat, Records,
    RunClaim, RunQuery, RunRow, ThreadChange, ThreadQuery, ThreadRow,
};

use super::threads::Held as Thread;
use super::{assistants, delete_thread, events, runs, search, threads};
use crate::records::check_events;
use crate::sqlite::ReadFile;
use crate::sqlite::connection::Connection;
use crate::sqlite::saver::SqliteSaver;

/// The rows in a saver's file. Its writer writes them together with other requests, and as durably.
pub(crate) struct SqliteRecords {
    source: Source,
}

enum Source {
    Saver(SqliteSaver),
    Reader(ReadFile),
}

impl SqliteRecords {
    pub(crate) fn new(saver: SqliteSaver) -> Self {
        Self { source: Source::Saver(saver) }
    }

    /// Returns the rows for a saver that only reads.
    pub(crate) fn of_reader(file: ReadFile) -> Self {
        Self { source: Source::Reader(file) }
    }

    fn check_events(&self, events: &[EventRow]) -> Result<(), StoreError> {
        match &self.source {
            Source::Saver(saver) => check_events(saver.limits(), events),
            Source::Reader(file) => Err(file.refused()),
        }
    }

    async fn write<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        match &self.source {
            Source::Saver(saver) => saver.request(move |turn| work(&turn.cache.connection)).await,
            Source::Reader(file) => Err(file.refused()),
        }
    }

    /// Writes rows that only matter to the processes that run.
    async fn write_unsynced<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        match &self.source {
            Source::Saver(saver) => saver.request_unsynced(move |turn| work(&turn.cache.connection)).await,
            Source::Reader(file) => Err(file.refused()),
        }
    }

    /// Reads rows. Every write of a row has a waiting caller, so nothing needs to be written first.
    async fn read<T: Send + 'static>(
        &self,
        work: impl Fn(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        match &self.source {
            Source::Saver(saver) => saver.query_stored(work).await,
            Source::Reader(file) => file.query(work).await,
        }
    }
}

#[async_trait]
impl Records for SqliteRecords {
    async fn insert_thread(&self, thread: ThreadRow) -> Result<(ThreadRow, bool), StoreError> {
        self.write(move |connection| threads::insert(connection, thread.clone())).await
    }

    async fn thread(&self, thread: &ThreadId) -> Result<Option<ThreadRow>, StoreError> {
        let thread = thread.clone();
        self.read(move |connection| Ok(Thread::find(connection, &thread)?.map(|held| held.row))).await
    }

    async fn change_thread(
        &self,
        thread: &ThreadId,
        change: ThreadChange,
        now_ms: u64,
    ) -> Result<Option<ThreadRow>, StoreError> {
        let thread = thread.clone();
        self.write(move |connection| {
            let held = Thread::find(connection, &thread)?;
            held.map(|held| held.change(connection, change.clone(), now_ms)).transpose()
        })
        .await
    }

    async fn delete_thread(&self, thread: &ThreadId) -> Result<bool, StoreError> {
        let thread = thread.clone();
        self.write(move |connection| delete_thread(connection, &thread)).await
    }

    async fn threads(&self, query: &ThreadQuery) -> Result<Found<ThreadRow>, StoreError> {
        let query = query.clone();
        self.read(move |connection| search::threads(connection, &query)).await
    }

    async fn create_run(&self, run: RunRow) -> Result<Admitted, StoreError> {
        self.write(move |connection| runs::create(connection, &run)).await
    }

    async fn run(&self, id: &str) -> Result<Option<RunRow>, StoreError> {
        let id = id.to_owned();
        self.read(move |connection| runs::find(connection, &id)).await
    }

    async fn runs(&self, query: &RunQuery) -> Result<Found<RunRow>, StoreError> {
        let query = query.clone();
        self.read(move |connection| runs::list(connection, &query)).await
    }

    async fn claim_run(&self, claim: &RunClaim, now_ms: u64) -> Result<Option<RunRow>, StoreError> {
        let claim = claim.clone();
        self.write_unsynced(move |connection| runs::claim(connection, &claim, now_ms)).await
    }

    async fn beat(&self, heartbeats: &[Heartbeat], until_ms: u64) -> Result<Vec<Beat>, StoreError> {
        let heartbeats = heartbeats.to_vec();
        self.write_unsynced(move |connection| {
            heartbeats.iter().map(|heartbeat| runs::beat(connection, heartbeat, until_ms)).collect()
        })
        .await
    }

    async fn finish_run(
        &self,
        run: &str,
        attempt: u32,
        ending: Ending,
        last: Option<EventRow>,
        now_ms: u64,
    ) -> Result<bool, StoreError> {
        let run = run.to_owned();
        self.check_events(last.as_slice())?;
        let finish = move |connection: &Connection| {
            let is_finished = runs::finish(connection, &run, attempt, ending.clone(), now_ms)?;
            if is_finished {
                events::append(connection, last.as_slice())?;
            }
            Ok(is_finished)
        };
        self.write(finish).await
    }

    async fn cancel_run(
        &self,
        run: &str,
        action: CancelAction,
        now_ms: u64,
    ) -> Result<Cancelled, StoreError> {
        let run = run.to_owned();
        self.write(move |connection| runs::cancel(connection, &run, action, now_ms)).await
    }

    async fn delete_run(&self, run: &str) -> Result<bool, StoreError> {
        let run = run.to_owned();
        self.write(move |connection| runs::delete(connection, &run)).await
    }

    async fn claim_call(
        &self,
        graphs: &[NodeName],
        until_ms: u64,
        now_ms: u64,
    ) -> Result<Option<RunRow>, StoreError> {
        let graphs = graphs.to_vec();
        let asked = graphs.clone();
        match self.read(move |connection| runs::is_call_due(connection, &asked, now_ms)).await? {
            true => {
                self.write(move |connection| runs::claim_call(connection, &graphs, until_ms, now_ms)).await
            }
            false => Ok(None),
        }
    }

    async fn finish_call(&self, run: &str, call: u32, next_ms: Option<u64>) -> Result<bool, StoreError> {
        let run = run.to_owned();
        self.write(move |connection| runs::finish_call(connection, &run, call, next_ms)).await
    }

    async fn put_assistant(&self, assistant: AssistantRow) -> Result<(AssistantRow, bool), StoreError> {
        self.write(move |connection| assistants::put(connection, &assistant)).await
    }

    async fn assistant(&self, id: &str) -> Result<Option<AssistantRow>, StoreError> {
        let id = id.to_owned();
        self.read(move |connection| assistants::find(connection, &id)).await
    }

    async fn assistants(&self, query: &AssistantQuery) -> Result<Found<AssistantRow>, StoreError> {
        let query = query.clone();
        self.read(move |connection| assistants::list(connection, &query)).await
    }

    async fn versions(&self, assistant: &str) -> Result<Vec<AssistantRow>, StoreError> {
        let id = assistant.to_owned();
        self.read(move |connection| assistants::versions(connection, &id)).await
    }

    async fn set_version(
        &self,
        assistant: &str,
        version: u32,
        now_ms: u64,
    ) -> Result<Option<AssistantRow>, StoreError> {
        let id = assistant.to_owned();
        self.write(move |connection| assistants::set_version(connection, &id, version, now_ms)).await
    }

    async fn delete_assistant(&self, id: &str) -> Result<bool, StoreError> {
        let id = id.to_owned();
        self.write(move |connection| assistants::delete(connection, &id)).await
    }

    async fn put_cron(&self, cron: CronRow) -> Result<(), StoreError> {
        self.write(move |connection| assistants::put_cron(connection, &cron)).await
    }

    async fn cron(&self, id: &str) -> Result<Option<CronRow>, StoreError> {
        let id = id.to_owned();
        self.read(move |connection| assistants::cron(connection, &id)).await
    }

    async fn crons(&self, query: &CronQuery) -> Result<Found<CronRow>, StoreError> {
        let query = query.clone();
        self.read(move |connection| assistants::crons(connection, &query)).await
    }

    async fn advance_cron(&self, id: &str, due_ms: u64, next_ms: Option<u64>) -> Result<bool, StoreError> {
        let id = id.to_owned();
        self.write(move |connection| assistants::advance(connection, &id, due_ms, next_ms)).await
    }

    async fn delete_cron(&self, id: &str) -> Result<bool, StoreError> {
        let id = id.to_owned();
        self.write(move |connection| assistants::delete_cron(connection, &id)).await
    }

    async fn reserve_events(&self, thread: &ThreadId, count: u64) -> Result<u64, StoreError> {
        let thread = thread.clone();
        self.write_unsynced(move |connection| events::reserve(connection, &thread, count)).await
    }

    async fn release_events(&self, thread: &ThreadId, next: u64, reserved_to: u64) -> Result<(), StoreError> {
        let thread = thread.clone();
        self.write_unsynced(move |connection| events::release(connection, &thread, next, reserved_to)).await
    }

    async fn append_events(&self, attempt: u32, events: Vec<EventRow>) -> Result<bool, StoreError> {
        self.check_events(&events)?;
        let append = move |connection: &Connection| {
            for of_thread in events.chunk_by(|one, next| one.thread == next.thread) {
                let thread = &of_thread[0].thread;
                threads::id_of(connection, thread)?.ok_or_else(|| StoreError::NoThread(thread.clone()))?;
            }
            for of_run in events.chunk_by(|one, next| one.run == next.run) {
                if !runs::is_held(connection, &of_run[0].run, attempt)? {
                    return Ok(false);
                }
            }
            events::append(connection, &events).map(|()| true)
        };
        self.write(append).await
    }

    async fn events(
        &self,
        thread: &ThreadId,
        run: Option<&str>,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        let (thread, run) = (thread.clone(), run.map(str::to_owned));
        self.read(move |connection| events::list(connection, &thread, run.as_deref(), after, limit)).await
    }

    async fn expire_events(&self, thread: &ThreadId, run: &str, at_ms: u64) -> Result<(), StoreError> {
        let (thread, run) = (thread.clone(), run.to_owned());
        self.write_unsynced(move |connection| events::expire(connection, &thread, &run, at_ms)).await
    }

    async fn sweep(&self, now_ms: u64, limit: usize) -> Result<Vec<ThreadRow>, StoreError> {
        let read = move |connection: &Connection| {
            Ok((events::is_due(connection, now_ms)?, threads::expired(connection, now_ms, limit)?))
        };
        let (is_due, expired) = self.read(read).await?;
        if is_due {
            self.write(move |connection| events::sweep(connection, now_ms)).await?;
        }
        Ok(expired)
    }
}
