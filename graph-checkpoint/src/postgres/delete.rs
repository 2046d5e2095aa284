//! Deletes a thread with all data that no other thread needs, in one transaction.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::convert::Infallible;

use superstep_core::checkpoint::{Kept, Seq, StoreError, still_needed};
use superstep_core::id::{CheckpointId, NodeName, ThreadId};
use tokio_postgres::types::{FromSql, Type};
use tokio_postgres::{Client, Row};

use super::call::Call;
use super::database::Repeat;
use super::error::{About, Fault, PostgresError, Refusal};
use super::maintenance::columns;
use super::session::Session;
use super::stored::Texts;
use super::work::write;
use crate::error::corrupt;
use crate::history::decode;

/// The rows to delete, and the remains that other threads need.
#[derive(Default)]
struct Plan {
    going: Vec<i64>,
    owners: Vec<i64>,
    gone: Vec<i64>,
    left: Vec<i64>,
    names: Vec<Vec<u8>>,
    heads: Vec<i64>,
}

/// A checkpoint of a thread that is deleted.
struct Doomed {
    seq: i64,
    parent: Option<i64>,
    owner: i64,
    is_needed: bool,
    kept: Vec<Kept>,
}

impl Session {
    pub(crate) async fn delete_thread(&self, graph: &NodeName, thread: &ThreadId) -> Result<(), StoreError> {
        self.forget_on_or_below(thread);
        let about = About { graph: Some(graph), lease: self.lease(), ..About::thread(thread) };
        let mut attempts = self.database().attempts();
        loop {
            match self.attempt_deletion(graph, thread).await {
                Ok(()) => return Ok(()),
                Err(fault) => {
                    let waited = attempts.after(fault, Repeat::Always).await;
                    waited.map_err(|fault| fault.about(&about))?;
                }
            }
        }
    }

    async fn attempt_deletion(&self, graph: &NodeName, thread: &ThreadId) -> Result<(), Fault> {
        let database = self.database();
        let schema = &database.schema;
        let mut connection = database.connection().await?;
        let failed = |error: tokio_postgres::Error| Fault::of(&error);
        let transaction = connection.transaction().await.map_err(failed)?;
        let client = transaction.client();
        database.on(client, &write("hold", self.lease())).await?;
        database.on(client, &Call::of("release").int(None).name(thread.as_str())).await?;
        // No thread begins or ends, and no head moves, until the end of the transaction.
        let lock = format!("LOCK TABLE {schema}.thread IN EXCLUSIVE MODE");
        client.batch_execute(&lock).await.map_err(failed)?;
        let name = thread.as_str().as_bytes();
        let find = format!("SELECT graph FROM {schema}.thread WHERE sha256(name) = sha256($1)");
        let found = client.query_typed(&find, &[(&name, Type::BYTEA)]).await.map_err(failed)?;
        let held: Option<Vec<u8>> = found.first().map(|row| get(row, 0)).transpose()?;
        if held.as_ref().is_some_and(|held| held != graph.as_str().as_bytes()) {
            let found = String::from_utf8_lossy(&held.unwrap_or_default()).into_owned();
            return Err(Fault::Refused(Refusal::WrongGraph(found)));
        }
        // Those of a server may exist before its first checkpoint.
        database.on(client, &Call::of("delete_records").name(thread.as_str())).await?;
        if held.is_none() {
            return transaction.commit().await.map_err(failed);
        }
        let plan = Plan::of(client, schema, self.texts(), thread).await?;
        let call =
            Call::of("remove").argument(plan.going, Type::INT8_ARRAY).argument(plan.owners, Type::INT8_ARRAY);
        let call = call.argument(plan.gone, Type::INT8_ARRAY).argument(plan.left, Type::INT8_ARRAY);
        let call = call.argument(plan.names, Type::BYTEA_ARRAY).argument(plan.heads, Type::INT8_ARRAY);
        database.on(client, &call).await?;
        transaction.commit().await.map_err(failed)
    }
}

impl Plan {
    async fn of(client: &Client, schema: &str, texts: &Texts, thread: &ThreadId) -> Result<Self, Fault> {
        let mut threads = going_threads(client, schema, thread).await?;
        let doomed = doomed(client, schema, texts, threads.keys().copied().collect()).await?;
        let kept = Keeping::of(client, schema, &doomed).await?;
        let parents: BTreeMap<Seq, Option<Seq>> =
            doomed.iter().map(|doomed| (place(doomed.seq), doomed.parent.map(place))).collect();
        let needed = doomed.iter().filter(|doomed| doomed.is_needed).map(|doomed| place(doomed.seq));
        let by_seq: HashMap<i64, &Doomed> = doomed.iter().map(|doomed| (doomed.seq, doomed)).collect();
        let mut named = HashSet::new();
        let also = |at: Seq| {
            let mut places = Vec::new();
            for held in by_seq.get(&at.0.cast_signed()).into_iter().flat_map(|doomed| &doomed.kept) {
                places.extend(kept.checkpoints.get(&held.checkpoint.0).copied().map(place));
                if let Some((id, head)) = kept.threads.get(held.thread.as_str().as_bytes()) {
                    places.push(place(*head));
                    named.insert(*id);
                }
            }
            Ok::<_, Infallible>(places)
        };
        let staying = match still_needed(&parents, needed, also) {
            Ok(staying) => staying,
            Err(never) => match never {},
        };
        // Threads from which a subgraph continues keep their names.
        threads.retain(|id, _| !named.contains(id));
        let mut plan = Self::default();
        let mut heads: HashMap<i64, i64> = HashMap::new();
        for doomed in &doomed {
            if staying.contains(&place(doomed.seq)) {
                let head = heads.entry(doomed.owner).or_default();
                *head = doomed.seq.max(*head);
            } else {
                plan.going.push(doomed.seq);
                plan.owners.push(doomed.owner);
            }
        }
        for (id, name) in threads {
            match heads.get(&id) {
                Some(head) => {
                    plan.left.push(id);
                    plan.heads.push(*head);
                    let remnant = name.before_deletion().remnant(head.cast_unsigned());
                    plan.names.push(remnant.as_str().as_bytes().to_vec());
                }
                None => plan.gone.push(id),
            }
        }
        Ok(plan)
    }
}

fn place(seq: i64) -> Seq {
    Seq(seq.cast_unsigned())
}

fn get<'r, T: FromSql<'r>>(row: &'r Row, column: usize) -> Result<T, Fault> {
    row.try_get(column).map_err(|error| Fault::Store(PostgresError::Answer(error.to_string()).into()))
}

/// Returns the threads that go with a thread, by their rows.
async fn going_threads(
    client: &Client,
    schema: &str,
    thread: &ThreadId,
) -> Result<HashMap<i64, ThreadId>, Fault> {
    // The threads of subgraphs, with the existence of the thread at the top.
    let sql = format!(
        "SELECT t.id, t.name, EXISTS (SELECT 1 FROM {schema}.thread r \
         WHERE sha256(r.name) = sha256(substr(t.name, 1, greatest(position('\\x1f'::bytea IN t.name) - 1, 0)))) FROM {schema}.thread t \
         WHERE t.name = $1 OR position('\\x1f'::bytea IN t.name) > 0"
    );
    let name = thread.as_str().as_bytes();
    let rows = client.query_typed(&sql, &[(&name, Type::BYTEA)]).await.map_err(|error| Fault::of(&error))?;
    let mut going = HashMap::new();
    for row in &rows {
        let text: &[u8] = get(row, 1)?;
        let text = std::str::from_utf8(text).map_err(|error| corrupt("the name of a thread", error))?;
        let (name, is_there): (ThreadId, bool) = (text.into(), get(row, 2)?);
        if name.goes_with(thread, |root| root != thread && is_there) {
            going.insert(get(row, 0)?, name);
        }
    }
    Ok(going)
}

/// Returns the checkpoints of these threads. One is needed if another thread has it as its head, has a name for it, or
/// continues it.
async fn doomed(
    client: &Client,
    schema: &str,
    texts: &Texts,
    threads: Vec<i64>,
) -> Result<Vec<Doomed>, Fault> {
    let sql = format!(
        "SELECT c.seq, c.parent, c.thread, \
         EXISTS (SELECT 1 FROM {schema}.thread t WHERE t.head = c.seq AND NOT t.id = ANY($1)) \
         OR EXISTS (SELECT 1 FROM {schema}.named n WHERE n.checkpoint = c.seq AND NOT n.thread = ANY($1)) \
         OR c.seq IN (SELECT o.parent FROM {schema}.checkpoint o WHERE NOT o.thread = ANY($1) \
            AND o.root IN (SELECT d.root FROM {schema}.checkpoint d WHERE d.thread = ANY($1))), \
         CASE WHEN position('\"kept\"' IN c.manifest) > 0 OR c.manifest LIKE '~%' THEN c.manifest END, \
         c.run, c.step, c.source, s.fingerprint, g.fingerprint, c.id \
         FROM {schema}.checkpoint c LEFT JOIN {schema}.described_state s ON s.id = c.state \
         LEFT JOIN {schema}.described_graph g ON g.id = c.graph WHERE c.thread = ANY($1)"
    );
    let rows =
        client.query_typed(&sql, &[(&threads, Type::INT8_ARRAY)]).await.map_err(|error| Fault::of(&error))?;
    let doomed = rows.iter().map(|row| {
        let kept = match get::<Option<&str>>(row, 4)? {
            Some(stored) => {
                let id = CheckpointId(get(row, 10)?);
                let manifest = columns(row, id, [5, 6, 7, 8, 9])?;
                decode::kept(&manifest.open(texts, stored, format_args!("checkpoint {id}"))?)?
            }
            None => Vec::new(),
        };
        Ok(Doomed {
            seq: get(row, 0)?,
            parent: get(row, 1)?,
            owner: get(row, 2)?,
            is_needed: get::<Option<bool>>(row, 3)?.unwrap_or(false),
            kept,
        })
    });
    doomed.collect()
}

/// The checkpoints and threads from which subgraphs continue whose state is kept.
#[derive(Default)]
struct Keeping {
    checkpoints: HashMap<uuid::Uuid, i64>,
    /// By their names: the row, and the head.
    threads: HashMap<Vec<u8>, (i64, i64)>,
}

impl Keeping {
    async fn of(client: &Client, schema: &str, doomed: &[Doomed]) -> Result<Self, Fault> {
        let mut keeping = Self::default();
        let kept = || doomed.iter().flat_map(|doomed| &doomed.kept);
        if kept().next().is_none() {
            return Ok(keeping);
        }
        let failed = |error: tokio_postgres::Error| Fault::of(&error);
        let ids: Vec<uuid::Uuid> = kept().map(|kept| kept.checkpoint.0).collect();
        let sql = format!("SELECT id, seq FROM {schema}.checkpoint WHERE id = ANY($1)");
        for row in client.query_typed(&sql, &[(&ids, Type::UUID_ARRAY)]).await.map_err(failed)? {
            keeping.checkpoints.insert(get(&row, 0)?, get(&row, 1)?);
        }
        let names: Vec<&[u8]> = kept().map(|kept| kept.thread.as_str().as_bytes()).collect();
        let sql = format!("SELECT name, id, head FROM {schema}.thread WHERE name = ANY($1)");
        for row in client.query_typed(&sql, &[(&names, Type::BYTEA_ARRAY)]).await.map_err(failed)? {
            keeping.threads.insert(get(&row, 0)?, (get(&row, 1)?, get(&row, 2)?));
        }
        Ok(keeping)
    }
}
