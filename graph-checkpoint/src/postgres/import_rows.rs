//! Writes the rows of an import.

use std::collections::HashMap;

use superstep_core::checkpoint::{AnsweredBy, Carried, Checkpoint, Recorded, StoreError};
use superstep_core::id::{CheckpointId, Fingerprint};
use superstep_core::state::{Op, Schema};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row as Answer};

use super::call::Call;
use super::commit::{manifest, ops};
use super::database::Database;
use super::error::{Fault, PostgresError};
use super::import::{Stored, Version, Versions, numbers};
use super::stored::{self, Texts};
use super::work::AskTexts;
use crate::error::corrupt;
use crate::history::rows::source_code;
use crate::pending::encode;
use crate::portable::document::CheckpointPart;
use crate::portable::plan::{Plan, Row, Target, missing};

/// The largest number of rows that one statement inserts.
const ROWS: usize = 1_000;

/// The number of bytes after which a statement gets no more rows.
const BYTES: usize = 4 << 20;

/// Positions of checkpoints that nothing else gets.
const NEW_POSITIONS: &str = "SELECT nextval('@.position') FROM generate_series(1::bigint, $1) n ORDER BY n";

const STATE: &str = "
INSERT INTO @.described_state(fingerprint, text) SELECT $1, $2
WHERE NOT EXISTS (SELECT 1 FROM @.described_state s WHERE s.fingerprint = $1)";

const GRAPH: &str = "
INSERT INTO @.described_graph(fingerprint, graph, text) SELECT $1, $2, $3
WHERE NOT EXISTS (SELECT 1 FROM @.described_graph g WHERE g.fingerprint = $1)";

const INSERT_CHECKPOINTS: &str = "
INSERT INTO @.checkpoint(seq, id, parent, root, thread, run, step, source, state, graph, leads_on, versions,
    version_fields, manifest)
SELECT u.seq, u.id, u.parent, u.root, u.thread, u.run, u.step, u.source, s.id, g.id, u.leads_on, u.versions::bigint[],
    u.version_fields::integer[], u.manifest
FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
    AS u(seq, id, parent, root, thread, run, step, source, state, graph, leads_on, versions, version_fields, manifest)
JOIN @.described_state s ON s.fingerprint = u.state JOIN @.described_graph g ON g.fingerprint = u.graph RETURNING seq";

const INSERT_CHANGES: &str = "
INSERT INTO @.change(checkpoint, id, field, place, prev, prev_field, text)
SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7)";

const INSERT_EMITTED: &str = "INSERT INTO @.emitted(checkpoint, task, text) SELECT * FROM unnest($1, $2, $3)";

const INSERT_PENDING: &str = "
INSERT INTO @.pending(thread, base, task, recorded, text) VALUES ($1, $2, $3, $4::text::numeric, $5)
ON CONFLICT DO NOTHING";

const INSERT_ASK: &str = "
INSERT INTO @.ask(thread, base, interrupt, task, text, deadline, fallback, answer, by_deadline)
VALUES ($1, $2, $3, $4, $5, $6::text::numeric, $7, $8, $9) ON CONFLICT DO NOTHING";

const INSERT_EFFECT: &str = "
INSERT INTO @.effect(thread, base, slot, text, attempt, starts, token, outcome, recorded)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::text::numeric) ON CONFLICT DO NOTHING";

const INSERT_THREAD: &str =
    "INSERT INTO @.thread(id, name, graph, head) OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $4)";

const UPDATE_THREAD: &str = "UPDATE @.thread t SET name = $2, head = $3 WHERE t.id = $1";

const INSERT_NAMED: &str =
    "INSERT INTO @.named(thread, name, checkpoint) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";

/// An import that was planned.
pub(crate) struct Importing<'i> {
    pub(crate) database: &'i Database,
    pub(crate) client: &'i Client,
    pub(crate) texts: &'i Texts,
    pub(crate) plan: &'i Plan<'i>,
    /// What is stored already.
    pub(crate) target: &'i Stored,
}

/// Rows of `checkpoint`, `change` and `emitted`, by column.
#[derive(Default)]
struct Batch {
    bytes: usize,
    seqs: Vec<i64>,
    ids: Vec<uuid::Uuid>,
    parents: Vec<Option<i64>>,
    roots: Vec<i64>,
    threads: Vec<i64>,
    runs: Vec<uuid::Uuid>,
    steps: Vec<i64>,
    sources: Vec<i16>,
    states: Vec<Vec<u8>>,
    graphs: Vec<Vec<u8>>,
    leads_on: Vec<bool>,
    versions: Vec<String>,
    version_fields: Vec<Option<String>>,
    manifests: Vec<String>,
    changes: Changes,
    emitted: (Vec<i64>, Vec<i64>, Vec<String>),
}

/// Rows of `change`, by column.
#[derive(Default)]
struct Changes {
    checkpoints: Vec<i64>,
    ids: Vec<uuid::Uuid>,
    fields: Vec<i32>,
    places: Vec<i32>,
    prevs: Vec<Option<i64>>,
    prev_fields: Vec<Option<i32>>,
    texts: Vec<String>,
}

impl Importing<'_> {
    async fn on(&self, call: Call<'_>) -> Result<Vec<Answer>, Fault> {
        self.database.on(self.client, &call).await
    }

    pub(crate) async fn run(&self) -> Result<(), Fault> {
        let document = self.plan.document;
        for (fingerprint, text) in &document.schemas {
            let text = stored::with_checksum(&stored::state(*fingerprint), text.as_str());
            self.on(Call::query(STATE).bytes(Some(fingerprint.as_bytes())).text(text)).await?;
        }
        for (fingerprint, part) in &document.topologies {
            let call = Call::query(GRAPH).bytes(Some(fingerprint.as_bytes())).name(&part.graph);
            let cell = stored::graph(*fingerprint, &part.graph);
            let text = stored::with_checksum(&cell, part.topology.as_str());
            self.on(call.text(text)).await?;
        }
        let new =
            document.checkpoints.iter().filter(|part| !self.plan.held.contains_key(&part.checkpoint.id));
        let positions = numbers(self.database, self.client, NEW_POSITIONS, new.clone().count()).await?;
        let mut seqs = self.plan.held.clone();
        seqs.extend(new.clone().map(|part| part.checkpoint.id).zip(positions));
        self.write_checkpoints(new, &seqs).await?;
        self.write_work(&seqs).await?;
        self.write_threads(&seqs).await
    }

    async fn write_checkpoints<'p>(
        &self,
        new: impl Iterator<Item = &'p CheckpointPart>,
        seqs: &HashMap<CheckpointId, i64>,
    ) -> Result<(), Fault> {
        let schemas: HashMap<Fingerprint, Schema> = self
            .plan
            .document
            .schemas
            .iter()
            .map(|(print, text)| Ok((*print, text.decode().map_err(|error| corrupt("a schema", error))?)))
            .collect::<Result<_, StoreError>>()?;
        let mut versions: HashMap<i64, Versions> = self.target.versions.clone();
        let mut batch = Batch::default();
        for part in new {
            let checkpoint = self.plan.checkpoint(part);
            let seq = *seqs.get(&checkpoint.id).ok_or_else(|| missing(checkpoint.id))?;
            let parent = match checkpoint.parent {
                Some(parent) => Some(*seqs.get(&parent).ok_or_else(|| missing(parent))?),
                None => None,
            };
            let thread = self.plan.rows[part.thread].id();
            let thread = thread.expect("a thread on which something is written has a row");
            let before = parent.and_then(|parent| versions.get(&parent));
            let at = Place { seq, parent, thread };
            let now = batch.add(self.texts, at, &checkpoint, before, &schemas)?;
            versions.insert(seq, now);
            for (task, emitted) in &part.emitted {
                let cell = stored::emitted(checkpoint.id, i64::from(*task));
                let text = self.texts.store(&cell, &encode(emitted)?)?;
                batch.bytes += text.len();
                batch.emitted.0.push(seq);
                batch.emitted.1.push(i64::from(*task));
                batch.emitted.2.push(text);
            }
            if batch.bytes > BYTES || batch.seqs.len() + batch.changes.texts.len() > ROWS {
                self.write_batch(std::mem::take(&mut batch)).await?;
            }
        }
        self.write_batch(batch).await
    }

    async fn write_batch(&self, batch: Batch) -> Result<(), Fault> {
        if batch.seqs.is_empty() {
            return Ok(());
        }
        let count = batch.seqs.len();
        let call = Call::query(INSERT_CHECKPOINTS);
        let call = call.argument(batch.seqs, Type::INT8_ARRAY).argument(batch.ids, Type::UUID_ARRAY);
        let call = call.argument(batch.parents, Type::INT8_ARRAY).argument(batch.roots, Type::INT8_ARRAY);
        let call = call.argument(batch.threads, Type::INT8_ARRAY).argument(batch.runs, Type::UUID_ARRAY);
        let call = call.argument(batch.steps, Type::INT8_ARRAY).argument(batch.sources, Type::INT2_ARRAY);
        let call = call.argument(batch.states, Type::BYTEA_ARRAY).argument(batch.graphs, Type::BYTEA_ARRAY);
        let call = call.argument(batch.leads_on, Type::BOOL_ARRAY).argument(batch.versions, Type::TEXT_ARRAY);
        let call = call.argument(batch.version_fields, Type::TEXT_ARRAY);
        if self.on(call.argument(batch.manifests, Type::TEXT_ARRAY)).await?.len() != count {
            return Err(Fault::Store(PostgresError::Answer("a description is missing".into()).into()));
        }
        let Changes { checkpoints, ids, fields, places, prevs, prev_fields, texts } = batch.changes;
        let call = Call::query(INSERT_CHANGES);
        let call = call.argument(checkpoints, Type::INT8_ARRAY).argument(ids, Type::UUID_ARRAY);
        let call = call.argument(fields, Type::INT4_ARRAY);
        let call = call.argument(places, Type::INT4_ARRAY).argument(prevs, Type::INT8_ARRAY);
        let call = call.argument(prev_fields, Type::INT4_ARRAY).argument(texts, Type::TEXT_ARRAY);
        self.on(call).await?;
        let (checkpoints, tasks, texts) = batch.emitted;
        let call = Call::query(INSERT_EMITTED).argument(checkpoints, Type::INT8_ARRAY);
        self.on(call.argument(tasks, Type::INT8_ARRAY).argument(texts, Type::TEXT_ARRAY)).await?;
        Ok(())
    }

    async fn write_work(&self, seqs: &HashMap<CheckpointId, i64>) -> Result<(), Fault> {
        for part in &self.plan.document.checkpoints {
            let id = part.checkpoint.id;
            let seq = *seqs.get(&id).ok_or_else(|| missing(id))?;
            for work in &part.work {
                let thread = match self.plan.rows[work.thread] {
                    Row::New(thread) => thread,
                    Row::Adopted(thread) if self.target.work(thread, seq)?.is_empty() => thread,
                    _ => continue,
                };
                self.write_works(thread, seq, &self.plan.work(work)).await?;
            }
        }
        Ok(())
    }

    async fn write_works(&self, thread: i64, base: i64, work: &Carried) -> Result<(), Fault> {
        let on = |sql| Call::query(sql).int(thread).int(base);
        for result in &work.results {
            let recorded = self.texts.number(Recorded::of(std::slice::from_ref(result), &[]))?;
            let call = on(INSERT_PENDING).bytes(Some(result.task.as_bytes())).text(recorded);
            self.on(call.text(self.texts.result(result)?)).await?;
        }
        for failure in &work.failures {
            let call = on(INSERT_PENDING).bytes(Some(failure.task.as_bytes())).text(None::<String>);
            self.on(call.text(self.texts.failure(failure)?)).await?;
        }
        for ask in &work.asks {
            let texts = AskTexts::of(self.texts, ask)?;
            let call = on(INSERT_ASK).bytes(Some(ask.id.as_bytes())).bytes(Some(ask.task.as_bytes()));
            let call = call.text(texts.text).text(texts.deadline).text(texts.fallback).text(texts.answer);
            self.on(call.argument(ask.answered_by == AnsweredBy::Deadline, Type::BOOL)).await?;
        }
        for effect in &work.effects {
            let slot = self.texts.slot(&effect.id)?;
            let started = self.texts.started(effect, &slot)?;
            let call = on(INSERT_EFFECT).argument(slot, Type::BYTEA).text(started);
            let call = call.int(i64::from(effect.attempt)).int(i64::from(effect.starts));
            let call = call.bytes(Some(effect.token.as_bytes()));
            let outcome =
                effect.outcome.as_ref().map(|outcome| self.texts.ended(&effect.id, outcome)).transpose()?;
            self.on(call.text(outcome).text(self.texts.success(effect)?)).await?;
        }
        Ok(())
    }

    async fn write_threads(&self, seqs: &HashMap<CheckpointId, i64>) -> Result<(), Fault> {
        let document = self.plan.document;
        // The newest checkpoint of each thread that was written by this import.
        let mut newest: HashMap<usize, i64> = HashMap::new();
        for part in &document.checkpoints {
            let id = part.checkpoint.id;
            if !self.plan.held.contains_key(&id) {
                newest.insert(part.thread, *seqs.get(&id).ok_or_else(|| missing(id))?);
            }
        }
        for (position, part) in document.threads.iter().enumerate() {
            let row = self.plan.rows[position];
            let Some(id) = row.written() else { continue };
            let (name, head) = match (part.head, newest.get(&position)) {
                (Some(head), _) => {
                    (self.plan.renamed(&part.name), *seqs.get(&head).ok_or_else(|| missing(head))?)
                }
                // For a thread that only contributes a shared past, only that past is stored, as for a deleted thread.
                (None, Some(head)) => (part.name.remnant(head.cast_unsigned()), *head),
                (None, None) => continue,
            };
            match row {
                Row::Adopted(_) => {
                    self.on(Call::query(UPDATE_THREAD).int(id).name(name.as_str()).int(head)).await?;
                }
                _ => {
                    let call = Call::query(INSERT_THREAD).int(id).name(name.as_str());
                    self.on(call.name(part.graph.as_str()).int(head)).await?;
                }
            }
            for (label, checkpoint) in &part.names {
                let seq = *seqs.get(checkpoint).ok_or_else(|| missing(*checkpoint))?;
                self.on(Call::query(INSERT_NAMED).int(id).name(label.as_str()).int(seq)).await?;
            }
        }
        Ok(())
    }
}

/// The place of a checkpoint's row.
struct Place {
    seq: i64,
    parent: Option<i64>,
    thread: i64,
}

impl Batch {
    /// Adds the row of a checkpoint, and returns the versions of its fields.
    fn add(
        &mut self,
        texts: &Texts,
        at: Place,
        checkpoint: &Checkpoint,
        before: Option<&Versions>,
        schemas: &HashMap<Fingerprint, Schema>,
    ) -> Result<Versions, StoreError> {
        let schema = checkpoint.schema;
        let missing = || corrupt("a schema", "it is missing");
        let mut fields = match before {
            None => Vec::new(),
            Some(before) if before.schema == schema => before.fields.clone(),
            Some(before) => {
                let older = schemas.get(&before.schema).ok_or_else(missing)?;
                let newer = schemas.get(&schema).ok_or_else(missing)?;
                let mut fields = vec![None; newer.fields.len()];
                for (version, to) in before.fields.iter().zip(newer.carried_from(older)) {
                    if let Some(to) = to {
                        fields[to.index()] = *version;
                    }
                }
                fields
            }
        };
        for (change, place) in checkpoint.changes.iter().zip(1..) {
            let (field, text) = (change.field.index(), ops(texts, checkpoint.id, change)?);
            fields.resize(fields.len().max(field + 1), None);
            let is_whole = change.ops.first().is_some_and(Op::is_whole);
            let prev = fields[field].filter(|_| !is_whole);
            let number = i32::from(change.field.0);
            fields[field] = Some((at.seq, number));
            self.bytes += text.len();
            self.changes.checkpoints.push(at.seq);
            self.changes.ids.push(checkpoint.id.0);
            self.changes.fields.push(number);
            self.changes.places.push(place);
            self.changes.prevs.push(prev.map(|(seq, _)| seq));
            self.changes.prev_fields.push(prev.map(|(_, field)| field));
            self.changes.texts.push(text);
        }
        let is_moved = |(place, version): (i32, &Option<Version>)| version.is_some_and(|(_, of)| of != place);
        let is_moved = (0..).zip(&fields).any(is_moved);
        let held = || fields.iter().copied();
        let manifest = manifest(texts, checkpoint)?;
        self.bytes += manifest.len() + fields.len() * 8;
        let root = before.map_or(at.seq, |before| before.root);
        self.seqs.push(at.seq);
        self.ids.push(checkpoint.id.0);
        self.parents.push(at.parent);
        self.roots.push(root);
        self.threads.push(at.thread);
        self.runs.push(checkpoint.run.0);
        self.steps.push(checkpoint.step);
        self.sources.push(source_code(checkpoint.source));
        self.states.push(schema.as_bytes().to_vec());
        self.graphs.push(checkpoint.topology.as_bytes().to_vec());
        self.leads_on.push(checkpoint.frontier.nodes().next().is_some());
        self.versions.push(array_text(held().map(|version| version.map(|(seq, _)| seq))));
        let moved = || array_text(held().map(|version| version.map(|(_, field)| field)));
        self.version_fields.push(is_moved.then(moved));
        self.manifests.push(manifest);
        Ok(Versions { root, schema, fields })
    }
}

fn array_text<T: ToString>(items: impl Iterator<Item = Option<T>>) -> String {
    let items: Vec<String> = items.map(|item| item.map_or("NULL".into(), |item| item.to_string())).collect();
    format!("{{{}}}", items.join(","))
}
