//! Random values, and random changes of them.

use fastrand::Rng;
use serde_json::{Map, Number, Value, json};

const TEXTS: [&str; 10] = [
    "",
    "draft",
    "two\nlines",
    "größe",
    "日本語",
    "\u{202e}back",
    "<b>bold</b>",
    "\"quoted\" \\ 'text'",
    "😀 e\u{301}",
    "<secret>",
];

const KEYS: [&str; 9] = ["a", "b", "id", "__proto__", "a b", "x.y", "é", "0", "\u{1f600}"];

pub(crate) fn text(rng: &mut Rng) -> String {
    let text = TEXTS[rng.usize(..TEXTS.len())];
    if rng.bool() { text.to_owned() } else { format!("{text} {}", rng.u8(..9)) }
}

pub(crate) fn key(rng: &mut Rng) -> String {
    KEYS[rng.usize(..KEYS.len())].to_owned()
}

/// An id: few, so that items meet again.
pub(crate) fn id(rng: &mut Rng) -> String {
    format!("i{}", rng.u8(..5))
}

fn number(rng: &mut Rng) -> Value {
    match rng.u8(..6) {
        0 => json!(rng.u64(..)),
        1 => json!(rng.i64(..)),
        2 => json!(f64::from(rng.i16(..)) / 8.0),
        3 => Number::from_f64(f64::from_bits(rng.u64(..))).map_or(Value::Null, Value::Number),
        _ => json!(rng.u8(..9)),
    }
}

/// A value with parts down to this depth.
pub(crate) fn value(rng: &mut Rng, depth: u8) -> Value {
    match rng.u8(..if depth == 0 { 5 } else { 9 }) {
        0 => Value::Null,
        1 => json!(rng.bool()),
        2 => number(rng),
        3 | 4 => json!(text(rng)),
        5 | 6 => (0..rng.usize(..5)).map(|_| (key(rng), value(rng, depth - 1))).collect::<Map<_, _>>().into(),
        7 => (0..rng.usize(..5))
            .map(|at| json!({ "id": at + rng.usize(..2), "value": value(rng, depth - 1) }))
            .collect(),
        _ => (0..rng.usize(..6)).map(|_| value(rng, depth - 1)).collect(),
    }
}

/// A value that differs in some parts.
pub(crate) fn changed(before: &Value, rng: &mut Rng) -> Value {
    match before {
        Value::Object(members) if rng.u8(..6) > 0 => {
            let mut members = members.clone();
            let key = key(rng);
            match rng.u8(..4) {
                0 => drop(members.remove(&key)),
                1 => drop(members.insert(key, value(rng, 2))),
                _ => {
                    let keys: Vec<String> = members.keys().cloned().collect();
                    if let Some(key) = rng.choice(&keys) {
                        let inner = changed(&members[key], rng);
                        members.insert(key.clone(), inner);
                    }
                }
            }
            members.into()
        }
        Value::Array(items) if rng.u8(..6) > 0 => {
            let mut items = items.clone();
            let place = rng.usize(..=items.len());
            match rng.u8(..5) {
                0 => items.insert(place, value(rng, 1)),
                1 => rng.shuffle(&mut items),
                2 if place < items.len() => drop(items.remove(place)),
                3 if place < items.len() => items[place] = changed(&items[place], rng),
                _ => items.push(json!({ "id": rng.u8(..6), "text": text(rng) })),
            }
            items.into()
        }
        _ => value(rng, 3),
    }
}
