//! The rows of a server as a trait object.

use std::sync::Arc;

use async_trait::async_trait;
use superstep_core::checkpoint::StoreError;
use superstep_core::id::{NodeName, ThreadId};
use superstep_core::records::life::{self, Admitted, Beat, Cancelled, Ending};
use superstep_core::records::{
    AssistantQuery, AssistantRow, CancelAction, CronQuery, CronRow, EventRow, Found, Hear, Heartbeat,
    Multitask, Records, RunClaim, RunQuery, RunRow, ThreadChange, ThreadQuery, ThreadRow,
};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::super::call::Call;
use super::super::database::{Database, Repeat};
use super::super::error::Fault;
use super::super::session::scalar;
use super::super::stored::Texts;
use super::decisions::{Changes, Held, THREAD};
use super::rows::{self, assistant, decode, encode, get, named, number, tags};
use super::signals::{Change, Signals};
use crate::records::check_events;

/// The rows in the schema of a saver.
pub(crate) struct PostgresRecords {
    pub(super) database: Arc<Database>,
    pub(super) texts: Texts,
    signals: Signals,
    is_read_only: bool,
}

/// The SQL condition for runs that have not ended.
const ACTIVE: &str = "o.status IN ('pending', 'running')";

impl PostgresRecords {
    pub(crate) fn new(database: Arc<Database>, texts: &Texts) -> Self {
        Self { database, texts: texts.clone(), signals: Signals::default(), is_read_only: false }
    }

    /// Returns the rows for a saver that only reads.
    pub(crate) fn of_reader(database: Arc<Database>, texts: &Texts) -> Self {
        Self { is_read_only: true, ..Self::new(database, texts) }
    }

    pub(super) fn check_writable(&self) -> Result<(), StoreError> {
        if self.is_read_only { Err(self.database.refused()) } else { Ok(()) }
    }

    /// Carries out a call that reads.
    pub(super) async fn read(&self, call: &Call<'_>) -> Result<Vec<Row>, StoreError> {
        self.database.call(call, Repeat::Always).await.map_err(Fault::plain)
    }

    /// Carries out a call that writes, and whose second attempt has the same result.
    async fn put(&self, call: &Call<'_>) -> Result<Vec<Row>, StoreError> {
        self.check_writable()?;
        self.read(call).await
    }

    /// Carries out a call whose second attempt could be taken for that of another program.
    async fn write(&self, call: &Call<'_>) -> Result<Vec<Row>, StoreError> {
        self.check_writable()?;
        self.database.call(call, Repeat::IfNothingWasStored).await.map_err(Fault::plain)
    }

    async fn one<T>(
        &self,
        call: &Call<'_>,
        read: impl Fn(&Row) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        self.read(call).await?.first().map(read).transpose()
    }

    async fn all<T>(
        &self,
        call: &Call<'_>,
        read: impl Fn(&Row) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        self.read(call).await?.iter().map(read).collect()
    }
}

/// Begins a query for a run with its thread.
fn held_run(run: &str) -> Call<'_> {
    let sql = format!(
        "SELECT {THREAD}, EXISTS (SELECT 1 FROM @.server_run o WHERE o.thread = r.thread AND {ACTIVE} AND o.id <> r.id)
            AS has_others, r.xmin::text AS seen, r.*
        FROM @.server_run r JOIN @.server_thread t ON t.id = r.thread WHERE sha256(r.name) = sha256($1)"
    );
    Call::query(sql).name(run)
}

/// Returns an error unless a function found the thread.
fn found(rows: &[Row], thread: &ThreadId) -> Result<(), StoreError> {
    if scalar(rows)? { Ok(()) } else { Err(StoreError::NoThread(thread.clone())) }
}

#[async_trait]
impl Records for PostgresRecords {
    async fn insert_thread(&self, thread: ThreadRow) -> Result<(ThreadRow, bool), StoreError> {
        let held = {
            let text = encode(&self.texts, "server_thread", thread.id.as_str(), &thread)?;
            let call = Call::of("insert_thread").name(thread.id.as_str());
            let call = call.optional_name(thread.graph.as_ref().map(NodeName::as_str));
            let call = call.text(thread.status.as_str()).time(thread.created_ms).time(thread.updated_ms);
            let call = call.time(thread.state_updated_ms);
            let call = call.int(thread.expiry.map(|expiry| number(expiry.at_ms))).text(text);
            self.write(&call.argument(tags(&self.texts, &thread.metadata), Type::BYTEA_ARRAY)).await?
        };
        match scalar::<Option<&str>>(&held)? {
            Some(text) => Ok((rows::thread(&self.texts, thread.id.as_str().as_bytes(), text)?, false)),
            None => Ok((thread, true)),
        }
    }

    async fn thread(&self, thread: &ThreadId) -> Result<Option<ThreadRow>, StoreError> {
        let sql = "SELECT t.name, t.text FROM @.server_thread t WHERE sha256(t.name) = sha256($1)";
        self.one(&Call::query(sql).name(thread.as_str()), |row| rows::thread_of(&self.texts, row)).await
    }

    async fn change_thread(
        &self,
        thread: &ThreadId,
        change: ThreadChange,
        now_ms: u64,
    ) -> Result<Option<ThreadRow>, StoreError> {
        let sql = format!(
            "SELECT {THREAD}, EXISTS (SELECT 1 FROM @.server_run o WHERE o.thread = t.id AND {ACTIVE}) AS has_others,
                NULL AS seen
            FROM @.server_thread t WHERE sha256(t.name) = sha256($1)"
        );
        let read = Call::query(sql).name(thread.as_str());
        let changed = self.decide(&read, |rows| {
            let changes = Held::of(&self.texts, rows)?.map(|held| {
                let mut changes = Changes::of(held);
                changes.change(change.clone(), now_ms);
                changes
            });
            Ok(((), changes))
        });
        Ok(changed.await?.1.map(Changes::into_row))
    }

    async fn delete_thread(&self, thread: &ThreadId) -> Result<bool, StoreError> {
        scalar(&self.write(&Call::of("delete_records").name(thread.as_str())).await?)
    }

    async fn threads(&self, query: &ThreadQuery) -> Result<Found<ThreadRow>, StoreError> {
        self.find_threads(query).await
    }

    async fn create_run(&self, run: RunRow) -> Result<Admitted, StoreError> {
        let sql = format!(
            "SELECT {THREAD}, NOT $3 AND EXISTS (SELECT 1 FROM @.server_run o WHERE o.thread = t.id AND {ACTIVE})
                AS has_others,
                EXISTS (SELECT 1 FROM @.server_run n WHERE sha256(n.name) = sha256($2)) AS is_taken,
                o.xmin::text AS seen, o.*
            FROM @.server_thread t LEFT JOIN @.server_run o ON o.thread = t.id AND {ACTIVE} AND $3
            WHERE sha256(t.name) = sha256($1) ORDER BY o.id"
        );
        // A run that waits changes no other one, and the queue of its thread may be long.
        let changes_others = run.multitask != Multitask::Enqueue;
        let read = Call::query(sql).name(run.thread.as_str()).name(&run.id);
        let read = read.argument(changes_others, Type::BOOL);
        let admitted = self.decide(&read, |rows| {
            let held =
                Held::of(&self.texts, rows)?.ok_or_else(|| StoreError::NoThread(run.thread.clone()))?;
            if rows.first().map_or(Ok(false), |row| get(row, "is_taken"))? {
                return Ok((Admitted::Exists, None));
            }
            let active: Vec<RunRow> = held.runs.iter().map(|held| held.run.clone()).collect();
            let decision = life::admit(&run, &active, run.created_ms);
            if !matches!(decision.answer, Admitted::Stored { .. }) {
                return Ok((decision.answer, None));
            }
            let changes = Changes::of(held).create(life::pending(run.clone()));
            let (answer, changes) = changes.decided(decision, run.created_ms);
            Ok((answer, Some(changes)))
        });
        let admitted = admitted.await?.0;
        if matches!(admitted, Admitted::Stored { .. }) {
            self.signals.tell(Change::Queue(run.thread.clone()));
        }
        Ok(admitted)
    }

    async fn run(&self, id: &str) -> Result<Option<RunRow>, StoreError> {
        let sql = "SELECT r.* FROM @.server_run r WHERE sha256(r.name) = sha256($1)";
        self.one(&Call::query(sql).name(id), |row| rows::run(&self.texts, row)).await
    }

    async fn runs(&self, query: &RunQuery) -> Result<Found<RunRow>, StoreError> {
        self.find_runs(query).await
    }

    async fn claim_run(&self, claim: &RunClaim, now_ms: u64) -> Result<Option<RunRow>, StoreError> {
        let call = Call::of("claim_run").graphs(&claim.graphs).names(claim.left.iter().map(String::as_str));
        let call = call.name(&claim.owner).time(claim.until_ms).time(now_ms);
        let claimed = self.write(&call).await?;
        claimed.first().map(|row| rows::run(&self.texts, row)).transpose()
    }

    async fn beat(&self, heartbeats: &[Heartbeat], until_ms: u64) -> Result<Vec<Beat>, StoreError> {
        let lost: Vec<Option<i64>> =
            heartbeats.iter().map(|heartbeat| heartbeat.lost.map(i64::from)).collect();
        let call = Call::of("beat").names(heartbeats.iter().map(|heartbeat| &*heartbeat.run));
        let call = call.ints(heartbeats.iter().map(|heartbeat| i64::from(heartbeat.attempt)));
        let mut answers = vec![Beat::Lost; heartbeats.len()];
        for row in self.put(&call.argument(lost, Type::INT8_ARRAY).time(until_ms)).await? {
            let cancel = get::<Option<&str>>(&row, "cancel")?;
            let cancel = cancel.map(|name| named("server_run", name, CancelAction::from_name)).transpose()?;
            let place = usize::try_from(get::<i64>(&row, "place")? - 1).ok();
            if let Some(answer) = place.and_then(|place| answers.get_mut(place)) {
                *answer = cancel.map_or(Beat::Held, Beat::Cancel);
            }
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
        check_events(self.texts.limits, last.as_slice())?;
        let read = held_run(run);
        let finished = self.decide(&read, |rows| {
            let Some(held) = Held::of(&self.texts, rows)? else { return Ok((false, None)) };
            let decision =
                life::finish(held.runs.first().map(|held| &held.run), attempt, ending.clone(), now_ms);
            if !decision.answer {
                return Ok((false, None));
            }
            let (answer, changes) = Changes::of(held).event(last.clone()).decided(decision, now_ms);
            Ok((answer, Some(changes)))
        });
        let (is_finished, changes) = finished.await?;
        if let Some(changes) = changes {
            self.signals.tell(Change::Queue(changes.into_row().id));
            if ending == Ending::GivenBack {
                // The process may be about to end.
                self.signals.told().await;
            }
        }
        Ok(is_finished)
    }

    async fn cancel_run(
        &self,
        run: &str,
        action: CancelAction,
        now_ms: u64,
    ) -> Result<Cancelled, StoreError> {
        let read = held_run(run);
        let cancelled = self.decide(&read, |rows| {
            let Some(held) = Held::of(&self.texts, rows)? else { return Ok((Cancelled::Over, None)) };
            let decision = life::cancel(held.runs.first().map(|held| &held.run), action, now_ms);
            if decision.answer == Cancelled::Over {
                return Ok((Cancelled::Over, None));
            }
            let (answer, changes) = Changes::of(held).decided(decision, now_ms);
            Ok((answer, Some(changes)))
        });
        let (cancelled, changes) = cancelled.await?;
        if let Some(changes) = changes {
            self.signals.tell(Change::Queue(changes.into_row().id));
        }
        Ok(cancelled)
    }

    async fn delete_run(&self, run: &str) -> Result<bool, StoreError> {
        scalar(&self.write(&Call::of("delete_run").name(run)).await?)
    }

    async fn claim_call(
        &self,
        graphs: &[NodeName],
        until_ms: u64,
        now_ms: u64,
    ) -> Result<Option<RunRow>, StoreError> {
        let call = Call::of("claim_call").graphs(graphs).time(until_ms).time(now_ms);
        self.write(&call).await?.first().map(|row| rows::run(&self.texts, row)).transpose()
    }

    async fn finish_call(&self, run: &str, call: u32, next_ms: Option<u64>) -> Result<bool, StoreError> {
        let call = Call::of("finish_call").name(run).int(i64::from(call)).int(next_ms.map(number));
        Ok(!self.write(&call).await?.is_empty())
    }

    async fn put_assistant(&self, assistant: AssistantRow) -> Result<(AssistantRow, bool), StoreError> {
        const TABLE: &str = "server_assistant";
        let held = {
            let text = encode(&self.texts, TABLE, &assistant.id, &assistant)?;
            let call = Call::of("put_assistant").name(&assistant.id);
            self.write(&call.int(i64::from(assistant.version)).text(text)).await?
        };
        let row = held.first().ok_or_else(|| StoreError::NoAssistant(assistant.id.clone()))?;
        if get(row, "is_stored")? {
            return Ok((assistant, true));
        }
        let current: Option<&str> = get(row, "held")?;
        let current = current.ok_or_else(|| StoreError::NoAssistant(assistant.id.clone()))?;
        Ok((decode(&self.texts, TABLE, assistant.id.as_bytes(), current)?, false))
    }

    async fn assistant(&self, id: &str) -> Result<Option<AssistantRow>, StoreError> {
        let sql = "SELECT a.name, a.text FROM @.server_assistant a WHERE sha256(a.name) = sha256($1) AND a.is_current";
        self.one(&Call::query(sql).name(id), |row| assistant(&self.texts, row)).await
    }

    async fn assistants(&self, query: &AssistantQuery) -> Result<Found<AssistantRow>, StoreError> {
        let sql = "SELECT a.name, a.text FROM @.server_assistant a WHERE a.is_current";
        Ok(query.page(self.all(&Call::query(sql), |row| assistant(&self.texts, row)).await?))
    }

    async fn versions(&self, id: &str) -> Result<Vec<AssistantRow>, StoreError> {
        let sql = "SELECT a.name, a.text FROM @.server_assistant a WHERE sha256(a.name) = sha256($1) \
                   ORDER BY a.version DESC";
        self.all(&Call::query(sql).name(id), |row| assistant(&self.texts, row)).await
    }

    async fn set_version(
        &self,
        id: &str,
        version: u32,
        now_ms: u64,
    ) -> Result<Option<AssistantRow>, StoreError> {
        let sql = "SELECT a.name, a.text FROM @.server_assistant a WHERE sha256(a.name) = sha256($1) AND a.version = $2";
        let attempts = self.database.attempts();
        loop {
            let found = self.read(&Call::query(sql).name(id).int(i64::from(version))).await?;
            let Some(found) = found.first() else { return Ok(None) };
            let row = AssistantRow { updated_ms: now_ms, ..assistant(&self.texts, found)? };
            let call = Call::of("set_version").name(id).int(i64::from(version));
            let call = call.text(get::<&str>(found, "text")?);
            let call = call.text(encode(&self.texts, "server_assistant", id, &row)?);
            if scalar(&self.write(&call).await?)? {
                return Ok(Some(row));
            }
            attempts.at_once()?;
        }
    }

    async fn delete_assistant(&self, id: &str) -> Result<bool, StoreError> {
        scalar(&self.write(&Call::of("delete_assistant").name(id)).await?)
    }

    async fn put_cron(&self, cron: CronRow) -> Result<(), StoreError> {
        let text = encode(&self.texts, "server_cron", &cron.id, &cron)?;
        let call = Call::of("put_cron").name(&cron.id);
        let call = call.optional_name(cron.thread.as_ref().map(ThreadId::as_str));
        let stored = self.put(&call.int(cron.next_ms.map(number)).text(text)).await?;
        cron.thread.as_ref().map_or(Ok(()), |thread| found(&stored, thread))
    }

    async fn cron(&self, id: &str) -> Result<Option<CronRow>, StoreError> {
        let sql = "SELECT c.name, c.text, c.next FROM @.server_cron c WHERE sha256(c.name) = sha256($1)";
        self.one(&Call::query(sql).name(id), |row| rows::cron(&self.texts, row)).await
    }

    async fn crons(&self, query: &CronQuery) -> Result<Found<CronRow>, StoreError> {
        let sql =
            "SELECT c.name, c.text, c.next FROM @.server_cron c WHERE $1::bigint IS NULL OR c.next <= $1";
        Ok(query.page(
            self.all(&Call::query(sql).int(query.due_ms.map(number)), |row| rows::cron(&self.texts, row))
                .await?,
        ))
    }

    async fn advance_cron(&self, id: &str, due_ms: u64, next_ms: Option<u64>) -> Result<bool, StoreError> {
        let call = Call::of("advance_cron").name(id).time(due_ms).int(next_ms.map(number));
        scalar(&self.write(&call).await?)
    }

    async fn delete_cron(&self, id: &str) -> Result<bool, StoreError> {
        scalar(&self.write(&Call::of("delete_cron").name(id)).await?)
    }

    async fn reserve_events(&self, thread: &ThreadId, count: u64) -> Result<u64, StoreError> {
        let first = self.put(&Call::of("reserve_events").name(thread.as_str()).time(count)).await?;
        if first.is_empty() {
            return Err(StoreError::NoThread(thread.clone()));
        }
        scalar(&first).map(rows::count)
    }

    async fn release_events(&self, thread: &ThreadId, next: u64, reserved_to: u64) -> Result<(), StoreError> {
        let call = Call::of("release_events").name(thread.as_str()).time(next).time(reserved_to);
        found(&self.put(&call).await?, thread)
    }

    async fn append_events(&self, attempt: u32, events: Vec<EventRow>) -> Result<bool, StoreError> {
        check_events(self.texts.limits, &events)?;
        let call = Call::of("append_events").int(i64::from(attempt));
        let call =
            call.names(events.iter().map(|event| event.thread.as_str())).events(&self.texts, &events)?;
        let stored = self.put(&call).await?;
        let Some(row) = stored.first() else { return Ok(false) };
        match get::<Option<&[u8]>>(row, "missing")? {
            Some(name) => Err(StoreError::NoThread(String::from_utf8_lossy(name).into_owned().into())),
            None => {
                let is_stored = get(row, "is_stored")?;
                if is_stored {
                    let threads = events.chunk_by(|one, next| one.thread == next.thread);
                    threads.for_each(|of| self.signals.tell(Change::Thread(of[0].thread.clone())));
                }
                Ok(is_stored)
            }
        }
    }

    async fn events(
        &self,
        thread: &ThreadId,
        run: Option<&str>,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        let sql = "SELECT e.seq, e.run, e.at, e.text FROM @.server_event e
            WHERE e.thread = (SELECT t.id FROM @.server_thread t WHERE sha256(t.name) = sha256($1))
                AND e.seq > $2 AND ($3::bytea IS NULL OR e.run = $3) ORDER BY e.seq LIMIT $4";
        // The first number is 1.
        let call = Call::query(sql).name(thread.as_str()).time(after.unwrap_or(0));
        let call = call.optional_name(run).time(limit as u64);
        self.all(&call, |row| rows::event(&self.texts, row, thread)).await
    }

    async fn expire_events(&self, thread: &ThreadId, run: &str, at_ms: u64) -> Result<(), StoreError> {
        let call = Call::of("expire_events").name(thread.as_str()).name(run).time(at_ms);
        found(&self.put(&call).await?, thread)
    }

    fn listen(&self, hear: Hear) -> bool {
        // Nothing listens on a replica.
        !self.is_read_only && self.signals.listen(&self.database, hear)
    }

    async fn sweep(&self, now_ms: u64, limit: usize) -> Result<Vec<ThreadRow>, StoreError> {
        let call = Call::of("sweep_records").time(now_ms).time(limit as u64);
        self.check_writable()?;
        self.all(&call, |row| rows::thread_of(&self.texts, row)).await
    }
}
