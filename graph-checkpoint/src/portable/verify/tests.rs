use serde_json::json;
use superstep_core::checkpoint::{Carried, Emitted};
use superstep_core::state::{Change, FieldId, Json};

use super::super::document::{CheckpointPart, ThreadPart, TopologyPart, WorkPart};
use super::super::{Export, NoExport};
use super::*;
use past::{json as text_of, past};

/// Creates histories, like the tests of `superstep-inspect`.
#[path = "../../../inspect/src/material.rs"]
#[expect(dead_code, reason = "those tests use all of it")]
mod past;

/// Returns a thread of three checkpoints, the last two of which add an item to a list.
fn sound() -> Document {
    let steps = [1, 2].map(|item| vec![("n", vec![Op::Extend(text_of(&json!([item])))])]);
    let past = past(&steps);
    let head = past[0].checkpoint.id;
    let mut document = Document::new(vec![ThreadPart {
        name: "t".into(),
        graph: "g".into(),
        head: Some(head),
        names: BTreeMap::new(),
    }]);
    let schema = Json::encode(&*past[0].schema).unwrap();
    let topology = text_of(&json!({"name": "g"}));
    let (of_schema, of_topology) = (Fingerprint::of(&schema), Fingerprint::of(&topology));
    document.schemas.insert(of_schema, schema);
    document.topologies.insert(of_topology, TopologyPart { graph: "g".into(), topology });
    for step in past.into_iter().rev() {
        let checkpoint = Checkpoint { schema: of_schema, topology: of_topology, ..step.checkpoint };
        document.checkpoints.push(CheckpointPart {
            thread: 0,
            checkpoint,
            emitted: Vec::new(),
            work: Vec::new(),
        });
    }
    document
}

/// Returns the error for a document that was forged, including its digest.
fn said_of(forge: impl FnOnce(&mut Document)) -> String {
    let mut document = sound();
    forge(&mut document);
    match Export::parse(&document.to_text()) {
        Err(NoExport::Inconsistent(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_sound_document_is_read_as_it_was_written() {
    let text = sound().to_text();
    let export = Export::parse(&text).unwrap();
    assert_eq!((export.to_text(), export.thread().as_str(), export.checkpoints()), (text, "t", 3));
}

#[test]
fn a_forged_document_is_distinguished_from_a_sound_one() {
    let id = |at: usize| sound().checkpoints[at].checkpoint.id;
    let no_threads = said_of(|document| document.threads.clear());
    assert_eq!(no_threads, "there is no thread");
    let root = "the first thread is not the one that was exported";
    assert_eq!(said_of(|document| document.threads[0].name = "t\u{1f}x".into()), root);
    assert_eq!(said_of(|document| document.threads[0].head = None), root);
    let other = said_of(|document| {
        document.threads.push(ThreadPart { name: "u".into(), ..document.threads[0].clone() })
    });
    assert_eq!(other, "thread u is no subgraph's");
    let text = said_of(|document| document.schemas.values_mut().for_each(|text| *text = Json::null()));
    assert!(text.starts_with("schema ") && text.ends_with(" is another one"), "{text}");
    assert_eq!(
        said_of(|document| document.schemas.clear()),
        format!("the schema of checkpoint {} is missing", id(0))
    );
    let text = said_of(|document| document.topologies.clear());
    assert_eq!(text, format!("the topology of checkpoint {} is missing", id(0)));
    let text = said_of(|document| document.checkpoints.swap(1, 2));
    assert_eq!(text, format!("the parent of checkpoint {} is not before it", id(2)));
    let text = said_of(|document| {
        document.checkpoints.pop();
    });
    assert_eq!(text, "the latest checkpoint of thread t is missing");
    let text = said_of(|document| document.checkpoints.push(document.checkpoints[2].clone()));
    assert_eq!(text, format!("checkpoint {} is there twice", id(2)));
    let text = said_of(|document| document.checkpoints[1].work.push(WorkPart::of(1, Carried::default())));
    assert_eq!(text, format!("checkpoint {} is of a thread that is not there", id(1)));
    let text = said_of(|document| document.checkpoints[1].emitted.push((1, Emitted::default())));
    assert_eq!(text, format!("something was emitted by no task of checkpoint {}", id(1)));
    let field = |change: Change| {
        let text = said_of(|document| document.checkpoints[1].checkpoint.changes = vec![change]);
        assert_eq!(text, format!("checkpoint {} writes a field that its schema does not have", id(1)));
    };
    field(Change { field: FieldId(1), ops: vec![Op::Set(Json::null())] });
    field(Change { field: FieldId(0), ops: Vec::new() });
    let ops = vec![Op::MapPut(text_of(&json!({"a": 1})))];
    let text = said_of(|document| {
        document.checkpoints[1].checkpoint.changes = vec![Change { field: FieldId(0), ops }]
    });
    assert_eq!(text, format!("field x of checkpoint {}: a list operation follows a map operation", id(2)));
}
