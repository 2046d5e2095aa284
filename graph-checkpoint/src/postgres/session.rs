//! The requests of a saver, with what it remembers of threads and schemas.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::{HashMap, HashMapExt};
use superstep_core::checkpoint::{
    Answered, AskRecord, At, EffectId, EffectOutcome, EffectRecord, LeaseRecord, Load, Loaded, StateSize,
    StoreError, TaskResult,
};
use superstep_core::id::{CheckpointId, Fingerprint, InterruptId, NodeName, TaskId, ThreadId};
use superstep_core::state::{Json, Schema, SizeLimits};
use tokio_postgres::types::Type;
use tokio_postgres::{Config, Row};
use uuid::Uuid;

use super::call::Call;
use super::database::{Database, Repeat};
use super::error::{About, Fault, PostgresError, located};
use super::migrate;
use super::options::PostgresOptions;
use super::parts::{Part, Reading, Schemas, kind};
use super::stored::{self, Texts};
use super::unsent::Holder;
use super::work::{Onto, write};
use crate::error::corrupt;
use crate::pending::encode;

/// The database of a saver, for one caller: with its lease, if it has one.
#[derive(Clone)]
pub(crate) struct Session {
    open: Arc<Open>,
    /// Set for the holder of a lease.
    holder: Option<Arc<Holder>>,
}

struct Open {
    database: Arc<Database>,
    texts: Texts,
    threads: Mutex<HashMap<ThreadId, Known>>,
    schemas: Mutex<HashMap<Fingerprint, Arc<Schema>>>,
}

/// What is known of a thread.
#[derive(Clone)]
pub(crate) struct Known {
    pub(crate) head: CheckpointId,
    pub(crate) schema: Fingerprint,
    /// The size of the state at the head.
    pub(crate) size: StateSize,
}

/// The largest number of threads that are remembered.
const THREADS: usize = 8192;

impl Session {
    pub(crate) async fn open(config: Config, options: PostgresOptions) -> Result<Self, StoreError> {
        let database = Database::new(config, &options)?;
        let texts = migrate::migrate(&database, &options).await?;
        let (threads, schemas) = (Mutex::new(HashMap::new()), Mutex::new(HashMap::new()));
        let open = Open { database: Arc::new(database), texts, threads, schemas };
        Ok(Self { open: Arc::new(open), holder: None })
    }

    /// Names the key that encrypts in the schema, before the first text is encrypted with it.
    pub(crate) async fn add_current_key(&self) -> Result<(), StoreError> {
        let Some(encryption) = &self.texts().encryption else { return Ok(()) };
        let database = self.database();
        let mut attempts = database.attempts();
        loop {
            let added = async {
                let connection = database.connection().await?;
                encryption.add_current(database, &connection).await
            };
            match added.await {
                Err(fault) => attempts.after(fault, Repeat::Always).await.map_err(Fault::plain)?,
                Ok(()) => return Ok(()),
            }
        }
    }

    /// Returns the same database for the holder of a lease.
    pub(crate) fn with_lease(&self, lease: &LeaseRecord) -> Self {
        Self { open: Arc::clone(&self.open), holder: Some(Arc::new(Holder::new(lease.clone()))) }
    }

    pub(crate) fn database(&self) -> &Arc<Database> {
        &self.open.database
    }

    pub(crate) fn limits(&self) -> SizeLimits {
        self.open.texts.limits
    }

    pub(crate) fn texts(&self) -> &Texts {
        &self.open.texts
    }

    pub(crate) fn lease(&self) -> Option<&LeaseRecord> {
        self.holder.as_deref().map(|holder| &holder.lease)
    }

    pub(crate) fn holder(&self) -> Option<&Arc<Holder>> {
        self.holder.as_ref()
    }

    fn remembered(&self) -> MutexGuard<'_, HashMap<ThreadId, Known>> {
        self.open.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn schemas(&self) -> MutexGuard<'_, HashMap<Fingerprint, Arc<Schema>>> {
        self.open.schemas.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn known(&self, thread: &ThreadId) -> Option<Known> {
        self.remembered().get(thread).cloned()
    }

    pub(crate) fn remember(&self, thread: &ThreadId, known: Known) {
        let mut threads = self.remembered();
        if threads.len() >= THREADS && !threads.contains_key(thread) {
            threads.clear();
        }
        threads.insert(thread.clone(), known);
    }

    pub(crate) fn forget(&self, thread: &ThreadId) {
        self.remembered().remove(thread);
    }

    pub(crate) fn forget_on_or_below(&self, thread: &ThreadId) {
        self.remembered().retain(|name, _| !name.is_on_or_below(thread));
    }

    pub(crate) fn remember_schema(&self, fingerprint: Fingerprint, schema: &Schema) {
        self.schemas().insert(fingerprint, Arc::new(schema.clone()));
    }

    /// Returns the schema with this fingerprint; `None` if it is not registered.
    pub(crate) async fn schema(&self, fingerprint: Fingerprint) -> Result<Option<Arc<Schema>>, StoreError> {
        let known = self.schemas().get(&fingerprint).cloned();
        if known.is_some() {
            return Ok(known);
        }
        let call = Call::of("state").bytes(Some(fingerprint.as_bytes()));
        let rows = self.read(&call, &About::thread(&"".into())).await?;
        let (mut reading, mut found) = (Reading::default(), Schemas::new());
        for part in Part::all(&rows)? {
            reading.add(part, self.texts(), &mut found)?;
        }
        let found = found.remove(&fingerprint);
        if let Some(schema) = &found {
            self.schemas().insert(fingerprint, Arc::clone(schema));
        }
        Ok(found)
    }

    /// Renews leases; `None` for a lost one.
    pub(crate) async fn renew_all(
        &self,
        leases: &[LeaseRecord],
    ) -> Result<Vec<Option<LeaseRecord>>, StoreError> {
        let fences: Vec<i64> = leases.iter().map(|lease| lease.fence.cast_signed()).collect();
        let threads: Vec<&[u8]> = leases.iter().map(|lease| lease.thread.as_str().as_bytes()).collect();
        let call = Call::of("renew_all").argument(fences, Type::INT8_ARRAY);
        let call = call.argument(threads, Type::BYTEA_ARRAY);
        let mut renewed = vec![None; leases.len()];
        for row in self.read(&call, &About::thread(&"".into())).await? {
            let number = |column| {
                let number = row.try_get::<_, i64>(column);
                number.map_err(|error| StoreError::from(PostgresError::Answer(error.to_string())))
            };
            let renewed_ms = number("renewed")?.cast_unsigned();
            let place = usize::try_from(number("place")? - 1).ok();
            if let Some((place, lease)) = place.and_then(|place| Some((place, leases.get(place)?))) {
                renewed[place] = Some(LeaseRecord { renewed_ms, ..lease.clone() });
            }
        }
        Ok(renewed)
    }

    /// Calls a function that reads.
    pub(crate) async fn read(&self, call: &Call<'_>, about: &About<'_>) -> Result<Vec<Row>, StoreError> {
        self.database().call(call, Repeat::Always).await.map_err(|fault| fault.about(about))
    }

    /// Loads the checkpoint at a position, which was written on the thread; `None` if it was deleted.
    pub(crate) async fn load_at(&self, thread: &ThreadId, seq: i64) -> Result<Option<Loaded>, StoreError> {
        let call = Call::of("load_own").name(thread.as_str()).int(seq);
        let rows = self.read(&call, &About::thread(thread)).await?;
        Ok(self.loaded(thread, None, &rows)?.loaded())
    }

    /// Reads the requested checkpoint with the work on top of it, or with that of a task; if it is `known`, only the work.
    pub(crate) async fn load(
        &self,
        thread: &ThreadId,
        at: &At,
        task: Option<TaskId>,
        known: Option<CheckpointId>,
    ) -> Result<Load, StoreError> {
        self.flush(thread).await?;
        let known = known.map(|known| known.0);
        let task = task.map(|task| task.as_bytes().to_vec());
        let rows =
            self.read_at("load", thread, at, |call| call.uuid(known).argument(task, Type::BYTEA)).await?;
        let Some(rows) = rows else { return Ok(Load::Missing) };
        let load = self.loaded(thread, known.map(CheckpointId), &rows)?;
        if let (At::Head, Load::Whole(loaded)) = (at, &load) {
            let size = StateSize::of(&loaded.values);
            let (head, schema) = (loaded.checkpoint.id, loaded.checkpoint.schema);
            self.remember(thread, Known { head, schema, size });
        }
        Ok(load)
    }

    fn loaded(
        &self,
        thread: &ThreadId,
        known: Option<CheckpointId>,
        rows: &[Row],
    ) -> Result<Load, StoreError> {
        if rows.is_empty() {
            return Ok(Load::Missing);
        }
        let (mut reading, mut schemas) = (Reading::default(), Schemas::new());
        let all = Part::all(rows)?;
        let id = all.iter().find(|part| part.kind == kind::LINE).and_then(|line| line.uuid(0).ok());
        let id = id.map(CheckpointId).or(known);
        let load = || {
            for part in all {
                reading.add(part, self.texts(), &mut schemas)?;
            }
            if reading.is_known()? {
                return Ok(Load::Unchanged(std::mem::take(&mut reading.work)));
            }
            std::mem::take(&mut reading)
                .loaded(self.texts(), &schemas)
                .map(|loaded| Load::Whole(Box::new(loaded)))
        };
        load().map_err(|error| located(error, thread, id))
    }

    pub(crate) fn onto<'c>(&'c self, thread: &'c ThreadId, base: CheckpointId) -> Onto<'c> {
        Onto { thread, base, lease: self.lease(), texts: self.texts() }
    }

    /// Calls a function that writes work on top of `base`.
    pub(crate) async fn write(
        &self,
        onto: Onto<'_>,
        call: &Call<'_>,
        repeat: Repeat,
    ) -> Result<Vec<Row>, StoreError> {
        let about = About {
            checkpoint: onto.base.to_string(),
            base: Some(onto.base),
            lease: self.lease(),
            ..About::thread(onto.thread)
        };
        self.database().call(call, repeat).await.map_err(|fault| fault.about(&about))
    }

    /// Records a result. Returns `false` if the base is no longer the head, and the result that counts if it is another
    /// one. The holder of a lease does not wait for the database, so it gets `true` in any case.
    pub(crate) async fn record_result(
        &self,
        onto: Onto<'_>,
        result: &TaskResult,
    ) -> Result<(bool, Option<TaskResult>), StoreError> {
        if let Some(holder) = self.holder() {
            return Ok((true, Some(self.record_later(holder, onto, result)?)));
        }
        let parse = |text: &str| {
            let place = format!("a result of thread {}, checkpoint {}", onto.thread, onto.base);
            let text = self.texts().open(&stored::pending(result.task), text, &place)?;
            serde_json::from_str::<TaskResult>(&text).map_err(|error| corrupt(place, error))
        };
        let rows = self.write(onto, &onto.record(result)?, Repeat::Always).await?;
        let held = match scalar::<Option<String>>(&rows)? {
            None => return Ok((true, None)),
            Some(empty) if empty.is_empty() => return Ok((false, None)),
            Some(held) => held,
        };
        let found = parse(&held)?;
        if found.targets.is_some() || result.targets.is_none() {
            return Ok((true, Some(found)));
        }
        let (targets, handled) = (result.targets.clone(), result.handled.clone());
        let completed = TaskResult { targets, handled, ..found };
        let rows = self.write(onto, &onto.complete(held, &completed)?, Repeat::Always).await?;
        Ok(match scalar::<Option<&str>>(&rows)? {
            None => (true, Some(completed)),
            Some("") => (false, None),
            Some(earlier) => (true, Some(parse(earlier)?)),
        })
    }

    pub(crate) async fn begin(
        &self,
        onto: Onto<'_>,
        effect: &EffectRecord,
        request: Option<Uuid>,
    ) -> Result<(bool, Option<EffectRecord>), StoreError> {
        let rows = self.write(onto, &onto.begin(effect, request)?, Repeat::Always).await?;
        let row = rows.first().ok_or_else(|| PostgresError::Answer("no row".into()))?;
        let answer = |error: tokio_postgres::Error| PostgresError::Answer(error.to_string());
        let is_current = row.try_get("is_current").map_err(answer)?;
        let held: Option<i32> = row.try_get("k").map_err(answer)?;
        let held = held.map(|_| Part::read(row)?.effect(self.texts())).transpose();
        let held = held.map_err(|error| located(error, onto.thread, Some(onto.base)))?;
        Ok((is_current, held))
    }

    /// Returns `true` if a stored outcome of an effect is this one.
    pub(crate) fn is_outcome(
        &self,
        id: &EffectId,
        held: &str,
        outcome: &EffectOutcome,
    ) -> Result<bool, StoreError> {
        let cell = stored::outcome(&encode(id)?);
        Ok(self.texts().open(&cell, held, "the outcome of an effect")? == encode(outcome)?)
    }

    pub(crate) async fn note(&self, onto: Onto<'_>, effect: &EffectRecord) -> Result<(), StoreError> {
        let noted = match self.begin(onto, effect, None).await {
            // The next call that the caller waits for returns the error.
            Err(StoreError::LeaseLost { .. }) => return Ok(()),
            noted => noted?,
        };
        match noted {
            (true, Some(held)) if held.outcome != effect.outcome => {
                Err(StoreError::Superseded { thread: onto.thread.clone(), base: onto.base })
            }
            _ => Ok(()),
        }
    }

    pub(crate) async fn answer_given(
        &self,
        thread: &ThreadId,
        answers: &[(InterruptId, Json)],
    ) -> Result<Answered, StoreError> {
        self.flush(thread).await?;
        let interrupts: Vec<&[u8]> = answers.iter().map(|(id, _)| &id.as_bytes()[..]).collect();
        let texts =
            answers.iter().map(|(id, answer)| self.texts().store(&stored::answer(*id), answer.as_str()));
        let texts = texts.collect::<Result<Vec<String>, _>>()?;
        let call = write("answer", self.lease()).name(thread.as_str());
        let call = call.argument(interrupts, Type::BYTEA_ARRAY).argument(texts, Type::TEXT_ARRAY);
        let call = call.uuid(Some(Uuid::new_v4()));
        let about = About { checkpoint: "its head".into(), lease: self.lease(), ..About::thread(thread) };
        let rows = self.database().call(&call, Repeat::Always).await;
        let rows = rows.map_err(|fault| fault.about(&about))?;
        let (mut reading, mut schemas) = (Reading::default(), Schemas::new());
        for part in Part::all(&rows)? {
            let added = reading.add(part, self.texts(), &mut schemas);
            added.map_err(|error| located(error, thread, None))?;
        }
        let head = reading.place.as_ref().ok_or_else(|| PostgresError::Answer("no head".into()))?;
        Ok(Answered::OnHead { head: CheckpointId(head.uuid(0)?), work: reading.work })
    }

    pub(crate) async fn expire(
        &self,
        graph: &NodeName,
        thread: Option<&ThreadId>,
        now_ms: u64,
    ) -> Result<Vec<(ThreadId, AskRecord)>, StoreError> {
        let call = write("expire", self.lease()).name(graph.as_str());
        let call = call.bytes(thread.map(|thread| thread.as_str().as_bytes())).text(now_ms.to_string());
        let none = ThreadId::from("");
        let about = About { lease: self.lease(), ..About::thread(thread.unwrap_or(&none)) };
        let rows = self.database().call(&call, Repeat::IfNothingWasStored).await;
        let rows = rows.map_err(|fault| fault.about(&about))?;
        let asks = Part::all(&rows)?.into_iter();
        let ask = |part: Part| {
            let thread: ThreadId = part.name(0)?.into();
            let ask = part.ask(self.texts()).map_err(|error| located(error, &thread, None))?;
            Ok((thread, ask))
        };
        asks.map(ask).collect()
    }
}

/// Returns the only column of the only row.
pub(crate) fn scalar<'r, T: tokio_postgres::types::FromSql<'r>>(rows: &'r [Row]) -> Result<T, StoreError> {
    let row = rows.first().ok_or_else(|| PostgresError::Answer("no row".into()))?;
    row.try_get(0).map_err(|error| PostgresError::Answer(error.to_string()).into())
}

impl<'a> About<'a> {
    /// Describes a request about a thread.
    pub(crate) fn thread(thread: &'a ThreadId) -> Self {
        Self { thread, checkpoint: String::new(), base: None, graph: None, lease: None }
    }
}
