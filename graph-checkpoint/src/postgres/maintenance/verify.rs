//! Checks a database: every text by itself, and the references between rows.

use std::collections::{BTreeSet, HashMap};

use superstep_core::checkpoint::{Source, StoreError};
use superstep_core::id::{CheckpointId, Fingerprint, ThreadId};
use superstep_core::state::Schema;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};

use super::super::call::Call;
use super::super::error::Fault;
use super::super::import::Version;
use super::super::parts::{Inline, Part, Reading, Schemas, kind};
use super::super::reader::PostgresReader;
use super::super::records::{SERVER_TABLES, ServerTable};
use super::super::session::Session;
use super::super::stored;
use super::past::{CHECKPOINTS, columns, get, stream, threads};
use crate::error::corrupt;
use crate::history::decode;
use crate::history::rows::ThreadRow;
use crate::maintenance::{Counts, Finding, Unused, Verified};

const STATES: &str = "SELECT s.id, s.fingerprint, s.text FROM @.described_state s ORDER BY s.id";

const GRAPHS: &str = "SELECT g.id, g.fingerprint, g.text, g.graph FROM @.described_graph g ORDER BY g.id";

const CHANGES: &str = "
SELECT h.checkpoint, h.field, h.id, h.prev, h.prev_field, h.text FROM @.change h ORDER BY h.checkpoint, h.field";

const REMAINING: &str = "SELECT r.checkpoint, r.field FROM @.remaining_change r";

/// The changes and the values of a checkpoint.
const CONTENT: &str = "SELECT * FROM @.changes_at($1) UNION ALL SELECT * FROM @.values_at($1)";

/// The work on top of checkpoints, and their events, each with its row and its checkpoint.
const WORK: &str = "
SELECT 3 AS k, ARRAY[p.id, p.base, p.thread] AS i, ARRAY[p.task] AS b, ARRAY[p.text] AS t FROM @.pending p
UNION ALL
SELECT 4, ARRAY[a.by_deadline::integer::bigint, a.base, a.thread, a.id], ARRAY[a.interrupt], ARRAY[a.text, a.fallback, a.answer, a.deadline::text]
FROM @.ask a
UNION ALL
SELECT 5, ARRAY[e.attempt, e.starts, e.base, e.thread, e.id], ARRAY[e.token, e.slot], ARRAY[e.text, e.outcome] FROM @.effect e
UNION ALL
SELECT 6, ARRAY[e.task, e.checkpoint], NULL, ARRAY[e.text] FROM @.emitted e";

const NAMED: &str = "SELECT n.checkpoint, n.thread FROM @.named n";

const ITEMS: &str = "SELECT i.namespace, i.key, i.value FROM @.item i";

impl PostgresReader {
    /// Reads everything in the schema, and reports its problems: checks the checksums of all texts of checkpoints, of work and
    /// of the store, and the references between rows: parents, heads, versions of fields including their values, schemas and
    /// topologies.
    ///
    /// Reads one snapshot, and takes as long as reading all states. Texts of a server's rows have no checksums, and neither
    /// have the names and positions of rows; use `pg_amcheck` and the checksums of the server for the pages of its files.
    ///
    /// # Errors
    /// Returns [`StoreError::Io`]. Damage is no error but a finding.
    pub fn verify(&self) -> Result<Verified, StoreError> {
        let session = self.session();
        let check = async |client: &Client| {
            let mut check = Check::new(session, client).await?;
            check.descriptions().await?;
            check.checkpoints().await?;
            check.changes().await?;
            check.content().await?;
            check.heads();
            check.work().await?;
            check.others().await?;
            let Check { counts, findings, .. } = check;
            Ok(Verified {
                format: Self::FORMAT,
                unopened: false,
                counts,
                unused: Unused::default(),
                findings,
            })
        };
        self.wait(|| session.database().snapshot(check)).map_err(Fault::plain)
    }
}

/// A checkpoint that was read.
struct Known {
    id: CheckpointId,
    thread: i64,
    schema: Option<Fingerprint>,
    source: Source,
    manifest: Option<String>,
    versions: Vec<Version>,
}

/// A check of a schema, with its findings so far.
struct Check<'c> {
    session: &'c Session,
    client: &'c Client,
    threads: HashMap<i64, ThreadRow>,
    checkpoints: std::collections::BTreeMap<i64, Known>,
    schemas: HashMap<Fingerprint, Schema>,
    counts: Counts,
    findings: Vec<Finding>,
}

impl<'c> Check<'c> {
    async fn new(session: &'c Session, client: &'c Client) -> Result<Self, Fault> {
        let threads = threads(session.database(), client).await?;
        let counts = Counts { threads: threads.len() as u64, ..Counts::default() };
        Ok(Self {
            session,
            client,
            threads: threads.into_iter().map(|thread| (thread.id, thread)).collect(),
            checkpoints: std::collections::BTreeMap::new(),
            schemas: HashMap::new(),
            counts,
            findings: Vec::new(),
        })
    }

    /// Calls `each` for the rows of a query; its errors are findings.
    async fn rows(
        &mut self,
        table: &'static str,
        call: Call<'_>,
        mut each: impl FnMut(&mut Self, &Row) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let (database, client) = (self.session.database(), self.client);
        stream(database, client, call, |row| match each(self, row) {
            Err(Fault::Store(error @ (StoreError::Corrupt { .. } | StoreError::TooLarge { .. }))) => {
                self.add(table, None, error);
                Ok(())
            }
            done => done,
        })
        .await
    }

    fn add(&mut self, table: &'static str, row: Option<i64>, problem: impl ToString) {
        let problem = problem.to_string();
        self.findings.push(Finding { table, row, thread: None, checkpoint: None, problem });
    }

    /// Adds a problem of a checkpoint, or of a row that belongs to it.
    fn found(&mut self, table: &'static str, row: i64, seq: i64, problem: impl ToString) {
        let known = self.checkpoints.get(&seq);
        let thread = known.and_then(|known| self.threads.get(&known.thread));
        self.findings.push(Finding {
            table,
            row: Some(row),
            thread: thread.map(|thread| thread.name.clone()),
            checkpoint: known.map(|known| known.id),
            problem: problem.to_string(),
        });
    }

    async fn descriptions(&mut self) -> Result<(), Fault> {
        self.rows("described_state", Call::query(STATES), |check, row| {
            check.counts.schemas += 1;
            let print = fingerprint(row, 1)?;
            let place = format_args!("row {}", get::<i32>(row, 0)?);
            let text = stored::checked(&stored::state(print), get(row, 2)?, place)?;
            let schema = serde_json::from_str(text).map_err(|error| corrupt("a schema", error))?;
            check.schemas.insert(print, schema);
            Ok(())
        })
        .await?;
        self.rows("described_graph", Call::query(GRAPHS), |check, row| {
            check.counts.topologies += 1;
            let graph = String::from_utf8_lossy(get::<&[u8]>(row, 3)?).into_owned();
            let cell = stored::graph(fingerprint(row, 1)?, &graph);
            stored::checked(&cell, get(row, 2)?, format_args!("row {}", get::<i32>(row, 0)?))?;
            Ok(())
        })
        .await
    }

    async fn checkpoints(&mut self) -> Result<(), Fault> {
        let texts = self.session.texts();
        let call = Call::query(CHECKPOINTS).argument(true, Type::BOOL);
        self.rows("checkpoint", call, |check, row| {
            check.counts.checkpoints += 1;
            let (seq, parent, thread): (i64, Option<i64>, i64) = (get(row, 0)?, get(row, 1)?, get(row, 2)?);
            let id = CheckpointId(get(row, 6)?);
            let versions = super::past::versions(row)?;
            let stored: &str = get(row, 9)?;
            let columns = columns(row, id, [10, 5, 4, 11, 12]);
            let (schema, source) = match &columns {
                Ok(columns) => (Some(columns.state), columns.source),
                Err(_) => (None, Source::Loop),
            };
            let manifest = columns
                .map_err(Fault::plain)
                .and_then(|columns| Ok(columns.open(texts, stored, "its manifest")?.into_owned()));
            let (manifest, problem) = match manifest {
                Ok(manifest) => (Some(manifest), None),
                Err(error) => (None, Some(error)),
            };
            check.checkpoints.insert(seq, Known { id, thread, schema, source, manifest, versions });
            if let Some(error) = problem {
                check.found("checkpoint", seq, seq, error);
            }
            if !check.threads.contains_key(&thread) {
                check.found("checkpoint", seq, seq, "its thread is missing");
            }
            if parent.is_some_and(|parent| !check.checkpoints.contains_key(&parent)) {
                check.found("checkpoint", seq, seq, "its parent is missing");
            }
            if schema.is_some_and(|schema| !check.schemas.contains_key(&schema)) {
                check.found("checkpoint", seq, seq, "its schema is missing or damaged");
            }
            Ok(())
        })
        .await
    }

    async fn changes(&mut self) -> Result<(), Fault> {
        let texts = self.session.texts();
        let mut changes: BTreeSet<Version> = BTreeSet::new();
        let mut before = Vec::new();
        self.rows("change", Call::query(CHANGES), |check, row| {
            check.counts.versions += 1;
            let (seq, field, id): (i64, i32, _) = (get(row, 0)?, get(row, 1)?, CheckpointId(get(row, 2)?));
            changes.insert((seq, field));
            let older = get::<Option<i64>>(row, 3)?.zip(get::<Option<i32>>(row, 4)?);
            before.extend(older.map(|older| ((seq, field), older)));
            if let Err(error) =
                texts.open(&stored::change(id, field.into()), get(row, 5)?, format_args!("field {field}"))
            {
                check.found("change", seq, seq, error);
            }
            if check.checkpoints.get(&seq).is_some_and(|known| known.id != id) {
                check.found("change", seq, seq, format_args!("field {field}: it is of another checkpoint"));
            }
            Ok(())
        })
        .await?;
        for ((seq, field), older) in before {
            if !changes.contains(&older) {
                self.found(
                    "change",
                    seq,
                    seq,
                    format_args!("field {field}: the version before it is missing"),
                );
            }
        }
        let lost: Vec<i64> = self
            .checkpoints
            .iter()
            .filter(|(_, known)| known.versions.iter().any(|version| !changes.contains(version)))
            .map(|(seq, _)| *seq)
            .collect();
        for seq in lost {
            self.found("checkpoint", seq, seq, "a version of a field is missing");
        }
        let mut remaining = BTreeSet::new();
        self.rows("remaining_change", Call::query(REMAINING), |_, row| {
            remaining.insert((get::<i64>(row, 0)?, get::<i32>(row, 1)?));
            Ok(())
        })
        .await?;
        let is_stray =
            |version: &&Version| !self.checkpoints.contains_key(&version.0) && !remaining.contains(*version);
        for (seq, field) in changes.iter().filter(is_stray).copied().collect::<Vec<_>>() {
            self.add("change", Some(seq), format_args!("field {field}: its checkpoint is missing"));
        }
        Ok(())
    }

    /// Decodes every checkpoint, and folds its values.
    async fn content(&mut self) -> Result<(), Fault> {
        let texts = self.session.texts();
        for seq in self.checkpoints.keys().copied().collect::<Vec<_>>() {
            let call = Call::query(CONTENT).int(seq);
            let rows = self.session.database().on(self.client, &call).await?;
            let known = &self.checkpoints[&seq];
            let decoded = || {
                let (mut reading, mut changes) = (Reading::default(), Vec::new());
                for part in Part::all(&rows)? {
                    match part.kind {
                        kind::CHANGE => changes.push(part.change(texts)?),
                        _ => reading.add(part, texts, &mut Schemas::new())?,
                    }
                }
                if let Some(schema) = known.schema.and_then(|schema| self.schemas.get(&schema)) {
                    reading.values(schema, texts)?;
                }
                if let Some(manifest) = known.manifest.as_ref().filter(|_| known.source != Source::Pruned) {
                    decode::decode(changes, manifest, &Inline)?;
                }
                Ok::<(), StoreError>(())
            };
            if let Err(error) = decoded() {
                self.found("checkpoint", seq, seq, error);
            }
        }
        Ok(())
    }

    fn heads(&mut self) {
        let lost = self.threads.values().filter(|thread| !self.checkpoints.contains_key(&thread.head));
        for (id, name) in
            lost.map(|thread| (thread.id, thread.name.clone())).collect::<Vec<(i64, ThreadId)>>()
        {
            let problem = "its latest checkpoint is missing".to_owned();
            self.findings.push(Finding {
                table: "thread",
                row: Some(id),
                thread: Some(name),
                checkpoint: None,
                problem,
            });
        }
    }

    async fn work(&mut self) -> Result<(), Fault> {
        let texts = self.session.texts();
        self.rows("work", Call::query(WORK), |check, row| {
            let part = Part::read(row)?;
            let (table, count, id, seq) = match part.kind {
                kind::PENDING => ("pending", &mut check.counts.pending, part.int(0)?, part.int(1)?),
                kind::ASK => ("ask", &mut check.counts.asks, part.int(3)?, part.int(1)?),
                kind::EFFECT => ("effect", &mut check.counts.effects, part.int(4)?, part.int(2)?),
                _ => ("emitted", &mut check.counts.emitted, part.int(0)?, part.int(1)?),
            };
            *count += 1;
            let read = match (part.kind, check.checkpoints.get(&seq)) {
                (kind::EMITTED, Some(known)) => part.emitted(known.id, texts).map(drop),
                (kind::EMITTED, None) => Ok(()),
                _ => part.add_to(&mut Default::default(), texts),
            };
            if let Err(error) = read {
                check.found(table, id, seq, error);
            }
            Ok(())
        })
        .await
    }

    async fn others(&mut self) -> Result<(), Fault> {
        self.rows("named", Call::query(NAMED), |check, row| {
            check.counts.names += 1;
            let seq: i64 = get(row, 0)?;
            if !check.checkpoints.contains_key(&seq) {
                check.add("named", Some(seq), "its checkpoint is missing");
            }
            Ok(())
        })
        .await?;
        self.rows("item", Call::query(ITEMS), |check, row| {
            check.counts.items += 1;
            let [path, key] = [0, 1].map(|at| get::<&[u8]>(row, at).map(String::from_utf8_lossy));
            let (path, key) = (path?, key?);
            let place = format_args!("the entry {key:?} at {path:?}");
            stored::checked(&stored::item(&path, &key), get(row, 2)?, place)?;
            Ok(())
        })
        .await?;
        self.rows("lease", Call::query("SELECT l.fence FROM @.lease l"), |check, _| {
            check.counts.leases += 1;
            Ok(())
        })
        .await?;
        let texts = self.session.texts();
        for ServerTable { name, rows, read } in &SERVER_TABLES {
            self.rows(name, Call::query(*rows), |check, row| {
                check.counts.server += 1;
                Ok(read(texts, row)?)
            })
            .await?;
        }
        Ok(())
    }
}

fn fingerprint(row: &Row, column: usize) -> Result<Fingerprint, Fault> {
    let bytes: &[u8] = get(row, column)?;
    let bytes = bytes.try_into().map_err(|_| corrupt("a fingerprint", "it has another length"))?;
    Ok(Fingerprint::from_bytes(bytes))
}
