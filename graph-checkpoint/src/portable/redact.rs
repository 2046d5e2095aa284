//! Redacts the secrets of a document.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use superstep_core::checkpoint::{
    AskRecord, Checkpoint, EffectOutcome, Emitted, EmittedEvent, NextTask, RouteRecord, TaskResult,
};
use superstep_core::error::ErrorReport;
use superstep_core::id::{Fingerprint, InterruptId};
use superstep_core::state::{FieldId, Json, Logged, LoggedWrite, Op, Schema, SecretFields, SecretTexts};

use super::document::{Document, WorkPart};

/// Replaces the values of secret fields in a document, and their texts in everything else.
pub(super) fn redact(document: &mut Document) {
    let fields = Secret::of(document);
    let mut texts = SecretTexts::default();
    for part in &mut document.checkpoints {
        let schema = part.checkpoint.schema;
        for change in &mut part.checkpoint.changes {
            if fields.has(schema, change.field) {
                change.ops.iter().for_each(|op| texts.learn(op.operand()));
                // A single operation is left, which all later operations can follow.
                change.ops = vec![Op::Set(secret())];
            }
        }
        fields.hide_in_tasks(&mut part.checkpoint, &mut texts);
        for result in part.work.iter_mut().flat_map(|work| &mut work.results) {
            fields.hide(schema, &mut result.writes, &mut texts);
        }
    }
    let everywhere = Everywhere { texts: &texts, asked: asked(document) };
    for part in &mut document.checkpoints {
        everywhere.in_checkpoint(&mut part.checkpoint);
        part.work.iter_mut().for_each(|work| everywhere.in_work(work));
        part.emitted.iter_mut().for_each(|(_, emitted)| everywhere.in_emitted(emitted));
    }
    document.redacted = true;
}

/// Returns the questions on the threads whose nodes asked them. For other questions, the subgraph that asked is not in
/// the document, and its secrets are unknown.
fn asked(document: &Document) -> BTreeSet<InterruptId> {
    let work = document.checkpoints.iter().flat_map(|part| &part.work);
    work.flat_map(|work| &work.asks).filter(|ask| ask.path.is_empty()).map(|ask| ask.id).collect()
}

fn secret() -> Json {
    Json::encode(SecretTexts::HIDDEN).expect("a text has a JSON form")
}

/// The secret fields of each schema: a field is secret if any of the schemas marks it so.
struct Secret(BTreeMap<Fingerprint, BTreeSet<FieldId>>);

impl Secret {
    fn of(document: &Document) -> Self {
        let schemas: BTreeMap<Fingerprint, Schema> = document
            .schemas
            .iter()
            .filter_map(|(fingerprint, text)| Some((*fingerprint, text.decode().ok()?)))
            .collect();
        let secret = SecretFields::of(schemas.values());
        let fields = schemas.iter().map(|(fingerprint, schema)| {
            let is_secret = |field: &FieldId| secret.has(schema.field(*field));
            (*fingerprint, schema.ids().filter(is_secret).collect())
        });
        Self(fields.collect())
    }

    fn has(&self, schema: Fingerprint, field: FieldId) -> bool {
        self.0.get(&schema).is_some_and(|fields| fields.contains(&field))
    }

    fn hide(&self, schema: Fingerprint, writes: &mut [LoggedWrite], texts: &mut SecretTexts) {
        for write in writes.iter_mut().filter(|write| self.has(schema, write.field)) {
            write.write = match &write.write {
                Logged::Op(op) => {
                    texts.learn(op.operand());
                    Logged::Op(Op::Set(secret()))
                }
                Logged::Reduce(argument) => {
                    texts.learn(argument);
                    Logged::Reduce(secret())
                }
            };
        }
    }

    fn hide_in_tasks(&self, checkpoint: &mut Checkpoint, texts: &mut SecretTexts) {
        for task in &mut checkpoint.tasks {
            self.hide(checkpoint.schema, &mut task.writes, texts);
        }
        // The input of a run is the writes of START.
        let starts = checkpoint.frontier.tasks.iter_mut().filter(|task| task.node.is_start());
        for NextTask { input, .. } in starts {
            if let Some(writes) = input
                && let Ok(mut decoded) = writes.decode::<Vec<LoggedWrite>>()
            {
                self.hide(checkpoint.schema, &mut decoded, texts);
                *writes = Json::encode(&decoded).expect("writes have a JSON form");
            }
        }
    }
}

/// Redacts the texts of secrets in records. Names of threads, nodes, fields, effects and cases are not redacted.
struct Everywhere<'t> {
    texts: &'t SecretTexts,
    /// The questions for which the asking node's secrets are known.
    asked: BTreeSet<InterruptId>,
}

impl Everywhere<'_> {
    fn in_checkpoint(&self, checkpoint: &mut Checkpoint) {
        for op in checkpoint.changes.iter_mut().flat_map(|change| &mut change.ops) {
            self.in_op(op);
        }
        for task in &mut checkpoint.tasks {
            self.in_writes(&mut task.writes);
            self.in_route(task.route.as_mut());
            task.handled.iter_mut().for_each(|handled| self.in_error(&mut handled.error));
        }
        for NextTask { node, input, .. } in &mut checkpoint.frontier.tasks {
            let Some(input) = input else { continue };
            match input.decode::<Vec<LoggedWrite>>() {
                Ok(mut writes) if node.is_start() => {
                    self.in_writes(&mut writes);
                    *input = Json::encode(&writes).expect("writes have a JSON form");
                }
                _ => self.in_value(input),
            }
        }
        let metadata = std::mem::take(&mut checkpoint.metadata).into_iter().map(|(name, mut value)| {
            self.in_value(&mut value);
            (self.texts.hide_text(&name), value)
        });
        checkpoint.metadata = metadata.collect();
    }

    fn in_work(&self, work: &mut WorkPart) {
        for TaskResult { writes, route, targets, handled, emitted, .. } in &mut work.results {
            self.in_writes(writes);
            self.in_route(route.as_mut());
            let items = targets.iter_mut().flatten().filter_map(|target| target.input.as_mut());
            items.for_each(|item| self.in_value(item));
            handled.iter_mut().for_each(|handled| self.in_error(&mut handled.error));
            emitted.iter_mut().for_each(|emitted| self.in_emitted(emitted));
        }
        work.failures.iter_mut().for_each(|failure| self.in_error(&mut failure.error));
        work.asks.iter_mut().for_each(|ask| self.in_ask(ask));
        // An effect that identifies a subgraph's thread contains no text of the user.
        for effect in work.effects.iter_mut().filter(|effect| effect.subgraph().is_none()) {
            self.in_text(&mut effect.id.key);
            match &mut effect.outcome {
                Some(EffectOutcome::Ok(value)) => self.in_value(value),
                Some(EffectOutcome::Err(text)) => self.in_text(text),
                None => {}
            }
        }
    }

    fn in_ask(&self, ask: &mut AskRecord) {
        let default = ask.deadline.as_mut().map(|deadline| &mut deadline.default);
        let values = [&mut ask.question].into_iter().chain(default).chain(&mut ask.answer);
        if self.asked.contains(&ask.id) {
            values.for_each(|value| self.in_value(value));
            self.in_text(&mut ask.key);
        } else {
            values.for_each(|value| *value = secret());
            ask.key = SecretTexts::HIDDEN.into();
        }
    }

    fn in_writes(&self, writes: &mut [LoggedWrite]) {
        for LoggedWrite { write, .. } in writes {
            match write {
                Logged::Op(op) => self.in_op(op),
                Logged::Reduce(argument) => self.in_value(argument),
            }
        }
    }

    fn in_op(&self, op: &mut Op) {
        let hidden = |value: &Json| {
            let mut value = value.clone();
            self.in_value(&mut value);
            value
        };
        *op = match &*op {
            Op::Set(value) => Op::Set(hidden(value)),
            Op::Extend(items) => Op::Extend(hidden(items)),
            Op::SetAdd(items) => Op::SetAdd(hidden(items)),
            Op::SetRemove(items) => Op::SetRemove(hidden(items)),
            Op::MapPut(entries) => Op::MapPut(hidden(entries)),
            Op::MapRemove(keys) => Op::MapRemove(hidden(keys)),
            Op::Keyed(rows) => Op::Keyed(self.rows(rows)),
            // Unknown operations are redacted as a whole.
            _ => Op::Set(secret()),
        };
    }

    /// Redacts the rows of a keyed list. The names of a row's members do not come from the user.
    fn rows(&self, rows: &Json) -> Json {
        let Ok(mut decoded) = rows.decode::<Vec<BTreeMap<String, Value>>>() else { return rows.clone() };
        decoded.iter_mut().flat_map(BTreeMap::values_mut).for_each(|member| self.texts.hide_value(member));
        Json::encode(&decoded).expect("rows have a JSON form")
    }

    fn in_route(&self, route: Option<&mut RouteRecord>) {
        if let Some(route) = route {
            self.in_value(&mut route.value);
        }
    }

    fn in_error(&self, error: &mut ErrorReport) {
        [&mut error.message].into_iter().chain(&mut error.causes).for_each(|text| self.in_text(text));
    }

    fn in_emitted(&self, emitted: &mut Emitted) {
        for event in &mut emitted.events {
            match event {
                EmittedEvent::Custom { data, .. } => self.in_value(data),
                EmittedEvent::Message { chunk, .. } => self.in_value(chunk),
            }
        }
    }

    fn in_value(&self, value: &mut Json) {
        *value = self.texts.hide(value).expect("what is in a document is JSON");
    }

    fn in_text(&self, text: &mut String) {
        *text = self.texts.hide_text(text);
    }
}
