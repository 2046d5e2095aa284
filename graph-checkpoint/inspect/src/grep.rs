//! Searches everything that a branch contains.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use superstep_core::checkpoint::{EffectOutcome, EmittedEvent, StepRecord};
use superstep_core::id::{CheckpointId, NodeName};
use superstep_core::state::{CodecError, Json};

use super::diff::Edit;
use super::path::{Path, Segment};
use super::walk::Walk;

/// A text that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Match {
    /// The first checkpoint that contains the text.
    pub checkpoint: CheckpointId,
    /// Its step.
    pub step: i64,
    /// The location of the text in the checkpoint.
    #[serde(flatten)]
    pub place: MatchPlace,
    /// The part of a value that the text is.
    pub part: Part,
    /// The text: a key; the contents of a JSON text, without quotes; or the JSON of any other value without parts.
    pub text: String,
}

/// A part of a value that has a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Part {
    /// The name of a field, the key of a map, or the key of an effect.
    Key,
    /// A value.
    Value,
}

/// The location of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "place", rename_all = "snake_case")]
#[non_exhaustive]
pub enum MatchPlace {
    /// The state, from this checkpoint on.
    State {
        /// The path in the state.
        path: Path,
    },
    /// The value that an effect returned, or the error with which it failed, on top of the checkpoint.
    Effect {
        /// The effect's name.
        name: String,
        /// Its key.
        #[serde(skip_serializing_if = "String::is_empty")]
        key: String,
    },
    /// A question on top of the checkpoint.
    Question {
        /// The node that asked.
        node: NodeName,
    },
    /// The answer of a question on top of the checkpoint.
    Answer {
        /// The node that asked.
        node: NodeName,
    },
    /// The error of a failed task on top of the checkpoint.
    Failure {
        /// The task's node.
        node: NodeName,
    },
    /// An event that a task of the superstep emitted.
    Emitted {
        /// The task's node.
        node: NodeName,
    },
    /// The caller's metadata of the checkpoint.
    Metadata {
        /// The key of the metadata.
        name: String,
    },
}

/// Finds texts, keys as well as values, in a checkpoint and its whole past. `steps` is newest first; the matches are
/// oldest first, each at the checkpoint where the text first appears.
///
/// # Errors
/// Returns an error if a stored operation does not fit the value to which it was applied, or if a stored text is not
/// JSON.
pub fn grep(steps: &[StepRecord], matches: impl Fn(&str) -> bool) -> Result<Vec<Match>, CodecError> {
    let Some(newest) = steps.first() else { return Ok(Vec::new()) };
    let mut walk = Walk::under(Arc::clone(&newest.schema));
    let mut found = Vec::new();
    for step in steps.iter().rev() {
        let mut finder = Finder { step, matches: &matches, found: &mut found };
        for difference in walk.step(step)?.iter().flat_map(|written| &written.differences) {
            let path = &difference.path;
            match &difference.edit {
                Edit::Added { value, .. } => {
                    if let Some(Segment::Key(key)) = path.segments().last() {
                        finder.key_in_state(path, key);
                    }
                    finder.in_state(path, value);
                }
                Edit::Changed { to, .. } => finder.in_state(path, to),
                Edit::Removed { .. } | Edit::Reordered { .. } => {}
            }
        }
        finder.beside_the_state()?;
    }
    Ok(found)
}

struct Finder<'s, M> {
    step: &'s StepRecord,
    matches: &'s M,
    found: &'s mut Vec<Match>,
}

impl<M: Fn(&str) -> bool> Finder<'_, M> {
    fn in_state(&mut self, path: &Path, value: &Value) {
        match value {
            Value::Object(members) => {
                for (key, value) in members {
                    let path = path.then(Segment::Key(key.clone()));
                    self.key_in_state(&path, key);
                    self.in_state(&path, value);
                }
            }
            Value::Array(items) => {
                items
                    .iter()
                    .enumerate()
                    .for_each(|(at, item)| self.in_state(&path.then(Segment::Index(at)), item));
            }
            leaf => self.text(Part::Value, &text_of(leaf), || MatchPlace::State { path: path.clone() }),
        }
    }

    fn key_in_state(&mut self, path: &Path, key: &str) {
        self.text(Part::Key, key, || MatchPlace::State { path: path.clone() });
    }

    fn beside_the_state(&mut self) -> Result<(), CodecError> {
        let StepRecord { checkpoint, work, emitted, .. } = self.step;
        for (name, entry) in &checkpoint.metadata {
            self.json(entry, || MatchPlace::Metadata { name: name.clone() })?;
        }
        for (task, emitted) in emitted {
            let Some(task) = checkpoint.tasks.get(*task as usize) else { continue };
            for event in &emitted.events {
                let (EmittedEvent::Custom { data, .. } | EmittedEvent::Message { chunk: data, .. }) = event;
                self.json(data, || MatchPlace::Emitted { node: task.node.clone() })?;
            }
        }
        for effect in &work.effects {
            let place = || MatchPlace::Effect { name: effect.id.name.clone(), key: effect.id.key.clone() };
            self.text(Part::Key, &effect.id.key, place);
            match &effect.outcome {
                Some(EffectOutcome::Ok(value)) => self.json(value, place)?,
                Some(EffectOutcome::Err(error)) => self.text(Part::Value, error, place),
                None => {}
            }
        }
        for ask in &work.asks {
            self.json(&ask.question, || MatchPlace::Question { node: ask.node.clone() })?;
            if let Some(answer) = &ask.answer {
                self.json(answer, || MatchPlace::Answer { node: ask.node.clone() })?;
            }
        }
        for failure in &work.failures {
            let report = Json::encode(&failure.error)?;
            self.json(&report, || MatchPlace::Failure { node: failure.node.clone() })?;
        }
        Ok(())
    }

    fn json(&mut self, json: &Json, place: impl Fn() -> MatchPlace) -> Result<(), CodecError> {
        self.leaves(&json.decode()?, &place);
        Ok(())
    }

    fn leaves(&mut self, value: &Value, place: &dyn Fn() -> MatchPlace) {
        match value {
            Value::Object(members) => {
                for (key, value) in members {
                    self.text(Part::Key, key, place);
                    self.leaves(value, place);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.leaves(item, place)),
            leaf => self.text(Part::Value, &text_of(leaf), place),
        }
    }

    fn text(&mut self, part: Part, text: &str, place: impl Fn() -> MatchPlace) {
        if (self.matches)(text) {
            let checkpoint = &self.step.checkpoint;
            let (checkpoint, step, text) = (checkpoint.id, checkpoint.step, text.to_owned());
            self.found.push(Match { checkpoint, step, place: place(), part, text });
        }
    }
}

fn text_of(leaf: &Value) -> String {
    leaf.as_str().map_or_else(|| leaf.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use superstep_core::checkpoint::{AnsweredBy, AskRecord, EffectId, EffectRecord};
    use superstep_core::id::{IdempotencyKey, InterruptId, TaskId};
    use superstep_core::state::Op;

    use super::*;
    use crate::material::{json as text, past};

    fn lines(steps: &[StepRecord], needle: &str) -> Vec<String> {
        let found = grep(steps, |text| text.contains(needle)).unwrap();
        let line = |found: Match| {
            let place = serde_json::to_value(&found.place).unwrap();
            format!("{} {} {}", found.step, place, found.text)
        };
        found.into_iter().map(line).collect()
    }

    #[test]
    fn a_text_is_found_where_it_came_in() {
        let steps = past(&[
            vec![("a", vec![Op::Extend(text(&json!([{"t": "red fox"}, "a red"])))])],
            vec![("b", vec![Op::Extend(text(&json!(["red", 12, true])))])],
        ]);
        assert_eq!(
            lines(&steps, "red"),
            [
                r#"0 {"path":"x[0].t","place":"state"} red fox"#,
                r#"0 {"path":"x[1]","place":"state"} a red"#,
                r#"1 {"path":"x[2]","place":"state"} red"#,
            ]
        );
        assert_eq!(lines(&steps, "12"), [r#"1 {"path":"x[3]","place":"state"} 12"#]);
        assert_eq!(lines(&steps, "blue"), [] as [&str; 0]);
    }

    /// Only values were searched: the key of a value was never found.
    #[test]
    fn keys_are_found_as_well_as_values() {
        let steps = past(&[
            vec![("a", vec![Op::MapPut(text(&json!({"alice": {"score": 3}})))])],
            vec![("b", vec![Op::MapPut(text(&json!({"alice": {"score": 4}, "malice": 1})))])],
        ]);
        assert_eq!(
            lines(&steps, "alice"),
            [
                r#"0 {"path":"x.alice","place":"state"} alice"#,
                r#"1 {"path":"x.malice","place":"state"} malice"#,
            ]
        );
        let found = grep(&steps, |text| text == "score").unwrap();
        assert_eq!((found.len(), found[0].part), (1, Part::Key));
        assert_eq!(
            lines(&steps, "x"),
            [r#"0 {"path":"x","place":"state"} x"#],
            "a field's name is a key, too"
        );
    }

    #[test]
    fn effects_and_questions_are_searched_too() {
        let mut steps = past(&[vec![("a", vec![])]]);
        let task = TaskId::from_bytes([0; 16]);
        steps[1].work.effects.push(EffectRecord {
            id: EffectId { task, name: "fetch".into(), key: "k".into(), occurrence: 0 },
            attempt: 1,
            starts: 1,
            token: IdempotencyKey::from_bytes([0; 16]),
            outcome: Some(EffectOutcome::Ok(text(&json!({"body": ["a red page"]})))),
        });
        steps[1].work.asks.push(AskRecord {
            id: InterruptId::from_bytes([0; 16]),
            task,
            node: "a".into(),
            path: Vec::new(),
            key: "ask".into(),
            argument: None,
            question: text(&json!("red or blue?")),
            deadline: None,
            answer: Some(text(&json!("red"))),
            answered_by: AnsweredBy::Caller,
        });
        steps[0].checkpoint.metadata.insert("why".into(), text(&json!("red tape")));
        assert_eq!(
            lines(&steps, "red"),
            [
                r#"-1 {"key":"k","name":"fetch","place":"effect"} a red page"#,
                r#"-1 {"node":"a","place":"question"} red or blue?"#,
                r#"-1 {"node":"a","place":"answer"} red"#,
                r#"0 {"name":"why","place":"metadata"} red tape"#,
            ]
        );
    }
}
