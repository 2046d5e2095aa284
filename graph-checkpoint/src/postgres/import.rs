//! Stores a document in one transaction.

use std::collections::{BTreeSet, HashMap};

use async_trait::async_trait;
use superstep_core::checkpoint::{Carried, Checkpoint, StoreError};
use superstep_core::id::{CheckpointId, Fingerprint, ThreadId};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::call::Call;
use super::contents::Contents;
use super::database::{Database, Repeat};
use super::error::{About, Fault};
use super::import_rows::Importing;
use super::parts::Part;
use super::saver::PostgresSaver;
use super::session::Session;
use super::work::write;
use crate::error::corrupt;
use crate::pending::Seen;
use crate::portable::document::Document;
use crate::portable::plan::{Plan, Taken, Target, root_of};
use crate::portable::{Export, ImportTarget};

/// Rows of threads that nothing else gets.
const NEW_THREADS: &str = "SELECT nextval(pg_get_serial_sequence('@.thread', 'id')) FROM generate_series(1::bigint, $1) n ORDER BY n";

/// The checkpoints of a document that are stored already.
const TAKEN: &str = "
SELECT 11 AS k, ARRAY[c.seq, c.thread, t.head, c.root] AS i, ARRAY[uuid_send(c.id), t.name] AS b,
    ARRAY[c.versions::text, c.version_fields::text] AS t
FROM @.checkpoint c JOIN @.thread t ON t.id = c.thread WHERE c.id = ANY($1)";

const THREADS: &str = "
SELECT 11 AS k, ARRAY[t.id, t.head] AS i, ARRAY[t.name] AS b, NULL::text[] AS t FROM @.thread t
WHERE sha256(t.name) IN (SELECT sha256(n) FROM unnest($1) n)";

#[async_trait]
impl ImportTarget for PostgresSaver {
    async fn import(&self, export: Export, name: &ThreadId) -> Result<(), StoreError> {
        self.session().import(&export.document, name).await
    }
}

impl Session {
    /// Stores a document as the thread `name`.
    async fn import(&self, document: &Document, name: &ThreadId) -> Result<(), StoreError> {
        self.forget_on_or_below(name);
        let about = About { lease: self.lease(), ..About::thread(name) };
        let mut attempts = self.database().attempts();
        loop {
            match self.attempt_import(document, name).await {
                Ok(()) => return Ok(()),
                Err(fault) => {
                    // A second attempt would find the thread of the first one.
                    let waited = attempts.after(fault, Repeat::IfNothingWasStored).await;
                    waited.map_err(|fault| fault.about(&about))?;
                }
            }
        }
    }

    async fn attempt_import(&self, document: &Document, name: &ThreadId) -> Result<(), Fault> {
        let database = self.database();
        let mut connection = database.connection().await?;
        let failed = |error: tokio_postgres::Error| Fault::of(&error);
        let transaction = connection.transaction().await.map_err(failed)?;
        let client = transaction.client();
        database.on(client, &write("hold", self.lease())).await?;
        // No thread begins or ends, and no head moves, until the end of the transaction.
        let lock = format!("LOCK TABLE {}.thread IN EXCLUSIVE MODE", database.schema);
        client.batch_execute(&lock).await.map_err(failed)?;
        let target = Stored::of(self, client, document, name).await?;
        let new = numbers(database, client, NEW_THREADS, document.threads.len()).await?;
        let plan = Plan::of(&target, document, name, new)?;
        Importing { database, client, texts: self.texts(), plan: &plan, target: &target }.run().await?;
        database.on(client, &Call::of("count_cut")).await?;
        transaction.commit().await.map_err(failed)
    }
}

/// Returns so many numbers of a sequence.
pub(crate) async fn numbers(
    database: &Database,
    client: &Client,
    sql: &'static str,
    count: usize,
) -> Result<Vec<i64>, Fault> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let rows = database.on(client, &Call::query(sql).int(count)).await?;
    rows.iter().map(|row| row.try_get(0).map_err(|error| Fault::of(&error))).collect()
}

/// A version of a field: the checkpoint with its latest change, and the number of the field there.
pub(crate) type Version = (i64, i32);

/// The versions of all fields at a checkpoint, and the first checkpoint of its tree.
#[derive(Clone)]
pub(crate) struct Versions {
    pub(crate) root: i64,
    pub(crate) schema: Fingerprint,
    pub(crate) fields: Vec<Option<Version>>,
}

/// The rows that a document may share, in memory.
pub(crate) struct Stored {
    threads: HashMap<ThreadId, i64>,
    heads: HashMap<i64, i64>,
    taken: HashMap<CheckpointId, Taken>,
    pub(crate) versions: HashMap<i64, Versions>,
    contents: Contents,
}

impl Stored {
    async fn of(
        session: &Session,
        client: &Client,
        document: &Document,
        name: &ThreadId,
    ) -> Result<Self, Fault> {
        let database = session.database();
        let mut stored = Self {
            threads: HashMap::new(),
            heads: HashMap::new(),
            taken: HashMap::new(),
            versions: HashMap::new(),
            contents: Contents::new(session.texts()),
        };
        let ids: Vec<uuid::Uuid> = document.checkpoints.iter().map(|part| part.checkpoint.id.0).collect();
        let rows = database.on(client, &Call::query(TAKEN).argument(ids, Type::UUID_ARRAY)).await?;
        let mut roots = HashMap::new();
        let mut versions = HashMap::new();
        for part in Part::all(&rows)? {
            let (seq, owner) = (part.int(0)?, part.int(1)?);
            stored.heads.insert(owner, part.int(2)?);
            roots.insert(seq, part.int(3)?);
            versions.insert(seq, fields_of(part.text(0)?, part.optional_text(1))?);
            let taken = Taken { seq, owner, name: part.name(1)?.into() };
            stored.taken.insert(CheckpointId(part.uuid(0)?), taken);
        }
        let seqs: Vec<i64> = stored.taken.values().map(|taken| taken.seq).collect();
        if !seqs.is_empty() {
            stored.contents.read_lines(database, client, seqs).await?;
            stored.contents.read_rest(database, client).await?;
        }
        for (seq, fields) in versions {
            let schema = stored.contents.line(seq)?.state;
            stored.versions.insert(seq, Versions { root: roots[&seq], schema, fields });
        }
        let plan = Plan { document, name, rows: Vec::new(), held: HashMap::new() };
        let named = document.threads.iter().map(|part| plan.renamed(&part.name));
        let roots = stored.taken.values().map(|taken| root_of(&taken.name));
        let names: BTreeSet<ThreadId> = named.chain(roots).collect();
        let names: Vec<&[u8]> = names.iter().map(|name| name.as_str().as_bytes()).collect();
        let rows = database.on(client, &Call::query(THREADS).argument(names, Type::BYTEA_ARRAY)).await?;
        for part in Part::all(&rows)? {
            stored.heads.insert(part.int(0)?, part.int(1)?);
            stored.threads.insert(part.name(0)?.into(), part.int(0)?);
        }
        Ok(stored)
    }
}

impl Target for Stored {
    fn thread(&self, name: &ThreadId) -> Result<Option<i64>, StoreError> {
        Ok(self.threads.get(name).copied())
    }

    fn taken(&self, id: CheckpointId) -> Result<Option<Taken>, StoreError> {
        Ok(self.taken.get(&id).cloned())
    }

    fn checkpoint(&self, seq: i64) -> Result<Checkpoint, StoreError> {
        self.contents.checkpoint(seq)
    }

    fn work(&self, thread: i64, seq: i64) -> Result<Carried, StoreError> {
        let head = self.heads.get(&thread) == Some(&seq);
        Ok(self.contents.work(Seen { seq, worker: thread, head }))
    }
}

/// Parses the versions of a checkpoint: `{7,NULL,9}`.
fn fields_of(seqs: &str, fields: Option<&str>) -> Result<Vec<Option<Version>>, StoreError> {
    let fields = fields.map(array::<i32>).transpose()?;
    let seqs = array::<i64>(seqs)?.into_iter().zip(0..);
    let versions = seqs.map(|(seq, place)| {
        let held = fields.as_ref().and_then(|fields| fields.get(usize::try_from(place).ok()?).copied()?);
        seq.map(|seq| (seq, held.unwrap_or(place)))
    });
    Ok(versions.collect())
}

fn array<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<Vec<Option<T>>, StoreError> {
    let bad = |error: &dyn std::fmt::Display| corrupt("the versions of a checkpoint", error);
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    let inner = inner.ok_or_else(|| bad(&"they are no array"))?;
    let items = inner.split(',').filter(|item| !item.is_empty());
    let items = items.map(|item| match item {
        "NULL" => Ok(None),
        item => item.parse().map(Some).map_err(|error| bad(&error)),
    });
    items.collect()
}
