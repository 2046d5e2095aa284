//! The Postgres saver.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use superstep_core::checkpoint::{
    Answered, Answers, At, Checkpointer, CheckpointerExt, Commit, Committed, EffectRecord, EffectWrite,
    GraphDescription, LeaseRecord, LeaseReply, LeaseRequest, Load, Mark, Naming, Page, Record, Scan,
    StoreError, TaskResult, Watch, Work,
};
use superstep_core::id::{CheckpointId, NodeName, TaskId, ThreadId};
use superstep_core::records::Records;
use superstep_core::state::Json;
use tokio_postgres::types::Type;
use tokio_postgres::{Config, Row};
use uuid::Uuid;

use super::call::Call;
use super::database::Repeat;
use super::error::{About, Fault, PostgresError, Refusal};
use super::maintenance::{Background, Pruning};
use super::options::PostgresOptions;
use super::parts::Part;
use super::records::PostgresRecords;
use super::session::{Session, scalar};
use super::store::PostgresStore;
use super::stored;
use super::work::write;
use crate::error::corrupt;

/// Stores checkpoints in a Postgres database, version 15 or newer, that programs on several machines share.
///
/// Cheap to clone: clones share their connections. Connections belong to the Tokio runtime in which they are opened, so use
/// a saver only in the runtime in which it was opened.
///
/// ```no_run
/// # async fn open() -> Result<(), Box<dyn std::error::Error>> {
/// use superstep_checkpoint::PostgresSaver;
///
/// let saver = PostgresSaver::open("postgres://essays@localhost/essays").await?;
/// # Ok(())
/// # }
/// ```
///
/// It has the rows of a server, as [`records`](Checkpointer::records).
#[derive(Clone)]
pub struct PostgresSaver {
    session: Session,
    records: Arc<PostgresRecords>,
    /// Set if the options set a retention.
    background: Option<Arc<Background>>,
}

/// The interval between two looks at the database while a caller waits for a change.
const PERIOD: Duration = Duration::from_millis(100);

impl PostgresSaver {
    /// Opens the database at `url` with the default [options](Self::options).
    ///
    /// # Errors
    /// Returns the errors of [`PostgresOptions::open`].
    pub async fn open(url: impl AsRef<str>) -> Result<Self, StoreError> {
        Self::options().open(url).await
    }

    /// Returns options for opening a database.
    #[must_use]
    pub fn options() -> PostgresOptions {
        PostgresOptions::new()
    }

    /// Returns a store in the saver's schema, which shares its connections.
    #[must_use]
    pub fn store(&self) -> PostgresStore {
        PostgresStore::on(Arc::clone(self.session.database()))
    }

    pub(crate) async fn open_with(config: Config, options: PostgresOptions) -> Result<Self, StoreError> {
        let (retention, every) = (options.retention.clone(), options.retain_every);
        let session = Session::open(config, options).await?;
        let records = PostgresRecords::new(Arc::clone(session.database()), session.texts());
        let background = Background::start(&session, &retention, every).map(Arc::new);
        Ok(Self { session, records: Arc::new(records), background })
    }

    pub(crate) fn pruning(&self) -> Option<&Pruning> {
        self.background.as_deref().map(Background::pruning)
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }
}

#[async_trait]
impl Checkpointer for PostgresSaver {
    async fn register(&self, graph: &GraphDescription) -> Result<(), StoreError> {
        let fingerprint = graph.schema.fingerprint();
        let schema = Json::encode(&graph.schema).map_err(|error| StoreError::Io(Box::new(error)))?;
        let schema = stored::with_checksum(&stored::state(fingerprint), schema.as_str());
        let call = Call::of("register").bytes(Some(fingerprint.as_bytes())).text(schema);
        let call = call.bytes(Some(graph.topology_fingerprint.as_bytes()));
        let place = stored::graph(graph.topology_fingerprint, &graph.name);
        let call = call.name(&graph.name).text(stored::with_checksum(&place, graph.topology.as_str()));
        self.session.read(&call, &About::thread(&"".into())).await?;
        self.session.remember_schema(fingerprint, &graph.schema);
        Ok(())
    }

    async fn load(&self, thread: &ThreadId, at: At, known: Option<CheckpointId>) -> Result<Load, StoreError> {
        self.session.load(thread, &at, None, known).await
    }

    async fn load_task(
        &self,
        thread: &ThreadId,
        task: TaskId,
        known: Option<CheckpointId>,
    ) -> Result<Load, StoreError> {
        self.session.load(thread, &At::Head, Some(task), known).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        let committed = self.session.store_commit(&commit).await?;
        if let (Some(pruning), Committed::New) = (self.pruning(), &committed) {
            pruning.committed();
        }
        Ok(committed)
    }

    async fn record(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        work: Work,
    ) -> Result<Option<TaskResult>, StoreError> {
        let onto = self.session.onto(thread, base);
        match work {
            Work::Finished(result) => {
                result.check(&self.session.limits())?;
                let (_, other) = self.session.record_result(onto, &result).await?;
                Ok(Some(other.unwrap_or(result)))
            }
            Work::Failure(failure) => {
                failure.check(&self.session.limits())?;
                match self.session.write(onto, &onto.fail(&failure)?, Repeat::Always).await {
                    Err(StoreError::LeaseLost { .. }) => Ok(None),
                    done => done.map(|_| None),
                }
            }
            Work::Asks(asks) => {
                asks.iter().try_for_each(|ask| ask.check(&self.session.limits()))?;
                self.session.write(onto, &onto.ask(&asks)?, Repeat::Always).await.map(|_| None)
            }
        }
    }

    async fn record_task(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        result: TaskResult,
    ) -> Result<TaskResult, StoreError> {
        if self.session.holder().is_some() {
            return self.record_checked(thread, base, result).await;
        }
        result.check(&self.session.limits())?;
        match self.session.record_result(self.session.onto(thread, base), &result).await? {
            (true, other) => Ok(other.unwrap_or(result)),
            (false, _) => Err(StoreError::Superseded { thread: thread.clone(), base }),
        }
    }

    async fn effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        write: EffectWrite,
    ) -> Result<Option<EffectRecord>, StoreError> {
        let onto = self.session.onto(thread, base);
        let superseded = || StoreError::Superseded { thread: thread.clone(), base };
        match write {
            EffectWrite::Begin(effect) => {
                effect.check(&self.session.limits())?;
                match self.session.begin(onto, &effect, Some(Uuid::new_v4())).await? {
                    (true, held) => Ok(held),
                    (false, _) => Err(superseded()),
                }
            }
            EffectWrite::End { effect, outcome } => {
                outcome.check(&self.session.limits())?;
                let rows = self.session.write(onto, &onto.end(&effect, &outcome)?, Repeat::Always).await?;
                match scalar::<Option<&str>>(&rows)? {
                    Some(held) if !self.session.is_outcome(&effect, held, &outcome)? => Err(superseded()),
                    _ => Ok(None),
                }
            }
            EffectWrite::Note(effect) => {
                effect.check(&self.session.limits())?;
                self.session.note(onto, &effect).await.map(|()| None)
            }
        }
    }

    async fn answer(&self, answers: Answers) -> Result<Answered, StoreError> {
        match answers {
            Answers::Given { thread, answers } => {
                answers.iter().try_for_each(|(_, answer)| answer.check(&self.session.limits()))?;
                self.session.answer_given(&thread, &answers).await
            }
            Answers::Overdue { graph, thread, now_ms } => {
                self.session.expire(&graph, thread.as_ref(), now_ms).await.map(Answered::Expired)
            }
        }
    }

    /// Only results of the holder of a lease may not be stored yet: other calls wait until their transactions have ended.
    async fn flush(&self, thread: &ThreadId) -> Result<(), StoreError> {
        if self.session.flush(thread).await? {
            return Ok(());
        }
        let Some(lease) = self.session.lease() else { return Ok(()) };
        let about = About { lease: Some(lease), ..About::thread(thread) };
        self.session.read(&write("hold", Some(lease)), &about).await.map(drop)
    }

    async fn scan(&self, scan: Scan) -> Result<Page, StoreError> {
        self.session.page(scan).await
    }

    async fn name(&self, thread: &ThreadId, naming: Naming) -> Result<(), StoreError> {
        let (kind, label, to, id) = match &naming {
            Naming::Give { name, checkpoint } => (0, None, Some(name), Some(checkpoint.0)),
            Naming::Rename { from, to } => (1, Some(from), Some(to), None),
            Naming::Remove { name } => (2, Some(name), None, None),
        };
        let missing = match &naming {
            Naming::Give { checkpoint, .. } => checkpoint.to_string(),
            Naming::Rename { from: name, .. } | Naming::Remove { name } => format!("named {name}"),
        };
        let call = write("name", self.session.lease()).name(thread.as_str()).small(kind);
        let call = call.bytes(label.map(|name| name.as_str().as_bytes()));
        let call = call.bytes(to.map(|name| name.as_str().as_bytes())).uuid(id).uuid(Some(Uuid::new_v4()));
        let about = About { checkpoint: missing, lease: self.session.lease(), ..About::thread(thread) };
        let repeat = if to.is_some() { Repeat::Always } else { Repeat::UntilRefused };
        let rows = self.session.database().call(&call, repeat).await;
        let rows = rows.map_err(|fault| fault.about(&about))?;
        if rows.is_empty() {
            return Ok(());
        }
        match (scalar::<Option<Uuid>>(&rows)?, to) {
            (Some(taken), Some(name)) => Err(StoreError::NameTaken {
                thread: thread.clone(),
                name: name.clone(),
                checkpoint: CheckpointId(taken),
            }),
            _ => Ok(()),
        }
    }

    async fn fork(&self, from: &ThreadId, at: CheckpointId, to: &ThreadId) -> Result<(), StoreError> {
        let above = to.above().map(|above| above.as_str().as_bytes().to_vec());
        let call = write("fork", self.session.lease()).name(from.as_str()).uuid(Some(at.0)).name(to.as_str());
        let call = call.argument(above, Type::BYTEA).uuid(Some(Uuid::new_v4()));
        let done = self.session.database().call(&call, Repeat::Always).await;
        done.map(drop).map_err(|fault| {
            let of_source = matches!(fault, Fault::Refused(Refusal::NoCheckpoint | Refusal::Pruned(_)));
            let thread = if of_source { from } else { to };
            let (checkpoint, base) = (at.to_string(), Some(at));
            fault.about(&About { checkpoint, base, lease: self.session.lease(), ..About::thread(thread) })
        })
    }

    async fn delete(&self, graph: &NodeName, thread: &ThreadId) -> Result<(), StoreError> {
        self.session.delete_thread(graph, thread).await
    }

    async fn keep_latest(&self, threads: &[ThreadId]) -> Result<(), StoreError> {
        self.prune_to_latest(threads).await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseReply, StoreError> {
        let (thread, lease, call, repeat) = match &request {
            LeaseRequest::Acquire(claim) => {
                let ttl = u64::try_from(claim.ttl.as_millis()).unwrap_or(u64::MAX).to_string();
                let call = Call::of("acquire").name(claim.thread.as_str()).name(&claim.holder).text(ttl);
                (&claim.thread, None, call.uuid(Some(Uuid::new_v4())), Repeat::Always)
            }
            LeaseRequest::Renew(lease) => {
                let call = Call::of("renew").int(lease.fence.cast_signed()).name(lease.thread.as_str());
                (&lease.thread, Some(lease), call, Repeat::Always)
            }
            LeaseRequest::RenewAll(leases) => {
                return self.session.renew_all(leases).await.map(LeaseReply::Renewed);
            }
            LeaseRequest::Release(lease) => {
                let call = Call::of("release").int(lease.fence.cast_signed()).name(lease.thread.as_str());
                (&lease.thread, Some(lease), call, Repeat::UntilRefused)
            }
            LeaseRequest::Break(thread) => {
                let call = Call::of("release").int(None).name(thread.as_str());
                (thread, None, call, Repeat::IfNothingWasStored)
            }
        };
        let about = About { lease, ..About::thread(thread) };
        let rows = self.session.database().call(&call, repeat).await.map_err(|fault| fault.about(&about))?;
        let held = |row: &Row| Part::read(row)?.lease();
        match (&request, lease) {
            (LeaseRequest::Acquire(_), _) => {
                let row = rows.first().ok_or_else(|| PostgresError::Answer("no row".into()))?;
                let is_held = row.try_get("is_held");
                let is_held = is_held.map_err(|error| PostgresError::Answer(error.to_string()))?;
                let lease = held(row)?;
                Ok(if is_held { LeaseReply::Held(lease) } else { LeaseReply::HeldByAnother(lease) })
            }
            (LeaseRequest::Renew(lease), _) => {
                let renewed_ms = scalar::<i64>(&rows)?.cast_unsigned();
                Ok(LeaseReply::Held(LeaseRecord { renewed_ms, ..lease.clone() }))
            }
            (_, Some(_)) => Ok(LeaseReply::Free(None)),
            (_, None) => Ok(LeaseReply::Free(rows.first().map(held).transpose()?)),
        }
    }

    fn fenced(&self, lease: &LeaseRecord) -> Option<Arc<dyn Checkpointer>> {
        Some(Arc::new(Self { session: self.session.with_lease(lease), ..self.clone() }))
    }

    fn records(&self) -> Option<Arc<dyn Records>> {
        Some(self.records.clone())
    }

    async fn watch(&self, watch: Watch) -> Result<Mark, StoreError> {
        let name = watch.thread.as_ref().map(|thread| thread.as_str().as_bytes());
        loop {
            let rows = self.session.read(&Call::of("mark").bytes(name), &About::thread(&"".into())).await?;
            let text: String = scalar(&rows)?;
            let now = u128::from_str_radix(&text, 16).map_err(|error| corrupt("a mark", error))?;
            let now = Mark::from_bytes(now.to_le_bytes());
            if watch.since != Some(now) {
                return Ok(now);
            }
            tokio::time::sleep(PERIOD).await;
        }
    }
}

impl fmt::Debug for PostgresSaver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresSaver")
            .field("database", &self.session.database().place())
            .field("schema", &self.session.database().schema)
            .finish_non_exhaustive()
    }
}
