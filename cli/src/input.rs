//! The first input of a thread, in one line.

use serde_json::Value;

use superstep_core::checkpoint::{Source as Origin, StepRecord};
use superstep_core::state::{Logged, LoggedWrite, Op, SecretFields, SecretTexts};

use super::excerpt::beginning;
use super::failure::Failure;
use super::messages::first_text;

/// The number of characters of an input that are shown.
const LETTERS: usize = 60;

/// Returns the input that arrived at a checkpoint, shortened and without secrets: the fields that it set to a non-empty
/// value.
pub(super) fn told(step: &StepRecord, secret: &SecretFields) -> Result<Option<String>, Failure> {
    let checkpoint = &step.checkpoint;
    let start = checkpoint.frontier.tasks.iter().find(|task| task.node.is_start());
    let Some(input) = start.and_then(|start| start.input.as_ref()) else { return Ok(None) };
    if checkpoint.source != Origin::Input {
        return Ok(None);
    }
    let writes: Vec<LoggedWrite> = input.decode().map_err(Failure::damaged)?;
    let (hidden, shown): (Vec<_>, Vec<_>) =
        writes.iter().partition(|write| secret.has(step.schema.field(write.field)));
    let mut texts = SecretTexts::default();
    hidden.into_iter().for_each(|write| texts.learn(operand(write)));
    let mut parts = Vec::new();
    for write in shown {
        let mut value: Value = value(write)?;
        texts.hide_value(&mut value);
        if !is_empty(&value) {
            parts.push((&*step.schema.field(write.field).name, value));
        }
    }
    let told = match &*parts {
        [] => return Ok(None),
        // A text needs no field name before it.
        [(_, value)] if let Some(text) = text_of(value) => text,
        parts => {
            let text = |value: &Value| text_of(value).unwrap_or_else(|| value.to_string());
            let parts = parts.iter().map(|(field, value)| format!("{field}: {}", text(value)));
            parts.collect::<Vec<_>>().join(", ")
        }
    };
    Ok(Some(beginning(&told, LETTERS)))
}

fn operand(write: &LoggedWrite) -> &superstep_core::state::Json {
    match &write.write {
        Logged::Op(op) => op.operand(),
        Logged::Reduce(argument) => argument,
    }
}

/// Returns the written value; for items that are put by their ids, the items.
fn value(write: &LoggedWrite) -> Result<Value, Failure> {
    let value: Value = operand(write).decode().map_err(Failure::damaged)?;
    Ok(match (&write.write, value) {
        (Logged::Op(Op::Keyed(_)), Value::Array(rows)) => {
            rows.into_iter().filter_map(|mut row| row.get_mut("item").map(Value::take)).collect()
        }
        (_, value) => value,
    })
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.values().all(is_empty),
    }
}

/// Returns the text of a value that has one: a text, or a list of messages.
fn text_of(value: &Value) -> Option<String> {
    first_text(value).or_else(|| value.as_str().map(str::to_owned))
}
