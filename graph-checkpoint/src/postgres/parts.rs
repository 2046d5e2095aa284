//! Answers of the functions that read: rows of the type `part`, and the records that they form.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use superstep_core::checkpoint::{
    AnsweredBy, AskRecord, Carried, Checkpoint, Deadline, EffectRecord, Emitted, Fold, LeaseRecord, Loaded,
    Seq, Source, StateSize, StepRecord, StoreError, Summary,
};
use superstep_core::id::{
    CheckpointId, Fingerprint, IdempotencyKey, InterruptId, NodeName, RunId, TaskId, ThreadId,
};
use superstep_core::state::{Change, Excess, FieldId, FieldValue, Json, Op, Schema};
use tokio_postgres::Row;
use uuid::Uuid;

use super::error::PostgresError;
use super::stored::{self, Columns, Texts};
use crate::error::corrupt;
use crate::history::decode::{self, Outlines, StoredOp};
use crate::history::manifest::Bodies;
use crate::history::rows::source_of;
use crate::limited::{too_large, undecoded};
use crate::pending::Pending;

/// Texts are stored where they are used, however long they are: the server compresses long ones.
pub(crate) struct Inline;

impl Bodies for Inline {
    fn is_long(&self, _text: &str) -> bool {
        false
    }

    fn keep(&self, _text: &str) -> Result<i64, StoreError> {
        Err(corrupt("a text", "it is stored where it is used"))
    }

    fn find(&self, id: i64) -> Result<Json, StoreError> {
        Err(corrupt(format_args!("body {id}"), "the row is missing"))
    }
}

/// The kinds of parts, as the functions number them.
pub(crate) mod kind {
    pub(crate) const PLACE: i32 = 0;
    pub(crate) const LINE: i32 = 1;
    pub(crate) const CHANGE: i32 = 2;
    pub(crate) const PENDING: i32 = 3;
    pub(crate) const ASK: i32 = 4;
    pub(crate) const EFFECT: i32 = 5;
    pub(crate) const EMITTED: i32 = 6;
    pub(crate) const VALUE: i32 = 7;
    pub(crate) const STATE: i32 = 8;
}

/// A part of an answer.
pub(crate) struct Part {
    pub(crate) kind: i32,
    ints: Vec<Option<i64>>,
    bytes: Vec<Option<Vec<u8>>>,
    texts: Vec<Option<String>>,
}

impl Part {
    pub(crate) fn read(row: &Row) -> Result<Self, StoreError> {
        let failed = |error: tokio_postgres::Error| PostgresError::Answer(error.to_string());
        Ok(Self {
            kind: row.try_get("k").map_err(failed)?,
            ints: row.try_get::<_, Option<_>>("i").map_err(failed)?.unwrap_or_default(),
            bytes: row.try_get::<_, Option<_>>("b").map_err(failed)?.unwrap_or_default(),
            texts: row.try_get::<_, Option<_>>("t").map_err(failed)?.unwrap_or_default(),
        })
    }

    pub(crate) fn all(rows: &[Row]) -> Result<Vec<Self>, StoreError> {
        rows.iter().map(Self::read).collect()
    }

    pub(crate) fn int(&self, at: usize) -> Result<i64, StoreError> {
        self.optional_int(at).ok_or_else(|| self.lacks("a number"))
    }

    pub(crate) fn optional_int(&self, at: usize) -> Option<i64> {
        self.ints.get(at).copied().flatten()
    }

    fn bytes(&self, at: usize) -> Result<&[u8], StoreError> {
        let bytes = self.bytes.get(at).and_then(Option::as_deref);
        bytes.ok_or_else(|| self.lacks("bytes"))
    }

    pub(crate) fn id(&self, at: usize) -> Result<[u8; 16], StoreError> {
        self.bytes(at)?.try_into().map_err(|_| self.lacks("an id"))
    }

    /// Returns the id after the other bytes.
    fn last_id(&self) -> Result<[u8; 16], StoreError> {
        self.id(self.bytes.len().saturating_sub(1))
    }

    pub(crate) fn uuid(&self, at: usize) -> Result<Uuid, StoreError> {
        self.id(at).map(Uuid::from_bytes)
    }

    /// Returns a name.
    pub(crate) fn name(&self, at: usize) -> Result<&str, StoreError> {
        std::str::from_utf8(self.bytes(at)?).map_err(|error| corrupt("a name", error))
    }

    pub(crate) fn text(&self, at: usize) -> Result<&str, StoreError> {
        self.optional_text(at).ok_or_else(|| self.lacks("a text"))
    }

    pub(crate) fn optional_text(&self, at: usize) -> Option<&str> {
        self.texts.get(at).and_then(Option::as_deref)
    }

    fn lacks(&self, what: &str) -> StoreError {
        corrupt(format_args!("a row of kind {}", self.kind), format_args!("it lacks {what}"))
    }

    /// Returns the question of a part of the kind `ASK`.
    pub(crate) fn ask(&self, texts: &Texts) -> Result<AskRecord, StoreError> {
        let id = InterruptId::from_bytes(self.last_id()?);
        let cell = stored::ask(id, self.optional_text(3));
        let text = texts.open(&cell, self.text(0)?, "a question")?;
        let text = limited(texts, "a question", &text)?;
        let mut ask: AskRecord = serde_json::from_str(text).map_err(|error| corrupt("a question", error))?;
        let value = |text: &str| {
            let text = texts.open(&stored::answer(id), text, format_args!("question {}", ask.id))?;
            Json::parse_within(text, texts.limits)
                .map_err(|error| undecoded(format_args!("question {}", ask.id), error))
        };
        let default = self.optional_text(1).map(value).transpose()?;
        let answer = self.optional_text(2).map(value).transpose()?;
        let at_ms = self.optional_text(3).map(str::parse).transpose();
        let at_ms = at_ms.map_err(|error| corrupt("the deadline of a question", error))?;
        ask.deadline = at_ms.zip(default).map(|(at_ms, default)| Deadline { at_ms, default });
        ask.answer = answer;
        ask.answered_by = if self.int(0)? == 1 { AnsweredBy::Deadline } else { AnsweredBy::Caller };
        Ok(ask)
    }

    /// Returns the effect of a part of the kind `EFFECT`.
    pub(crate) fn effect(&self, texts: &Texts) -> Result<EffectRecord, StoreError> {
        let bad = |error: serde_json::Error| corrupt("an effect", error);
        let number = |at| u32::try_from(self.int(at)?).map_err(|error| corrupt("an effect", error));
        let cell = stored::effect(self.int(0)?, self.int(1)?, self.bytes(0)?, self.bytes(1)?);
        let id = texts.open(&cell, self.text(0)?, "an effect")?;
        let outcome = |text| {
            let text = texts.open(&stored::outcome(&id), text, "an effect")?;
            serde_json::from_str(limited(texts, "an effect", &text)?).map_err(bad)
        };
        let outcome = self.optional_text(1).map(outcome).transpose()?;
        Ok(EffectRecord {
            id: serde_json::from_str(&id).map_err(bad)?,
            attempt: number(0)?,
            starts: number(1)?,
            token: IdempotencyKey::from_bytes(self.id(0)?),
            outcome,
        })
    }

    /// Returns the change of a part of the kind `CHANGE`.
    pub(crate) fn change(&self, texts: &Texts) -> Result<Change, StoreError> {
        let ops = ops(&self.change_text(0, texts)?, texts)?;
        let ops = ops.iter().map(|op| op.resolve(&Inline)).collect::<Result<_, _>>()?;
        Ok(Change { field: field(self.int(0)?)?, ops })
    }

    /// Returns the text of a change of the field with this number here.
    fn change_text(&self, field: usize, texts: &Texts) -> Result<Cow<'_, str>, StoreError> {
        let (id, field) = (CheckpointId(self.uuid(0)?), self.int(field)?);
        let place = format_args!("the change of field {field} at checkpoint {id}");
        texts.open(&stored::change(id, field), self.text(0)?, place)
    }

    /// Returns the schema of a part of the kind `STATE`, with its fingerprint.
    pub(crate) fn schema(&self) -> Result<(Fingerprint, Schema), StoreError> {
        let fingerprint = Fingerprint::from_bytes(self.id(0)?);
        let text = stored::checked(&stored::state(fingerprint), self.text(0)?, "a schema")?;
        Ok((fingerprint, serde_json::from_str(text).map_err(|error| corrupt("a schema", error))?))
    }

    /// Returns the events of a part of the kind `EMITTED`, with the position of their task.
    pub(crate) fn emitted(&self, id: CheckpointId, texts: &Texts) -> Result<(u32, Emitted), StoreError> {
        let task = u32::try_from(self.int(0)?).map_err(|error| corrupt("events", error))?;
        let place = format_args!("the events of task {task} at checkpoint {id}");
        let text = texts.open(&stored::emitted(id, i64::from(task)), self.text(0)?, place)?;
        let text = limited(texts, "events", &text)?;
        Ok((task, serde_json::from_str(text).map_err(|error| corrupt("events", error))?))
    }

    /// Adds the record of a part of the kind `PENDING`, `ASK` or `EFFECT`.
    pub(crate) fn add_to(&self, work: &mut Carried, texts: &Texts) -> Result<(), StoreError> {
        match self.kind {
            kind::ASK => work.asks.push(self.ask(texts)?),
            kind::EFFECT => work.effects.push(self.effect(texts)?),
            _ => {
                let task = TaskId::from_bytes(self.id(0)?);
                let text = texts.open(&stored::pending(task), self.text(0)?, "a pending result")?;
                let text = limited(texts, "a result", &text)?;
                match Pending::parse(text).map_err(|error| corrupt("a pending result", error))? {
                    Pending::Finished(result) => work.results.push(result),
                    Pending::Failed(failure) => work.failures.push(failure),
                }
            }
        }
        Ok(())
    }

    /// Returns the lease of a part.
    pub(crate) fn lease(&self) -> Result<LeaseRecord, StoreError> {
        Ok(LeaseRecord {
            fence: self.int(0)?.cast_unsigned(),
            thread: self.name(0)?.into(),
            holder: self.name(1)?.to_owned(),
            ttl_ms: self.text(0)?.parse().map_err(|error| corrupt("a lease", error))?,
            renewed_ms: self.int(1)?.cast_unsigned(),
        })
    }
}

fn limited<'t>(texts: &Texts, place: &str, text: &'t str) -> Result<&'t str, StoreError> {
    texts.limits.of_record().check(text).map_err(|excess| too_large(place, excess))?;
    Ok(text)
}

/// The row of a checkpoint, as the kind `LINE` has it.
pub(crate) struct Line {
    pub(crate) seq: i64,
    pub(crate) parent: Option<i64>,
    pub(crate) id: CheckpointId,
    parent_id: Option<CheckpointId>,
    pub(crate) thread: ThreadId,
    /// The row of that thread.
    pub(crate) owner: i64,
    run: RunId,
    pub(crate) step: i64,
    pub(crate) source: Source,
    pub(crate) state: Fingerprint,
    pub(crate) graph: Fingerprint,
    pub(crate) manifest: String,
}

impl Line {
    pub(crate) fn of(part: &Part, texts: &Texts) -> Result<Self, StoreError> {
        let parent = part.optional_int(1);
        let parent_id = match parent {
            None => None,
            Some(_) => Some(CheckpointId(part.uuid(1)?)),
        };
        let id = CheckpointId(part.uuid(0)?);
        let thread = ThreadId::from(part.name(2)?).before_deletion();
        let place = format!("checkpoint {id} of thread {thread}");
        let (run, step) = (RunId(part.uuid(3)?), part.int(3)?);
        let source = source_of(&place, part.int(4)?)?;
        let (state, graph) = (Fingerprint::from_bytes(part.id(4)?), Fingerprint::from_bytes(part.id(5)?));
        let columns = Columns { id, run, step, source, state, graph };
        let manifest = columns.open(texts, part.text(0)?, &place)?;
        let manifest = limited(texts, &place, &manifest)?.to_owned();
        let (seq, owner) = (part.int(0)?, part.int(2)?);
        Ok(Self { seq, parent, id, parent_id, thread, owner, run, step, source, state, graph, manifest })
    }

    pub(crate) fn summary(&self, outlines: &mut Outlines) -> Result<Summary, StoreError> {
        let (ran, next, metadata) = outlines.of(&self.manifest)?.parts();
        Ok(Summary {
            seq: Seq(self.seq.cast_unsigned()),
            id: self.id,
            parent: self.parent_id,
            thread: self.thread.clone(),
            run: self.run,
            step: self.step,
            source: self.source,
            created_ms: self.id.unix_ms(),
            ran,
            next,
            metadata,
        })
    }

    pub(crate) fn checkpoint(&self, changes: Vec<Change>) -> Result<Checkpoint, StoreError> {
        let decoded = decode::decode(changes, &self.manifest, &Inline)?;
        Ok(Checkpoint {
            id: self.id,
            parent: self.parent_id,
            run: self.run,
            step: self.step,
            source: self.source,
            schema: self.state,
            topology: self.graph,
            changes: decoded.changes,
            tasks: decoded.tasks,
            frontier: decoded.frontier,
            metadata: decoded.metadata,
        })
    }
}

/// The parts of one checkpoint, as they are read.
#[derive(Default)]
pub(crate) struct Reading {
    pub(crate) place: Option<Part>,
    line: Option<Line>,
    changes: Vec<Change>,
    /// The operations of each field, from older to newer.
    values: Vec<(FieldId, Vec<StoredOp>)>,
    pub(crate) work: Carried,
    emitted: Vec<(u32, Emitted)>,
}

/// Schemas that were read, by their fingerprints.
pub(crate) type Schemas = HashMap<Fingerprint, Arc<Schema>>;

impl Reading {
    /// Adds a part of this checkpoint.
    pub(crate) fn add(&mut self, part: Part, texts: &Texts, schemas: &mut Schemas) -> Result<(), StoreError> {
        match part.kind {
            kind::PLACE => self.place = Some(part),
            kind::LINE => self.line = Some(Line::of(&part, texts)?),
            kind::CHANGE => self.changes.push(part.change(texts)?),
            kind::PENDING | kind::ASK | kind::EFFECT => part.add_to(&mut self.work, texts)?,
            kind::EMITTED => {
                let line =
                    self.line.as_ref().ok_or_else(|| corrupt("events", "their checkpoint is missing"))?;
                self.emitted.push(part.emitted(line.id, texts)?);
            }
            kind::VALUE => {
                let (field, ops) = (field(part.int(0)?)?, ops(&part.change_text(1, texts)?, texts)?);
                match self.values.last_mut() {
                    Some((last, all)) if *last == field => all.extend(ops),
                    _ => self.values.push((field, ops)),
                }
            }
            kind::STATE => {
                let (fingerprint, schema) = part.schema()?;
                schemas.insert(fingerprint, Arc::new(schema));
            }
            other => return Err(PostgresError::Answer(format!("a row of kind {other}")).into()),
        }
        Ok(())
    }

    /// Returns the position in the store's order, and the name of the graph.
    fn seen(&self) -> Result<(i64, NodeName), StoreError> {
        let place = self.place.as_ref().ok_or_else(|| corrupt("a checkpoint", "its place is missing"))?;
        Ok((place.int(0)?, place.name(0)?.into()))
    }

    /// Returns `true` if the checkpoint is the one that the caller knows.
    pub(crate) fn is_known(&self) -> Result<bool, StoreError> {
        self.place.as_ref().map_or(Ok(false), |place| Ok(place.int(2)? == 1))
    }

    fn line(&mut self) -> Result<Line, StoreError> {
        self.line.take().ok_or_else(|| corrupt("a checkpoint", "its row is missing"))
    }

    /// Folds the values. Their total size is limited to that of a state.
    pub(crate) fn values(&mut self, schema: &Schema, texts: &Texts) -> Result<Vec<FieldValue>, StoreError> {
        let mut values = Vec::new();
        let mut bytes = 0;
        for (field, ops) in self.values.drain(..) {
            let stored = schema.fields.get(field.index());
            let place = || {
                stored.map_or_else(|| format!("field {}", field.0), |stored| format!("field {}", stored.name))
            };
            let mut fold = Fold::within(texts.limits);
            for op in ops {
                fold.apply(&op.resolve(&Inline)?).map_err(|error| undecoded(place(), error))?;
            }
            let Some(value) = fold.finish().map_err(|error| undecoded(place(), error))? else { continue };
            bytes += value.as_str().len();
            if bytes > texts.limits.most_bytes() {
                return Err(too_large("the state", Excess::Bytes(texts.limits.most_bytes())));
            }
            values.push(FieldValue { field, value });
        }
        // A value has at least two bytes, so values need not be counted in a small state.
        if bytes / 2 > texts.limits.most_values()
            && let Err(excess) = StateSize::of(&values).check(&texts.limits)
        {
            return Err(too_large("the state", excess));
        }
        Ok(values)
    }

    pub(crate) fn loaded(mut self, texts: &Texts, schemas: &Schemas) -> Result<Loaded, StoreError> {
        let (seq, graph) = self.seen()?;
        let line = self.line()?;
        let schema = find(schemas, line.state)?;
        let values = self.values(&schema, texts)?;
        let changes = match line.source {
            Source::Pruned => whole(values.clone()),
            _ => std::mem::take(&mut self.changes),
        };
        let checkpoint = line.checkpoint(changes)?;
        let Carried { results, failures, asks, effects } = self.work;
        let (seq, schema) = (Seq(seq.cast_unsigned()), Arc::unwrap_or_clone(schema));
        Ok(Loaded { seq, graph, checkpoint, values, schema, results, failures, asks, effects })
    }

    pub(crate) fn step(mut self, texts: &Texts, schemas: &Schemas) -> Result<StepRecord, StoreError> {
        let (seq, graph) = self.seen()?;
        let line = self.line()?;
        let schema = find(schemas, line.state)?;
        if line.source == Source::Pruned {
            self.changes = whole(self.values(&schema, texts)?);
        }
        Ok(StepRecord {
            seq: Seq(seq.cast_unsigned()),
            graph,
            thread: line.thread.clone(),
            checkpoint: line.checkpoint(self.changes)?,
            schema,
            work: self.work,
            emitted: self.emitted,
        })
    }
}

/// Returns the values of a pruned checkpoint as its changes: those that are stored only serve newer versions.
pub(crate) fn whole(values: Vec<FieldValue>) -> Vec<Change> {
    let whole = |FieldValue { field, value }| Change { field, ops: [Op::Set(value)].into() };
    values.into_iter().map(whole).collect()
}

fn find(schemas: &Schemas, fingerprint: Fingerprint) -> Result<Arc<Schema>, StoreError> {
    schemas.get(&fingerprint).cloned().ok_or_else(|| corrupt("a schema", "it is missing"))
}

fn field(number: i64) -> Result<FieldId, StoreError> {
    u16::try_from(number).map(FieldId).map_err(|error| corrupt("a change", error))
}

fn ops(text: &str, texts: &Texts) -> Result<Vec<StoredOp>, StoreError> {
    let text = limited(texts, "a checkpoint's changes", text)?;
    serde_json::from_str(text).map_err(|error| corrupt("a checkpoint's changes", error))
}
