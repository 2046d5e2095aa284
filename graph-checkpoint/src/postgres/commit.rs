//! Commits: a call of the function `commit`, and what it needs to know of the past.

use std::sync::Arc;

use superstep_core::checkpoint::{
    At, Carried, Checkpoint, Commit, Committed, Fold, Load, Recorded, StateSize, StoreError, digest,
};
use superstep_core::id::{CheckpointId, Fingerprint, TaskId};
use superstep_core::state::{Change, FieldValue, Op, Schema};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::call::Call;
use super::database::Repeat;
use super::error::{About, Fault, PostgresError};
use super::parts::{Inline, Part, Reading, Schemas, kind};
use super::session::{Known, Session};
use super::stored::{self, Columns, Texts};
use super::work::{Onto, write};
use crate::error::corrupt;
use crate::history::encode::Encoder;
use crate::history::rows::source_code;
use crate::limited::{too_large, undecoded};
use crate::pending::encode;

/// The numbers of a state's fields under the schema of the next checkpoint.
struct Renumbered {
    from: Fingerprint,
    to: Vec<Option<i32>>,
}

/// The outcomes of the function `commit`.
mod outcome {
    pub(super) const NEW: i32 = 0;
    pub(super) const LOST: i32 = 1;
    pub(super) const OUTRUN: i32 = 2;
    pub(super) const RENUMBERED: i32 = 3;
}

/// The greatest number of calls of one commit. Each but the first answers a change by another program.
const MOST_CALLS: usize = 16;

impl Session {
    pub(crate) async fn store_commit(&self, commit: &Commit) -> Result<Committed, StoreError> {
        commit.check(&self.limits())?;
        let size = self.size_after(commit).await?;
        let known = self.known(&commit.thread);
        let mut carry = match known.filter(|known| Some(known.head) == commit.first().parent) {
            Some(known) => self.renumbered(known.schema, commit.first().schema).await?,
            None => None,
        };
        let next = match &commit.input {
            Some(input) => self.renumbered(input.schema, commit.checkpoint.schema).await?,
            None => None,
        };
        for _ in 0..MOST_CALLS {
            // First, because the number is that of what is stored.
            let unstored = self.unstored(&commit.thread, commit.expected).await?;
            let recorded = self.recorded(commit).await?;
            let call = commit_call(commit, self, recorded, [carry.as_ref(), next.as_ref()], &unstored)?;
            let row = self.send(commit, &call).await?;
            let answer = |error: tokio_postgres::Error| PostgresError::Answer(error.to_string());
            match row.try_get::<_, i32>("outcome").map_err(answer)? {
                outcome::NEW => {
                    self.holder().inspect(|holder| holder.forget(&commit.thread));
                    let Checkpoint { id, schema, .. } = *commit.checkpoint;
                    match size {
                        Some(size) => self.remember(&commit.thread, Known { head: id, schema, size }),
                        None => self.forget(&commit.thread),
                    }
                    return Ok(Committed::New);
                }
                outcome::LOST => {
                    if let Some(done) = self.lost(commit).await? {
                        return Ok(done);
                    }
                }
                outcome::OUTRUN => {
                    let head = self.load(&commit.thread, &At::Head, None, None).await?;
                    if let Load::Whole(loaded) = head
                        && Some(loaded.checkpoint.id) == commit.expected
                    {
                        return Ok(Committed::Outrun(loaded));
                    }
                }
                outcome::RENUMBERED => {
                    let from: Vec<u8> = row.try_get("parent_state").map_err(answer)?;
                    let from = from.try_into().map_err(|_| PostgresError::Answer("a fingerprint".into()))?;
                    carry = self.renumbered(Fingerprint::from_bytes(from), commit.first().schema).await?;
                }
                other => return Err(PostgresError::Answer(format!("the outcome {other}")).into()),
            }
        }
        Err(StoreError::Busy)
    }

    /// Returns the number by which the function recognises the recorded work that the commit continues.
    async fn recorded(&self, commit: &Commit) -> Result<Option<String>, StoreError> {
        let Some(recorded) = commit.recorded else { return Ok(None) };
        if self.texts().encryption.is_none() || recorded == Recorded::default() {
            return Ok(Some(stored::digits(recorded)));
        }
        // In an encrypted schema the number is no digest, so it is read, with the work that it stands for.
        let expected = commit.expected.map(|expected| expected.0);
        let rows =
            self.read_at("load", &commit.thread, &At::Head, |call| call.uuid(expected).bytes(None)).await?;
        let (mut work, mut sum) = (Carried::default(), 0_u128);
        for part in Part::all(&rows.unwrap_or_default())? {
            let at = match part.kind {
                kind::PENDING => 1,
                kind::EFFECT => 2,
                _ => continue,
            };
            part.add_to(&mut work, self.texts())?;
            let number = part.optional_text(at).map(str::parse::<u128>).transpose();
            let number = number.map_err(|error| corrupt("the number of a result", error))?;
            sum = sum.wrapping_add(number.unwrap_or(0));
        }
        let is_same = Recorded::of(&work.results, &work.effects) == recorded;
        // The function answers a number that does not fit as it answers other work.
        Ok(Some(if is_same { sum } else { sum.wrapping_add(1) }.to_string()))
    }

    /// Calls the function. Work that the commit carries is stored in the same transaction.
    async fn send(&self, commit: &Commit, call: &Call<'_>) -> Result<Row, StoreError> {
        let first = commit.first();
        let about = About {
            thread: &commit.thread,
            checkpoint: first.parent.map(|parent| parent.to_string()).unwrap_or_default(),
            base: first.parent,
            graph: Some(&commit.graph),
            lease: self.lease(),
        };
        let rows = if commit.carried.as_ref().is_none_or(|carried| carried.is_empty()) {
            self.database().call(call, Repeat::Always).await
        } else {
            let mut attempts = self.database().attempts();
            loop {
                match self.send_with_work(commit, call).await {
                    Err(fault) => match attempts.after(fault, Repeat::Always).await {
                        Ok(()) => {}
                        Err(fault) => break Err(fault),
                    },
                    done => break done,
                }
            }
        };
        let rows = rows.map_err(|fault| fault.about(&about))?;
        rows.into_iter().next().ok_or_else(|| PostgresError::Answer("no row".into()).into())
    }

    async fn send_with_work(&self, commit: &Commit, call: &Call<'_>) -> Result<Vec<Row>, Fault> {
        let database = self.database();
        let mut connection = database.connection().await?;
        let failed = |error: tokio_postgres::Error| Fault::of(&error);
        let transaction = connection.transaction().await.map_err(failed)?;
        let client = transaction.client();
        let rows = database.on(client, call).await?;
        let is_new =
            rows.first().is_some_and(|row| row.try_get("outcome").is_ok_and(|it: i32| it == outcome::NEW));
        if let (true, Some(carried)) = (is_new, &commit.carried) {
            let onto =
                Onto { thread: &commit.thread, base: commit.checkpoint.id, lease: None, texts: self.texts() };
            for result in &carried.results {
                database.on(client, &onto.record(result)?).await?;
            }
            for failure in &carried.failures {
                database.on(client, &onto.fail(failure)?).await?;
            }
            if !carried.asks.is_empty() {
                database.on(client, &onto.ask(&carried.asks)?).await?;
            }
            for effect in &carried.effects {
                database.on(client, &onto.begin(effect, None)?).await?;
            }
        }
        transaction.commit().await.map_err(failed)?;
        Ok(rows)
    }

    /// Returns the result of a commit that does not fit the head; `None` if it fits the head by now.
    async fn lost(&self, commit: &Commit) -> Result<Option<Committed>, StoreError> {
        self.forget(&commit.thread);
        let call = Call::of("lost").name(commit.thread.as_str()).uuid(Some(commit.checkpoint.id.0));
        let call = call.uuid(commit.first().parent.map(|parent| parent.0));
        let rows = self.read(&call, &About::thread(&commit.thread)).await?;
        let row = rows.first().ok_or_else(|| PostgresError::Answer("no row".into()))?;
        let answer = |error: tokio_postgres::Error| PostgresError::Answer(error.to_string());
        let head: Option<uuid::Uuid> = row.try_get("head").map_err(answer)?;
        let head = head.map(CheckpointId);
        let conflict = Committed::Conflict { head };
        let (same, winner): (Option<i64>, Option<i64>) =
            (row.try_get("same").map_err(answer)?, row.try_get("winner").map_err(answer)?);
        if let Some(same) = same {
            let is_own = same > 0 && self.is_same(commit).await?;
            return Ok(Some(if is_own { Committed::Already } else { conflict }));
        }
        let run: Option<uuid::Uuid> = row.try_get("run").map_err(answer)?;
        if let Some(winner) = winner.filter(|_| run == Some(commit.checkpoint.run.0)) {
            let adopted = self.load_at(&commit.thread, winner).await?;
            return Ok(adopted.map(|adopted| Committed::Adopt(Box::new(adopted))));
        }
        Ok(Some(conflict))
    }

    /// Returns `true` if the stored checkpoint with the commit's id has its content.
    async fn is_same(&self, commit: &Commit) -> Result<bool, StoreError> {
        let at = At::Id(commit.checkpoint.id);
        let Load::Whole(stored) = self.load(&commit.thread, &at, None, None).await? else { return Ok(false) };
        let digest = |checkpoint| digest(checkpoint).map_err(|error| StoreError::Io(Box::new(error)));
        Ok(digest(&stored.checkpoint)? == digest(&commit.checkpoint)?)
    }

    async fn renumbered(&self, from: Fingerprint, to: Fingerprint) -> Result<Option<Renumbered>, StoreError> {
        if from == to {
            return Ok(None);
        }
        let (Some(older), Some(newer)) = (self.schema(from).await?, self.schema(to).await?) else {
            // The function returns the error.
            return Ok(None);
        };
        let to = newer.carried_from(&older).into_iter().map(|field| field.map(|field| i32::from(field.0)));
        Ok(Some(Renumbered { from, to: to.collect() }))
    }

    /// Returns the size of the state after the commit; `None` if the parent is not stored. Usually it follows from the size
    /// before; otherwise the values are read.
    async fn size_after(&self, commit: &Commit) -> Result<Option<StateSize>, StoreError> {
        let limits = self.limits();
        let steps = || commit.input.iter().chain([&commit.checkpoint]);
        let first = commit.first();
        let known = match first.parent {
            None => Some((StateSize::default(), first.schema)),
            parent => {
                let known = self.known(&commit.thread).filter(|known| Some(known.head) == parent);
                known.map(|known| (known.size, known.schema))
            }
        };
        if let Some((mut size, schema)) = known
            && steps().all(|step| step.schema == schema)
        {
            let fits = steps().all(|step| {
                size.follow(&step.changes);
                size.check(&limits.to_write()).is_ok()
            });
            if fits {
                return Ok(Some(size));
            }
        }
        let (mut schema, mut values) = match first.parent {
            None => (None, Vec::new()),
            Some(parent) => match self.values_of(parent).await? {
                Some((schema, values)) => (Some(schema), values),
                None => return Ok(None),
            },
        };
        let mut size = StateSize::default();
        for step in steps() {
            let Some(newer) = self.schema(step.schema).await? else { return Ok(None) };
            if let Some(older) = schema.filter(|older| **older != *newer) {
                values = renumber(values, &older, &newer);
            }
            schema = Some(newer);
            let place = || format!("the state of thread {} at step {}", commit.thread, step.step);
            values = match apply(values, &step.changes, self) {
                Ok(values) => values,
                Err(StoreError::TooLarge { excess, .. }) => return Err(too_large(place(), excess)),
                // A value that does not fold causes an error when it is read.
                Err(StoreError::Corrupt { .. }) => return Ok(None),
                Err(error) => return Err(error),
            };
            size = StateSize::of(&values);
            size.check(&limits.to_write()).map_err(|excess| too_large(place(), excess))?;
        }
        Ok(Some(size))
    }

    /// Reads the values at a checkpoint, with their schema; `None` if it is not stored.
    async fn values_of(
        &self,
        id: CheckpointId,
    ) -> Result<Option<(Arc<Schema>, Vec<FieldValue>)>, StoreError> {
        let call = Call::of("values_of").uuid(Some(id.0));
        let rows = self.read(&call, &About::thread(&"".into())).await?;
        let (mut reading, mut schemas) = (Reading::default(), Schemas::new());
        for part in Part::all(&rows)? {
            reading.add(part, self.texts(), &mut schemas)?;
        }
        let Some(schema) = schemas.into_values().next() else { return Ok(None) };
        let values = reading.values(&schema, self.texts())?;
        Ok(Some((schema, values)))
    }
}

fn renumber(values: Vec<FieldValue>, older: &Schema, newer: &Schema) -> Vec<FieldValue> {
    let carried = newer.carried_from(older);
    let carried = values.into_iter().filter_map(|held| {
        let field = carried.get(held.field.index()).copied().flatten()?;
        Some(FieldValue { field, value: held.value })
    });
    carried.collect()
}

/// Returns the values after these changes.
fn apply(
    mut values: Vec<FieldValue>,
    changes: &[Change],
    saver: &Session,
) -> Result<Vec<FieldValue>, StoreError> {
    for change in changes {
        let place = || format!("field {}", change.field.0);
        let mut fold = Fold::within(saver.limits());
        let at = values.iter().position(|held| held.field == change.field);
        if let Some(at) = at {
            let before = Op::Set(values.swap_remove(at).value);
            fold.apply(&before).map_err(|error| undecoded(place(), error))?;
        }
        change.ops.iter().try_for_each(|op| fold.apply(op)).map_err(|error| undecoded(place(), error))?;
        let value = fold.finish().map_err(|error| undecoded(place(), error))?;
        values.extend(value.map(|value| FieldValue { field: change.field, value }));
    }
    Ok(values)
}

fn commit_call<'c>(
    commit: &'c Commit,
    session: &'c Session,
    recorded: Option<String>,
    [carry, next]: [Option<&Renumbered>; 2],
    (unstored, unstored_numbers): &'c (Vec<TaskId>, Vec<String>),
) -> Result<Call<'c>, StoreError> {
    let (first, texts) = (commit.first(), session.texts());
    let steps: Vec<&Arc<Checkpoint>> = commit.input.iter().chain([&commit.checkpoint]).collect();
    let above = commit.thread.above().map(|above| above.as_str().as_bytes().to_vec());
    let call = write("commit", session.lease()).name(commit.thread.as_str()).name(commit.graph.as_str());
    let call = call.argument(above, Type::BYTEA).uuid(commit.expected.map(|expected| expected.0));
    let call = call.text(recorded).uuid(first.parent.map(|parent| parent.0));

    let ids: Vec<uuid::Uuid> = steps.iter().map(|step| step.id.0).collect();
    let runs: Vec<uuid::Uuid> = steps.iter().map(|step| step.run.0).collect();
    let numbers: Vec<i64> = steps.iter().map(|step| step.step).collect();
    let sources: Vec<i16> = steps.iter().map(|step| source_code(step.source)).collect();
    let states: Vec<Vec<u8>> = steps.iter().map(|step| step.schema.as_bytes().to_vec()).collect();
    let graphs: Vec<Vec<u8>> = steps.iter().map(|step| step.topology.as_bytes().to_vec()).collect();
    let leads_on: Vec<bool> = steps.iter().map(|step| step.frontier.nodes().next().is_some()).collect();
    let manifests: Vec<String> = steps.iter().map(|step| manifest(texts, step)).collect::<Result<_, _>>()?;
    let call = call.argument(ids, Type::UUID_ARRAY).argument(runs, Type::UUID_ARRAY);
    let call = call.argument(numbers, Type::INT8_ARRAY).argument(sources, Type::INT2_ARRAY);
    let call = call.argument(states, Type::BYTEA_ARRAY).argument(graphs, Type::BYTEA_ARRAY);
    let call = call.argument(leads_on, Type::BOOL_ARRAY).argument(manifests, Type::TEXT_ARRAY);

    let (mut changed, mut fields, mut whole, mut operations) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (step, number) in steps.iter().zip(1_i32..) {
        for change in &step.changes {
            changed.push(number);
            fields.push(i32::from(change.field.0));
            whole.push(change.ops.first().is_some_and(Op::is_whole));
            operations.push(ops(texts, step.id, change)?);
        }
    }
    let call = call.argument(changed, Type::INT4_ARRAY).argument(fields, Type::INT4_ARRAY);
    let call = call.argument(whole, Type::BOOL_ARRAY).argument(operations, Type::TEXT_ARRAY);

    let call = call.argument(carry.map(|carry| carry.from.as_bytes().to_vec()), Type::BYTEA);
    let call = call.argument(carry.map(|carry| carry.to.clone()), Type::INT4_ARRAY);
    let call = call.argument(next.map(|next| next.to.clone()), Type::INT4_ARRAY);
    let emitted: Vec<i64> = commit.emitted.iter().map(|(task, _)| i64::from(*task)).collect();
    let id = commit.checkpoint.id;
    let emitted_texts = commit
        .emitted
        .iter()
        .map(|(task, emitted)| texts.store(&stored::emitted(id, i64::from(*task)), &encode(emitted)?));
    let emitted_texts = emitted_texts.collect::<Result<Vec<_>, StoreError>>()?;
    let call = call.argument(emitted, Type::INT8_ARRAY).argument(emitted_texts, Type::TEXT_ARRAY);
    let unstored: Vec<&[u8]> = unstored.iter().map(|task| &task.as_bytes()[..]).collect();
    Ok(call.argument(unstored, Type::BYTEA_ARRAY).argument(unstored_numbers, Type::TEXT_ARRAY))
}

/// Returns the stored form of a checkpoint's manifest.
pub(crate) fn manifest(texts: &Texts, checkpoint: &Checkpoint) -> Result<String, StoreError> {
    let mut out = String::new();
    Encoder { bodies: &Inline, out: &mut out }.manifest(checkpoint)?;
    Columns::of(checkpoint).store(texts, &out)
}

/// Returns the stored form of a checkpoint's change.
pub(crate) fn ops(texts: &Texts, id: CheckpointId, change: &Change) -> Result<String, StoreError> {
    let mut out = String::from("[");
    for (position, op) in change.ops.iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        Encoder { bodies: &Inline, out: &mut out }.op(op)?;
    }
    out.push(']');
    texts.store(&stored::change(id, i64::from(change.field.0)), &out)
}
