//! Reads the document of a thread.

use std::collections::{BTreeSet, HashMap};

use superstep_core::checkpoint::{Carried, Checkpoint, CheckpointName, Emitted, StoreError};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::state::Json;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::call::Call;
use super::contents::Contents;
use super::database::Database;
use super::error::Fault;
use super::inspect::ON_OR_BELOW;
use super::parts::Part;
use super::session::Session;
use crate::error::corrupt;
use crate::history::decode;
use crate::history::rows::ThreadRow;
use crate::pending::Seen;
use crate::portable::document::Document;
use crate::portable::read::{Link, Rows, read};

/// The threads in these rows, or with these names.
const THREADS: &str = "
SELECT 11 AS k, ARRAY[t.id, t.head] AS i, ARRAY[t.name, t.graph] AS b, NULL::text[] AS t FROM @.thread t
WHERE t.id = ANY($1) OR sha256(t.name) IN (SELECT sha256(n) FROM unnest($2) n)";

/// The checkpoints that were written on these threads, and those with names.
const OWN: &str = "
SELECT 1 AS k, ARRAY[c.seq, c.thread] AS i, NULL::bytea[] AS b, NULL::text[] AS t FROM @.checkpoint c WHERE c.thread = ANY($1)
UNION ALL
(SELECT 9, ARRAY[n.checkpoint, n.thread], ARRAY[n.name], NULL FROM @.named n WHERE n.thread = ANY($1) ORDER BY n.name)";

/// These checkpoints with their pasts.
const PAST: &str = "
WITH RECURSIVE past(seq, parent) AS (
    SELECT c.seq, c.parent FROM @.checkpoint c WHERE c.seq = ANY($1)
    UNION
    SELECT c.seq, c.parent FROM past p, LATERAL (SELECT * FROM @.checkpoint c WHERE c.seq = p.parent LIMIT 1) c
)
SELECT p.seq FROM past p";

const WITH_IDS: &str = "SELECT c.seq FROM @.checkpoint c WHERE c.id = ANY($1)";

/// The rows of a thread with everything that belongs to it, in memory.
struct Found {
    /// All threads, by their rows.
    threads: HashMap<i64, ThreadRow>,
    by_name: HashMap<ThreadId, i64>,
    names: HashMap<i64, Vec<(CheckpointName, i64)>>,
    own: HashMap<i64, Vec<i64>>,
    positions: HashMap<CheckpointId, i64>,
    contents: Contents,
}

impl Session {
    /// Reads the document of a thread; `None` if it does not exist.
    pub(crate) async fn document(&self, thread: &ThreadId) -> Result<Option<Document>, StoreError> {
        let database = self.database();
        let find = async |client: &Client| Found::of(self, client, thread).await;
        read(&database.snapshot(find).await.map_err(Fault::plain)?, thread)
    }
}

/// Returns the row of a thread, from a part with its row, its head, its name and its graph.
pub(crate) fn thread_row(part: &Part) -> Result<ThreadRow, StoreError> {
    let (name, graph) = (part.name(0)?.into(), part.name(1)?.to_owned());
    Ok(ThreadRow { id: part.int(0)?, name, graph, head: part.int(1)? })
}

impl Found {
    async fn of(session: &Session, client: &Client, thread: &ThreadId) -> Result<Self, Fault> {
        let database = session.database();
        let mut found = Self {
            threads: HashMap::new(),
            by_name: HashMap::new(),
            names: HashMap::new(),
            own: HashMap::new(),
            positions: HashMap::new(),
            contents: Contents::new(session.texts()),
        };
        let rows = database.on(client, &Call::query(ON_OR_BELOW).name(thread.as_str())).await?;
        let mut own = Vec::new();
        for part in Part::all(&rows)? {
            let row = thread_row(&part)?;
            if row.name.before_deletion() == row.name {
                own.push(row.id);
            }
            found.add_thread(row);
        }
        let mut open: Vec<i64> = own.iter().map(|id| found.threads[id].head).collect();
        open.extend(found.add_own(database, client, own).await?);
        while !open.is_empty() {
            let call = Call::query(PAST).argument(std::mem::take(&mut open), Type::INT8_ARRAY);
            let rows = database.on(client, &call).await?;
            let seqs: BTreeSet<i64> = seqs(&rows)?.into_iter().collect();
            let new = seqs.into_iter().filter(|seq| !found.contents.lines.contains_key(seq)).collect();
            open = found.add_checkpoints(database, client, new).await?;
        }
        let owners = found.contents.lines.values().map(|line| line.owner);
        let owners = owners.filter(|owner| !found.threads.contains_key(owner)).collect();
        found.add_threads(database, client, owners, Vec::new()).await?;
        found.contents.read_rest(database, client).await?;
        Ok(found)
    }

    fn add_thread(&mut self, row: ThreadRow) {
        self.by_name.insert(row.name.clone(), row.id);
        self.threads.insert(row.id, row);
    }

    /// Reads which checkpoints threads have, and their names; returns the checkpoints.
    async fn add_own(
        &mut self,
        database: &Database,
        client: &Client,
        threads: Vec<i64>,
    ) -> Result<Vec<i64>, Fault> {
        let rows = database.on(client, &Call::query(OWN).argument(threads, Type::INT8_ARRAY)).await?;
        let mut seqs = Vec::new();
        for part in Part::all(&rows)? {
            let (seq, thread) = (part.int(0)?, part.int(1)?);
            seqs.push(seq);
            if part.kind == super::parts::kind::LINE {
                self.own.entry(thread).or_default().push(seq);
            } else {
                let name = part.name(0)?.parse().map_err(|error| corrupt("a name", error))?;
                self.names.entry(thread).or_default().push((name, seq));
            }
        }
        Ok(seqs)
    }

    /// Reads checkpoints; returns those from which subgraphs continue whose state they keep.
    async fn add_checkpoints(
        &mut self,
        database: &Database,
        client: &Client,
        seqs: Vec<i64>,
    ) -> Result<Vec<i64>, Fault> {
        self.contents.read_lines(database, client, seqs.clone()).await?;
        let (mut ids, mut names) = (Vec::new(), BTreeSet::new());
        for seq in seqs {
            let line = self.contents.line(seq)?;
            self.positions.insert(line.id, seq);
            for kept in decode::kept(&line.manifest)? {
                ids.push(kept.checkpoint.0);
                if !self.by_name.contains_key(&kept.thread) {
                    names.insert(kept.thread.as_str().as_bytes().to_vec());
                }
            }
        }
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let rows = database.on(client, &Call::query(WITH_IDS).argument(ids, Type::UUID_ARRAY)).await?;
        let mut open = self::seqs(&rows)?;
        let new = self.add_threads(database, client, Vec::new(), names.into_iter().collect()).await?;
        open.extend(new.iter().map(|id| self.threads[id].head));
        // The names of these threads are exported, but only for checkpoints of the document.
        self.add_own(database, client, new).await?;
        open.retain(|seq| !self.contents.lines.contains_key(seq));
        Ok(open)
    }

    /// Reads threads by their rows or names; returns their rows.
    async fn add_threads(
        &mut self,
        database: &Database,
        client: &Client,
        ids: Vec<i64>,
        names: Vec<Vec<u8>>,
    ) -> Result<Vec<i64>, Fault> {
        let call = Call::query(THREADS).argument(ids, Type::INT8_ARRAY).argument(names, Type::BYTEA_ARRAY);
        let mut added = Vec::new();
        for part in Part::all(&database.on(client, &call).await?)? {
            let row = thread_row(&part)?;
            added.push(row.id);
            self.add_thread(row);
        }
        Ok(added)
    }
}

fn seqs(rows: &[tokio_postgres::Row]) -> Result<Vec<i64>, StoreError> {
    let answer = |error: tokio_postgres::Error| super::error::PostgresError::Answer(error.to_string());
    rows.iter().map(|row| Ok(row.try_get(0).map_err(answer)?)).collect()
}

impl Rows for Found {
    /// The position of the checkpoint.
    type Described = i64;

    fn on_or_below(&self, thread: &ThreadId) -> Result<Vec<ThreadRow>, StoreError> {
        let mut rows: Vec<ThreadRow> =
            self.threads.values().filter(|row| row.name.is_on_or_below(thread)).cloned().collect();
        rows.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(rows)
    }

    fn thread(&self, id: i64) -> Result<ThreadRow, StoreError> {
        let missing = || corrupt(format_args!("thread row {id}"), "the row is missing");
        self.threads.get(&id).cloned().ok_or_else(missing)
    }

    fn names(&self, thread: i64) -> Result<Vec<(CheckpointName, i64)>, StoreError> {
        Ok(self.names.get(&thread).cloned().unwrap_or_default())
    }

    fn ends(&self, thread: i64) -> Result<Vec<i64>, StoreError> {
        Ok(self.own.get(&thread).cloned().unwrap_or_default())
    }

    fn link(&self, seq: i64) -> Result<Link, StoreError> {
        let line = self.contents.line(seq)?;
        Ok(Link { id: line.id, parent: line.parent, thread: line.owner })
    }

    fn kept(&self, seq: i64, named: &mut Vec<i64>) -> Result<Vec<i64>, StoreError> {
        let mut places = Vec::new();
        for kept in decode::kept(&self.contents.line(seq)?.manifest)? {
            places.extend(self.positions.get(&kept.checkpoint));
            if let Some(id) = self.by_name.get(&kept.thread) {
                places.push(self.threads[id].head);
                named.push(*id);
            }
        }
        Ok(places)
    }

    fn checkpoint(&self, seq: i64) -> Result<(Checkpoint, i64), StoreError> {
        Ok((self.contents.checkpoint(seq)?, seq))
    }

    fn schema(&self, seq: &i64) -> Result<Option<Json>, StoreError> {
        Ok(self.contents.states.get(&self.contents.line(*seq)?.state).cloned())
    }

    fn topology(&self, seq: &i64) -> Result<Option<(String, Json)>, StoreError> {
        Ok(self.contents.graphs.get(&self.contents.line(*seq)?.graph).cloned())
    }

    fn emitted(&self, seq: i64) -> Result<Vec<(u32, Emitted)>, StoreError> {
        Ok(self.contents.emitted(seq))
    }

    fn work(&self, seen: Seen) -> Result<Carried, StoreError> {
        Ok(self.contents.work(seen))
    }
}
