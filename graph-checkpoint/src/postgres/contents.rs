//! Whole checkpoints with the work on top of them, many at once.

use std::collections::{BTreeMap, HashMap};

use superstep_core::checkpoint::{Carried, Checkpoint, Emitted, Source, StoreError};
use superstep_core::id::Fingerprint;
use superstep_core::state::{Change, Json, Schema};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::call::Call;
use super::database::Database;
use super::error::{Fault, located};
use super::parts::{Line, Part, Reading, Schemas, kind, whole};
use super::stored::{self, Texts};
use crate::error::corrupt;
use crate::pending::Seen;

const LINES: &str = "SELECT l.* FROM unnest($1) s(seq), LATERAL @.line(s.seq) l";

const REST: &str = "
SELECT 2 AS k, ARRAY[h.field, h.checkpoint]::bigint[] AS i, ARRAY[uuid_send(h.id)] AS b, ARRAY[h.text] AS t
FROM (SELECT * FROM @.change h WHERE h.checkpoint = ANY($1) ORDER BY h.checkpoint, h.place) h
UNION ALL
SELECT 6, ARRAY[e.task, e.checkpoint], NULL, ARRAY[e.text]
FROM (SELECT * FROM @.emitted e WHERE e.checkpoint = ANY($1) ORDER BY e.checkpoint, e.task) e
UNION ALL
SELECT 3, ARRAY[NULL, NULL, p.thread, p.base], ARRAY[p.task], ARRAY[p.text]
FROM (SELECT * FROM @.pending p WHERE p.base = ANY($1) ORDER BY p.id) p
UNION ALL
SELECT 4, ARRAY[a.by_deadline::integer::bigint, NULL, a.thread, a.base], ARRAY[a.interrupt],
    ARRAY[a.text, a.fallback, a.answer, a.deadline::text]
FROM (SELECT * FROM @.ask a WHERE a.base = ANY($1) ORDER BY a.id) a
UNION ALL
SELECT 5, ARRAY[e.attempt, e.starts, e.thread, e.base], ARRAY[e.token, e.slot], ARRAY[e.text, e.outcome]
FROM (SELECT * FROM @.effect e WHERE e.base = ANY($1) ORDER BY e.id) e";

/// The operations that make up the values at pruned checkpoints.
const VALUES: &str = "
SELECT v.k, v.i || s.seq AS i, v.b, v.t FROM unnest($1) s(seq), LATERAL @.values_at(s.seq) v";

const DESCRIPTIONS: &str = "
SELECT 8 AS k, NULL::bigint[] AS i, ARRAY[s.fingerprint] AS b, ARRAY[s.text] AS t
FROM @.described_state s WHERE s.fingerprint = ANY($1)
UNION ALL
SELECT 11, NULL, ARRAY[g.fingerprint, g.graph], ARRAY[g.text] FROM @.described_graph g WHERE g.fingerprint = ANY($2)";

/// Checkpoints by their positions, with everything that belongs to them.
pub(crate) struct Contents {
    texts: Texts,
    pub(crate) lines: BTreeMap<i64, Line>,
    changes: HashMap<i64, Vec<Change>>,
    emitted: HashMap<i64, Vec<(u32, Emitted)>>,
    /// All work of a thread on a checkpoint, whether or not it is a head.
    work: HashMap<(i64, i64), Carried>,
    pub(crate) states: HashMap<Fingerprint, Json>,
    pub(crate) graphs: HashMap<Fingerprint, (String, Json)>,
}

impl Contents {
    pub(crate) fn new(texts: &Texts) -> Self {
        Self {
            texts: texts.clone(),
            lines: BTreeMap::new(),
            changes: HashMap::new(),
            emitted: HashMap::new(),
            work: HashMap::new(),
            states: HashMap::new(),
            graphs: HashMap::new(),
        }
    }

    /// Reads the rows of checkpoints.
    pub(crate) async fn read_lines(
        &mut self,
        database: &Database,
        client: &Client,
        seqs: Vec<i64>,
    ) -> Result<(), Fault> {
        let rows = database.on(client, &Call::query(LINES).argument(seqs, Type::INT8_ARRAY)).await?;
        for part in Part::all(&rows)? {
            let line = Line::of(&part, &self.texts)?;
            self.lines.insert(line.seq, line);
        }
        Ok(())
    }

    /// Reads what else belongs to the checkpoints whose rows were read.
    pub(crate) async fn read_rest(&mut self, database: &Database, client: &Client) -> Result<(), Fault> {
        let seqs: Vec<i64> = self.lines.keys().copied().collect();
        let rows = database.on(client, &Call::query(REST).argument(seqs, Type::INT8_ARRAY)).await?;
        for part in Part::all(&rows)? {
            match part.kind {
                kind::CHANGE => {
                    let seq = part.int(1)?;
                    let change = part.change(&self.texts).map_err(|error| self.located(seq, error))?;
                    self.changes.entry(seq).or_default().push(change);
                }
                kind::EMITTED => {
                    let seq = part.int(1)?;
                    let emitted = part.emitted(self.line(seq)?.id, &self.texts);
                    let emitted = emitted.map_err(|error| self.located(seq, error))?;
                    self.emitted.entry(seq).or_default().push(emitted);
                }
                _ => {
                    let place = (part.int(2)?, part.int(3)?);
                    let added = part.add_to(self.work.entry(place).or_default(), &self.texts);
                    added.map_err(|error| self.located(place.1, error))?;
                }
            }
        }
        let bytes = |print: &Fingerprint| print.as_bytes().to_vec();
        let states: Vec<Vec<u8>> = self.lines.values().map(|line| bytes(&line.state)).collect();
        let graphs: Vec<Vec<u8>> = self.lines.values().map(|line| bytes(&line.graph)).collect();
        let call = Call::query(DESCRIPTIONS).argument(states, Type::BYTEA_ARRAY);
        let rows = database.on(client, &call.argument(graphs, Type::BYTEA_ARRAY)).await?;
        for part in Part::all(&rows)? {
            let print = Fingerprint::from_bytes(part.id(0)?);
            let place = match part.kind {
                kind::STATE => stored::state(print),
                _ => stored::graph(print, part.name(1)?),
            };
            let text = stored::checked(&place, part.text(0)?, "a description")?;
            let text = Json::parse_within(text, self.texts.limits);
            let text = text.map_err(|error| corrupt("a description", error))?;
            if part.kind == kind::STATE {
                self.states.insert(print, text);
            } else {
                self.graphs.insert(print, (part.name(1)?.to_owned(), text));
            }
        }
        self.read_pruned(database, client).await
    }

    /// Reads the values of pruned checkpoints, in place of their changes.
    async fn read_pruned(&mut self, database: &Database, client: &Client) -> Result<(), Fault> {
        let pruned = self.lines.values().filter(|line| line.source == Source::Pruned);
        let pruned: Vec<i64> = pruned.map(|line| line.seq).collect();
        if pruned.is_empty() {
            return Ok(());
        }
        let rows =
            database.on(client, &Call::query(VALUES).argument(pruned.clone(), Type::INT8_ARRAY)).await?;
        let mut readings: HashMap<i64, Reading> = HashMap::new();
        for part in Part::all(&rows)? {
            let reading = readings.entry(part.int(2)?).or_default();
            reading.add(part, &self.texts, &mut Schemas::new())?;
        }
        for seq in pruned {
            let missing = || corrupt("a schema", "it is missing");
            let schema = self.states.get(&self.line(seq)?.state).ok_or_else(missing)?;
            let schema: Schema = schema.decode().map_err(|error| corrupt("a schema", error))?;
            let values = readings.remove(&seq).unwrap_or_default().values(&schema, &self.texts)?;
            self.changes.insert(seq, whole(values));
        }
        Ok(())
    }

    pub(crate) fn line(&self, seq: i64) -> Result<&Line, StoreError> {
        let missing = || corrupt(format_args!("checkpoint row {seq}"), "the row is missing");
        self.lines.get(&seq).ok_or_else(missing)
    }

    /// Adds the thread and the checkpoint at `seq` to an error.
    fn located(&self, seq: i64, error: StoreError) -> StoreError {
        match self.lines.get(&seq) {
            Some(line) => located(error, &line.thread, Some(line.id)),
            None => error,
        }
    }

    pub(crate) fn checkpoint(&self, seq: i64) -> Result<Checkpoint, StoreError> {
        self.line(seq)?.checkpoint(self.changes.get(&seq).cloned().unwrap_or_default())
    }

    pub(crate) fn emitted(&self, seq: i64) -> Vec<(u32, Emitted)> {
        self.emitted.get(&seq).cloned().unwrap_or_default()
    }

    /// Returns the work that a thread sees on a checkpoint.
    pub(crate) fn work(&self, seen: Seen) -> Carried {
        let mut work = self.work.get(&(seen.worker, seen.seq)).cloned().unwrap_or_default();
        if !seen.head {
            work.asks.retain(|ask| ask.answer.is_some());
            work.effects.retain(|effect| effect.outcome.is_some());
        }
        work
    }
}
