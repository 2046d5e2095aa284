//! A document without secrets.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use superstep_core::checkpoint::{Checkpoint, NextTask};
use superstep_core::id::Fingerprint;
use superstep_core::state::{FieldId, Json, Logged, LoggedWrite, Op, Schema};

use super::document::{Document, WorkPart};

/// What stands in the place of a secret.
const SECRET: &str = "<secret>";

/// Texts of secrets that are shorter than that are not looked for elsewhere: they would be found everywhere.
const SHORTEST: usize = 4;

/// Takes the values of secret fields out of a document, and their texts out of what the tasks did.
pub(super) fn redact(document: &mut Document) {
    let fields = SecretFields::of(document);
    let mut texts = Texts::default();
    for part in &mut document.checkpoints {
        let schema = part.checkpoint.schema;
        for change in &mut part.checkpoint.changes {
            if fields.has(schema, change.field) {
                change.ops.iter().for_each(|op| texts.learn(op.operand()));
                // One operation is left, which everything after it can follow.
                change.ops = vec![Op::Set(secret())];
            }
        }
        fields.hide_in_tasks(&mut part.checkpoint, &mut texts);
        for result in part.work.iter_mut().flat_map(|work| &mut work.results) {
            fields.hide(schema, &mut result.writes, &mut texts);
        }
    }
    for part in &mut document.checkpoints {
        texts.hide_in(&mut part.checkpoint);
        part.work.iter_mut().for_each(|work| texts.hide_in_work(work));
        texts.hide(&mut part.emitted);
    }
    document.redacted = true;
}

fn secret() -> Json {
    Json::encode(SECRET).expect("a text has a JSON form")
}

/// Which fields are secret, in each schema: those that any of the schemas calls so.
struct SecretFields(BTreeMap<Fingerprint, BTreeSet<FieldId>>);

impl SecretFields {
    fn of(document: &Document) -> Self {
        let schemas: BTreeMap<Fingerprint, Schema> = document
            .schemas
            .iter()
            .filter_map(|(fingerprint, text)| Some((*fingerprint, text.decode().ok()?)))
            .collect();
        let secret = schemas.values().flat_map(|schema| &schema.fields).filter(|field| field.secret);
        let names: BTreeSet<&String> =
            secret.flat_map(|field| field.aliases.iter().chain([&field.name])).collect();
        let fields = schemas.iter().map(|(fingerprint, schema)| {
            let is_secret = |field: &FieldId| names.contains(&schema.field(*field).name);
            (*fingerprint, schema.ids().filter(is_secret).collect())
        });
        Self(fields.collect())
    }

    fn has(&self, schema: Fingerprint, field: FieldId) -> bool {
        self.0.get(&schema).is_some_and(|fields| fields.contains(&field))
    }

    fn hide(&self, schema: Fingerprint, writes: &mut [LoggedWrite], texts: &mut Texts) {
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

    fn hide_in_tasks(&self, checkpoint: &mut Checkpoint, texts: &mut Texts) {
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

/// The texts in secret values.
#[derive(Default)]
struct Texts(BTreeSet<String>);

impl Texts {
    fn learn(&mut self, value: &Json) {
        if let Ok(value) = value.decode() {
            self.learn_from(&value);
        }
    }

    fn learn_from(&mut self, value: &Value) {
        match value {
            Value::String(text) if text.len() >= SHORTEST && text != SECRET => {
                self.0.insert(text.clone());
            }
            Value::Array(items) => items.iter().for_each(|item| self.learn_from(item)),
            Value::Object(members) => members.values().for_each(|member| self.learn_from(member)),
            _ => {}
        }
    }

    fn hide_in(&self, checkpoint: &mut Checkpoint) {
        for task in &mut checkpoint.tasks {
            task.route.iter_mut().for_each(|route| self.hide(&mut route.value));
            task.handled.iter_mut().for_each(|handled| self.hide(&mut handled.error));
        }
        checkpoint
            .frontier
            .tasks
            .iter_mut()
            .filter_map(|task| task.input.as_mut())
            .for_each(|input| self.hide(input));
        self.hide(&mut checkpoint.metadata);
    }

    fn hide_in_work(&self, work: &mut WorkPart) {
        for result in &mut work.results {
            result.route.iter_mut().for_each(|route| self.hide(&mut route.value));
            result.handled.iter_mut().for_each(|handled| self.hide(&mut handled.error));
            self.hide(&mut result.targets);
            self.hide(&mut result.emitted);
        }
        work.failures.iter_mut().for_each(|failure| self.hide(&mut failure.error));
        for ask in &mut work.asks {
            self.hide(&mut ask.key);
            self.hide(&mut ask.question);
            self.hide(&mut ask.deadline);
            if let Some(answer) = &mut ask.answer {
                self.hide(answer);
            }
        }
        for effect in &mut work.effects {
            self.hide(&mut effect.id.key);
            self.hide(&mut effect.outcome);
        }
    }

    /// Hides secrets in the texts of a record.
    fn hide<T: Serialize + DeserializeOwned>(&self, record: &mut T) {
        let Ok(text) = serde_json::to_string(record) else { return };
        // Most records have nothing to hide, and stay as they are.
        if self.0.iter().all(|secret| !text.contains(inside(&Value::from(secret.as_str()).to_string()))) {
            return;
        }
        let hidden = serde_json::from_str(&text).map(|mut value: Value| {
            self.hide_in_value(&mut value);
            value.to_string()
        });
        if let Some(hidden) = hidden.ok().and_then(|hidden| serde_json::from_str(&hidden).ok()) {
            *record = hidden;
        }
    }

    fn hide_in_value(&self, value: &mut Value) {
        match value {
            // Longer secrets first: one may be part of another.
            Value::String(text) => {
                let mut secrets: Vec<&String> = self.0.iter().collect();
                secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
                for secret in secrets.into_iter().filter(|secret| !SECRET.contains(secret.as_str())) {
                    *text = text.replace(secret.as_str(), SECRET);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in_value(item)),
            Value::Object(members) => members.values_mut().for_each(|member| self.hide_in_value(member)),
            _ => {}
        }
    }
}

/// A JSON text without its quotes.
fn inside(text: &str) -> &str {
    &text[1..text.len() - 1]
}
