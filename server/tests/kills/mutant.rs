//! Savers that break one promise of a server's rows each: the checks must notice it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use superstep_core::checkpoint::{Around, Checkpointer, StoreError};
use superstep_core::id::{NodeName, ThreadId};
use superstep_core::records::life::{self, Admitted, Beat, Cancelled, Ending};
use superstep_core::records::{
    AssistantQuery, AssistantRow, CancelAction, CronQuery, CronRow, EventRow, Found, Heartbeat, Multitask,
    Records, RunClaim, RunQuery, RunRow, RunStatus, ThreadChange, ThreadQuery, ThreadRow,
};

/// The time after which a mutant stores what it has answered.
const LATE: Duration = Duration::from_millis(20);

/// A broken promise. Without kills, no client of the server could notice it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// A run is answered before its row is durable.
    AnsweredBeforeDurable,
    /// The end of a run is stored after the end of its stream.
    EndedAfterStream,
    /// Heartbeats, events and ends are accepted from every attempt of a run, not only from the latest one.
    WithoutFence,
}

impl Mutant {
    /// Returns the saver with the defect.
    pub(crate) fn around(self, inner: Arc<dyn Checkpointer>) -> Arc<dyn Checkpointer> {
        let rows = inner.records().expect("the saver has rows");
        Arc::new(Broken { inner, rows: Arc::new(Rows { inner: rows, mutant: self, late: Arc::default() }) })
    }

    /// Returns the mutant with this name, as `Debug` writes it.
    pub(crate) fn from_name(name: &str) -> Self {
        let all = [Self::AnsweredBeforeDurable, Self::EndedAfterStream, Self::WithoutFence];
        all.into_iter().find(|mutant| format!("{mutant:?}") == name).expect("the name of a mutant")
    }
}

struct Broken {
    inner: Arc<dyn Checkpointer>,
    rows: Arc<Rows>,
}

impl Around for Broken {
    fn inner(&self) -> &dyn Checkpointer {
        &*self.inner
    }

    fn records(&self) -> Option<Arc<dyn Records>> {
        Some(self.rows.clone())
    }
}

struct Rows {
    inner: Arc<dyn Records>,
    mutant: Mutant,
    late: Arc<Late>,
}

/// The rows that were answered and are not stored yet, by the ids of their runs.
#[derive(Default)]
struct Late(Mutex<HashMap<String, RunRow>>);

impl Late {
    fn rows(&self) -> MutexGuard<'_, HashMap<String, RunRow>> {
        self.0.lock().expect("no thread panics with the rows")
    }

    /// Keeps a row until it is stored, a little later.
    fn store(
        self: &Arc<Self>,
        row: RunRow,
        stored: impl Future<Output = Result<(), StoreError>> + Send + 'static,
    ) {
        let (late, id) = (Arc::clone(self), row.id.clone());
        self.rows().insert(id.clone(), row);
        tokio::spawn(async move {
            tokio::time::sleep(LATE).await;
            if let Err(error) = stored.await {
                eprintln!("the row of run {id} is not stored: {error}");
            }
            late.rows().remove(&id);
        });
    }

    /// Waits until all rows of a thread are stored.
    async fn settled(&self, thread: &ThreadId) {
        while self.rows().values().any(|row| row.thread == *thread) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

impl Rows {
    /// Returns the latest attempt of a run, as which the one without the fence passes.
    async fn passed(&self, run: &str, attempt: u32) -> Result<u32, StoreError> {
        match self.mutant {
            Mutant::WithoutFence => Ok(self.inner.run(run).await?.map_or(attempt, |row| row.attempt)),
            Mutant::AnsweredBeforeDurable | Mutant::EndedAfterStream => Ok(attempt),
        }
    }
}

/// Implements the rows: the given methods, and the named ones, which forward their calls.
macro_rules! forwarded {
    (
        { $($own:item)* }
        $($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*
    ) => {
        #[async_trait]
        impl Records for Rows {
            $($own)*

            $(
                async fn $name(&self, $($argument: $type),*) -> Result<$answer, StoreError> {
                    self.inner.$name($($argument),*).await
                }
            )*
        }
    };
}

forwarded! {
    {
        async fn create_run(&self, run: RunRow) -> Result<Admitted, StoreError> {
            // A run that waits changes no other run.
            if self.mutant != Mutant::AnsweredBeforeDurable || run.multitask != Multitask::Enqueue {
                return self.inner.create_run(run).await;
            }
            let rows = Arc::clone(&self.inner);
            self.late.store(life::pending(run.clone()), async move { rows.create_run(run).await.map(drop) });
            Ok(Admitted::Stored { ended: Vec::new(), asked: Vec::new() })
        }

        async fn run(&self, id: &str) -> Result<Option<RunRow>, StoreError> {
            let late = self.late.rows().get(id).cloned();
            if late.is_some() { Ok(late) } else { self.inner.run(id).await }
        }

        async fn runs(&self, query: &RunQuery) -> Result<Found<RunRow>, StoreError> {
            if let Some(thread) = &query.thread {
                self.late.settled(thread).await;
            }
            self.inner.runs(query).await
        }

        async fn beat(&self, heartbeats: &[Heartbeat], until_ms: u64) -> Result<Vec<Beat>, StoreError> {
            let mut passed = Vec::new();
            for heartbeat in heartbeats {
                let attempt = self.passed(&heartbeat.run, heartbeat.attempt).await?;
                passed.push(Heartbeat { attempt, ..heartbeat.clone() });
            }
            self.inner.beat(&passed, until_ms).await
        }

        async fn finish_run(
            &self,
            run: &str,
            attempt: u32,
            ending: Ending,
            last: Option<EventRow>,
            now_ms: u64,
        ) -> Result<bool, StoreError> {
            let attempt = self.passed(run, attempt).await?;
            let (Mutant::EndedAfterStream, Ending::Ended { status, error, .. }) = (self.mutant, &ending) else {
                return self.inner.finish_run(run, attempt, ending, last, now_ms).await;
            };
            let held = self.inner.run(run).await?;
            let Some(row) = held.filter(|row| row.status == RunStatus::Running && row.attempt == attempt) else {
                return Ok(false);
            };
            self.inner.append_events(attempt, last.into_iter().collect()).await?;
            let row = RunRow { status: *status, error: error.clone(), ..row };
            let (rows, id) = (Arc::clone(&self.inner), row.id.clone());
            let stored = async move { rows.finish_run(&id, attempt, ending, None, now_ms).await.map(drop) };
            self.late.store(row, stored);
            Ok(true)
        }

        async fn append_events(&self, attempt: u32, events: Vec<EventRow>) -> Result<bool, StoreError> {
            let attempt = match events.first() {
                Some(event) => self.passed(&event.run, attempt).await?,
                None => attempt,
            };
            self.inner.append_events(attempt, events).await
        }
    }

    insert_thread(thread: ThreadRow) -> (ThreadRow, bool);
    thread(thread: &ThreadId) -> Option<ThreadRow>;
    change_thread(thread: &ThreadId, change: ThreadChange, now_ms: u64) -> Option<ThreadRow>;
    delete_thread(thread: &ThreadId) -> bool;
    threads(query: &ThreadQuery) -> Found<ThreadRow>;
    claim_run(claim: &RunClaim, now_ms: u64) -> Option<RunRow>;
    cancel_run(run: &str, action: CancelAction, now_ms: u64) -> Cancelled;
    delete_run(run: &str) -> bool;
    claim_call(graphs: &[NodeName], until_ms: u64, now_ms: u64) -> Option<RunRow>;
    finish_call(run: &str, call: u32, next_ms: Option<u64>) -> bool;
    put_assistant(assistant: AssistantRow) -> (AssistantRow, bool);
    assistant(id: &str) -> Option<AssistantRow>;
    assistants(query: &AssistantQuery) -> Found<AssistantRow>;
    versions(assistant: &str) -> Vec<AssistantRow>;
    set_version(assistant: &str, version: u32, now_ms: u64) -> Option<AssistantRow>;
    delete_assistant(id: &str) -> bool;
    put_cron(cron: CronRow) -> ();
    cron(id: &str) -> Option<CronRow>;
    crons(query: &CronQuery) -> Found<CronRow>;
    advance_cron(id: &str, due_ms: u64, next_ms: Option<u64>) -> bool;
    delete_cron(id: &str) -> bool;
    reserve_events(thread: &ThreadId, count: u64) -> u64;
    release_events(thread: &ThreadId, next: u64, reserved_to: u64) -> ();
    events(thread: &ThreadId, run: Option<&str>, after: Option<u64>, limit: usize) -> Vec<EventRow>;
    expire_events(thread: &ThreadId, run: &str, at_ms: u64) -> ();
    sweep(now_ms: u64, limit: usize) -> Vec<ThreadRow>;
}
