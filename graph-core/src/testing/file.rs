//! The file format of a cassette.

use std::string::String;
use std::vec::Vec;

use alloc::string::ToString;

use serde::{Deserialize, Deserializer, Serialize};

use super::error::CassetteError;
use crate::checkpoint::EffectOutcome;
use crate::id::NodeName;
use crate::node::{Level, Recording, What};
use crate::state::{Json, SecretTexts, SizeLimits};

/// The version of the format.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    recordings: Vec<Entry>,
}

/// The part that is read first, to distinguish a newer format from a damaged file.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// A recording: an effect, with `ok` or `err`, or a question, with its answer.
#[derive(Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Entry {
    /// The tasks whose subgraphs lead there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    within: Vec<Task>,
    node: String,
    step: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<(u32, u32)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asks: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    key: String,
    #[serde(skip_serializing_if = "is_zero")]
    occurrence: u32,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    ok: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    err: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    question: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    answer: Option<Json>,
}

/// A task whose subgraph leads to a recording.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    node: String,
    step: i64,
    /// For an item of `each`: the position of the task that sent it, and the item's index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    item: Option<(u32, u32)>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes the field by reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Reads a member that exists as `Some`, even if its value is JSON's `null`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

/// Reads the text of a cassette; `what` describes it in errors.
pub(super) fn read(text: &str, what: &str, limits: SizeLimits) -> Result<Vec<Recording>, CassetteError> {
    let broken = |reason: String| CassetteError::NoCassette { what: what.into(), reason };
    keeps_to(limits, text, what, "Cassette::load_within or Cassette::parse_within")?;
    let Version { version } = serde_json::from_str(text).map_err(|error| broken(error.to_string()))?;
    if version > VERSION {
        return Err(CassetteError::Version { what: what.into(), found: version, known: VERSION });
    }
    let file: File = serde_json::from_str(text).map_err(|error| broken(error.to_string()))?;
    let numbered = file.recordings.into_iter().zip(1u32..);
    numbered
        .map(|(entry, number)| {
            entry.recording().map_err(|reason| broken(std::format!("recording {number}: {reason}")))
        })
        .collect()
}

/// Checks that a text is within the size limits.
pub(super) fn keeps_to(
    limits: SizeLimits,
    text: &str,
    what: &str,
    raised_by: &'static str,
) -> Result<(), CassetteError> {
    let kept = limits.of_document().check(text);
    kept.map_err(|excess| CassetteError::TooLarge { what: what.into(), excess, raised_by })
}

impl Entry {
    fn recording(self) -> Result<Recording, &'static str> {
        let Self { within, node, step, item, effect, asks, key, occurrence, ok, err, question, answer } =
            self;
        if node.is_empty() {
            return Err("it names no node");
        }
        let level = |Task { node, step, item }| Level { node: NodeName::from(node), step, each: item };
        let mut place: Vec<Level> = within.into_iter().map(level).collect();
        place.push(level(Task { node, step, item }));
        let what = match (effect, asks, ok, err, answer) {
            (Some(name), None, Some(value), None, None) => {
                What::Effect { name, key, outcome: EffectOutcome::Ok(value) }
            }
            (Some(name), None, None, Some(text), None) => {
                What::Effect { name, key, outcome: EffectOutcome::Err(text) }
            }
            (None, Some(key), None, None, Some(answer)) => {
                What::Answer { key, question: question.unwrap_or_else(Json::null), answer }
            }
            _ => return Err("it has to be an `effect` with `ok` or `err`, or `asks` with its `answer`"),
        };
        Ok(Recording { place, what, occurrence })
    }

    fn of(recording: Recording, secrets: &SecretTexts) -> Self {
        let hide = |value: &Json| secrets.hide(value).expect("what was recorded is JSON");
        let hide_text = |text: &str| secrets.hide_text(text);
        let Recording { mut place, what, occurrence } = recording;
        let task = |Level { node, step, each }| Task { node: node.to_string(), step, item: each };
        let Task { node, step, item } = task(place.pop().expect("a recording is of a task"));
        let within = place.into_iter().map(task).collect();
        let entry = Self { within, node, step, item, occurrence, ..Self::default() };
        match what {
            What::Effect { name, key, outcome } => {
                let (ok, err) = match outcome {
                    EffectOutcome::Ok(value) => (Some(hide(&value)), None),
                    EffectOutcome::Err(text) => (None, Some(hide_text(&text))),
                };
                Self { effect: Some(name), key: hide_text(&key), ok, err, ..entry }
            }
            What::Answer { key, question, answer } => {
                let (question, answer) = (Some(hide(&question)), Some(hide(&answer)));
                Self { asks: Some(hide_text(&key)), question, answer, ..entry }
            }
        }
    }
}

/// Returns the text of a cassette, with these secrets redacted.
pub(super) fn write(recordings: Vec<Recording>, secrets: &SecretTexts) -> String {
    let recordings = recordings.into_iter().map(|recording| Entry::of(recording, secrets)).collect();
    let text = Json::encode(&File { version: VERSION, recordings }).expect("texts and JSON have a JSON form");
    pretty(text.as_str())
}

/// Formats JSON with indentation, and keeps the order of the members.
pub(super) fn pretty(json: &str) -> String {
    let mut text = String::new();
    let (mut depth, mut in_text, mut escaped) = (0usize, false, false);
    let mut letters = json.chars().filter(|letter| *letter != '\n').peekable();
    let line = |text: &mut String, depth: usize| {
        text.push('\n');
        text.extend(core::iter::repeat_n("  ", depth));
    };
    while let Some(letter) = letters.next() {
        if in_text {
            text.push(letter);
            in_text = escaped || letter != '"';
            escaped = !escaped && letter == '\\';
            continue;
        }
        match letter {
            '{' | '[' => {
                text.push(letter);
                match letters.peek() {
                    Some('}' | ']') => text.extend(letters.next()),
                    _ => {
                        depth += 1;
                        line(&mut text, depth);
                    }
                }
            }
            '}' | ']' => {
                depth -= 1;
                line(&mut text, depth);
                text.push(letter);
            }
            ',' => {
                text.push(',');
                line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            ' ' | '\t' | '\r' => {}
            _ => {
                in_text = letter == '"';
                text.push(letter);
            }
        }
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_text_is_pretty_and_stays_what_it_is() {
        let json = r#"{"b":[1,{"a \" }":"x\\"}],"a":{},"c":[]}"#;
        let text = pretty(json);
        assert_eq!(
            text,
            "{\n  \"b\": [\n    1,\n    {\n      \"a \\\" }\": \"x\\\\\"\n    }\n  ],\n  \"a\": {},\n  \"c\": []\n}\n"
        );
        let (was, is): (Value, Value) =
            (serde_json::from_str(json).unwrap(), serde_json::from_str(&text).unwrap());
        assert_eq!(was, is);
    }

    #[test]
    fn secrets_are_hidden_wherever_they_are() {
        let mut secrets = SecretTexts::default();
        secrets.learn(&Json::encode(&["sesame", "a\"bc"]).unwrap());
        let level = Level { node: "n".into(), step: 1, each: None };
        let outcome = EffectOutcome::Ok(Json::encode(&["open sesame", "a\"bc"]).unwrap());
        let what = What::Effect { name: "e".into(), key: "k sesame".into(), outcome };
        let answer = Json::encode("yes").unwrap();
        let asked = What::Answer { key: "may sesame".into(), question: answer.clone(), answer };
        let of = |what| Recording { place: std::vec![level.clone()], what, occurrence: 0 };
        let text = write(std::vec![of(what), of(asked)], &secrets);
        assert!(!text.contains("sesame") && !text.contains("a\\\"b"), "{text}");
        assert!(text.contains("\"open <secret>\"") && text.contains("\"k <secret>\""), "{text}");
        assert!(text.contains("\"asks\": \"may <secret>\""), "{text}");
    }

    #[test]
    fn what_is_no_cassette_is_named() {
        let read = |text: &str| read(text, "the text", SizeLimits::default()).unwrap_err().to_string();
        assert_eq!(
            read(r#"{"version":2}"#),
            "the text is a cassette of version 2, and this library reads version 1"
        );
        let entry = r#"{"version":1,"recordings":[{"node":"n","step":1,"effect":"e"}]}"#;
        let said = "the text is not a cassette: recording 1: it has to be an `effect` with `ok` or `err`, or `asks` \
            with its `answer`";
        assert_eq!(read(entry), said);
        assert!(read("[]").starts_with("the text is not a cassette: "));
    }
}
