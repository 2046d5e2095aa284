//! Entry points for the fuzzer: decoders that accept any text, and properties of the accepted texts.
//!
//! Compiled only for the fuzzer, `cfg(fuzzing)`, and for this crate's tests.

use std::cell::RefCell;
use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use superstep_core::checkpoint::{
    AskRecord, Checkpoint, EffectOutcome, Emitted, FailureRecord, Fold, Source, StoreError, TaskResult,
    digest,
};
use superstep_core::id::{CheckpointId, Fingerprint, RunId};
use superstep_core::state::{Change, Json, Op};

use crate::error::corrupt;
use crate::history::decode::{self, Decoded};
use crate::history::encode::Encoder;
use crate::history::manifest::Bodies;
use crate::portable::{self, Export};
use crate::sqlite::history::changes::{Fields, Part, changed_fields, parse_changes, parse_fields};
use crate::sqlite::history::segment::Segment;

/// Long texts in memory, by their position.
#[derive(Default)]
struct Held(RefCell<Vec<String>>);

impl Bodies for Held {
    fn keep(&self, text: &str) -> Result<i64, StoreError> {
        let mut held = self.0.borrow_mut();
        held.push(text.to_owned());
        Ok(held.len() as i64 - 1)
    }

    fn find(&self, id: i64) -> Result<Json, StoreError> {
        let held = self.0.borrow();
        let text = usize::try_from(id).ok().and_then(|at| held.get(at));
        let text = text.ok_or_else(|| corrupt(format_args!("body {id}"), "the row is missing"))?;
        Json::parse(text.as_str()).map_err(|error| corrupt(format_args!("body {id}"), error))
    }
}

/// Decodes the texts of a checkpoint's row. A checkpoint that is accepted must be the same after it is encoded and
/// decoded again. Returns `true` if the texts are a checkpoint.
///
/// # Panics
/// Panics if a property does not hold.
#[must_use]
pub fn checkpoint(changes: &str, manifest: &str, fields: &str) -> bool {
    let listed = parse_fields(fields);
    if let Ok(fields) = &listed {
        let mut text = String::new();
        Encoder { bodies: &Held::default(), out: &mut text }.fields(fields);
        assert_eq!(parse_fields(&text).ok().as_ref(), Some(fields), "field maps come back");
    }
    let _outline = decode::Outline::parse(manifest);
    let _versions = changed_fields(changes, 1);
    let bodies = Held::default();
    segment(changes, fields, &bodies);
    let Some(first) = decoded(changes, manifest, &bodies) else { return false };

    let (mut changes, mut manifest) = (String::new(), String::new());
    let mut versions = listed.unwrap_or_else(|_| Fields::new());
    let encoded = Encoder { bodies: &bodies, out: &mut changes }.changes(&first.changes, 1, &mut versions);
    encoded.expect("bodies in memory are always kept");
    let encoded = Encoder { bodies: &bodies, out: &mut manifest }.manifest(&first);
    encoded.expect("what was decoded can be encoded");
    let again = decoded(&changes, &manifest, &bodies).expect("what was written is read");
    assert_eq!(digest(&first).ok(), digest(&again).ok(), "{changes}\n{manifest}");

    for change in &first.changes {
        fold(&change.ops);
    }
    true
}

fn decoded(changes: &str, manifest: &str, bodies: &Held) -> Option<Checkpoint> {
    let stored = parse_changes(changes).ok()?;
    let inline = stored.iter().filter(|change| change.part().is_none());
    let changes = inline.map(|change| {
        let ops = change.ops.iter().map(|op| op.resolve(bodies)).collect::<Result<_, _>>()?;
        Ok(Change { field: change.field, ops })
    });
    let changes = changes.collect::<Result<Vec<_>, StoreError>>().ok()?;
    let Decoded { changes, tasks, frontier, metadata } = decode::decode(changes, manifest, bodies).ok()?;
    Some(Checkpoint {
        id: CheckpointId(uuid::Uuid::nil()),
        parent: None,
        run: RunId(uuid::Uuid::nil()),
        step: 0,
        source: Source::Loop,
        schema: Fingerprint::of(b""),
        topology: Fingerprint::of(b""),
        changes,
        tasks,
        frontier,
        metadata,
    })
}

/// Reads any text as a segment with any positions: folding its versions returns a value or an error.
fn segment(text: &str, ends: &str, bodies: &Held) {
    for is_list in [false, true] {
        let segment = Segment {
            id: 1,
            thread: 1,
            prev: None,
            versions: 2,
            ends: ends.into(),
            is_list,
            weight: 0,
            due: 0,
            whole: None,
            text: text.into(),
        };
        let is_sound = segment.check(bodies).is_ok();
        for version in 0..3 {
            let part = Part { segment: 1, version };
            let read = segment.of(part).is_ok() && segment.up_to(part).is_ok();
            assert!(!is_sound || read == (version < 2), "a sound segment has the versions that it says");
            let _folded = segment.fold(part, &mut Fold::new(), bodies);
        }
    }
}

/// Folds a chain of operations to a value, which must be the same if it is set at once, or to a typed error.
fn fold(ops: &[Op]) {
    let value = |ops: &[Op]| {
        let mut fold = Fold::new();
        ops.iter().try_for_each(|op| fold.apply(op))?;
        fold.finish()
    };
    if let Ok(Some(folded)) = value(ops) {
        let whole = value(&[Op::Set(folded.clone())]).expect("a value can be set");
        assert_eq!(whole.as_ref(), Some(&folded));
    }
}

/// Decodes a text of the other tables: results, failures, questions, outcomes, and emitted events. Returns `true` if
/// one of them accepts it.
///
/// # Panics
/// Panics if a decoded value is not the same after it is encoded and decoded again.
#[must_use]
pub fn work(text: &str) -> bool {
    let known = [
        comes_back::<TaskResult>,
        comes_back::<FailureRecord>,
        comes_back::<AskRecord>,
        comes_back::<EffectOutcome>,
        comes_back::<Emitted>,
    ];
    known.iter().filter(|comes_back| comes_back(text)).count() > 0
}

fn comes_back<T: DeserializeOwned + Serialize + PartialEq + Debug>(text: &str) -> bool {
    let Ok(first) = serde_json::from_str::<T>(text) else { return false };
    let written = serde_json::to_string(&first).expect("what was read can be written");
    let again: T = serde_json::from_str(&written).expect("what was written is read");
    assert_eq!(first, again, "{written}");
    true
}

/// Parses a thread's document, after correcting its digest. A document that is accepted must be the same after it is
/// written and parsed again, also without its secrets.
///
/// # Panics
/// Panics if a property does not hold.
#[must_use]
pub fn document(text: &str) -> bool {
    let _as_it_is = Export::parse(text);
    let Some(signed) = portable::signed(text) else { return false };
    let Ok(export) = Export::parse(&signed) else { return false };
    let written = export.to_text();
    let again = Export::parse(&written).expect("what was written is read");
    assert_eq!(again.to_text(), written);
    let redacted = export.redacted().to_text();
    let again = Export::parse(&redacted).expect("a redacted export is one");
    assert_eq!(again.redacted().to_text(), redacted, "nothing is left to be hidden");
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGES: &str =
        r#"[{"field":0,"prev":12,"ops":[{"extend":["a"]}]},{"field":2,"ops":[{"set":1e-7}]}]"#;
    const MANIFEST: &str = r#"{"tasks":[{"node":"n","writes":[{"op":[0,0]}],"route":{"case":"C","value":null}}],
        "next":[{"node":"m","cause":{"tasks":[0]},"input":{"a":[]}}],"metadata":{"k":"v"}}"#;

    #[test]
    fn what_is_stored_is_accepted_and_comes_back() {
        assert!(checkpoint(CHANGES, MANIFEST, "[12,null,[3,1]]"));
        assert!(checkpoint("[]", "{}", "[]"));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (changes, manifest) in [
            ("", MANIFEST),
            (CHANGES, ""),
            ("[{\"field\":0,\"ops\":[{\"set_body\":7}]}]", "{}"),
            ("[]", r#"{"tasks":[{"node":"n","writes":[{"op":[0,0]}]}]}"#),
            ("[]", r#"{"tasks":[{"node":"n","writes":[{"field":0}]}]}"#),
        ] {
            assert!(!checkpoint(changes, manifest, ""), "{changes} {manifest}");
        }
    }

    #[test]
    fn a_document_needs_its_parts() {
        assert!(!document(r#"{"kind":"superstep thread","format":1,"threads":[]}"#));
    }

    #[test]
    fn work_comes_back() {
        assert!(work(r#"{"ok":[1,2.5,"\u0000"]}"#));
        assert!(!work("[[]]"));
    }
}
