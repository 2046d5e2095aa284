use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::material::{Doing, json as text, past, values};
use crate::path::Segment;

/// Formats each part as a line: path, value, and the step and nodes of its author.
fn lines(steps: &[Vec<Doing>], path: &str) -> Vec<String> {
    let blamed = blame(&past(steps), &path.parse().unwrap()).unwrap();
    let line = |Blame { path, value, author, .. }: Blame| {
        let nodes: Vec<&str> = author.tasks.iter().map(|(_, node)| node.as_str()).collect();
        format!("{path} {value} {} {}", author.step, nodes.join("+"))
    };
    blamed.into_iter().map(line).collect()
}

fn set(value: Value) -> Op {
    Op::Set(text(&value))
}

fn extend(value: Value) -> Op {
    Op::Extend(text(&value))
}

#[test]
fn items_belong_to_those_who_added_them() {
    let steps = [
        vec![("a", vec![extend(json!(["one"]))])],
        vec![("b", vec![extend(json!(["two"]))]), ("c", vec![extend(json!(["three", "four"]))])],
    ];
    assert_eq!(
        lines(&steps, "x"),
        [r#"x ["one","two","three","four"] 1 c"#, r#"x[0] "one" 0 a"#, r#"x[1] "two" 1 b"#,]
    );
    assert_eq!(lines(&steps, "x[1]"), [r#"x[1] "two" 1 b"#]);
    assert_eq!(lines(&steps, "x[4]"), [] as [&str; 0]);
    assert_eq!(lines(&steps, "y"), [] as [&str; 0]);
    assert_eq!(lines(&steps, ".").len(), 3);
}

#[test]
fn an_overwrite_changes_the_authors_of_what_it_changes() {
    let steps = [
        vec![("a", vec![set(json!({"p": 1, "q": {"r": [1, 2], "s": 3}}))])],
        vec![("b", vec![set(json!({"p": 1, "q": {"r": [1, 9, 2], "s": 4}}))])],
    ];
    assert_eq!(
        lines(&steps, "x"),
        [
            r#"x {"p":1,"q":{"r":[1,9,2],"s":4}} 0 a"#,
            "x.q.r [1,9,2] 1 b",
            "x.q.r[0] 1 0 a",
            "x.q.r[2] 2 0 a",
            "x.q.s 4 1 b"
        ]
    );
    let again = vec![("c", vec![set(json!({"p": 1, "q": {"r": [1, 9, 2], "s": 4}}))])];
    let same = lines(&[steps[0].clone(), steps[1].clone(), again], "x");
    assert_eq!(same, lines(&steps, "x"), "it was there already");
}

#[test]
fn a_reduced_value_belongs_to_all_who_wrote_it() {
    let mut steps = past(&[vec![("a", vec![]), ("b", vec![]), ("c", vec![])]]);
    let newest = &mut steps[0].checkpoint;
    newest.changes = vec![superstep_core::state::Change { field: FieldId(0), ops: vec![set(json!(3))] }];
    for task in &mut newest.tasks[..2] {
        let write = Logged::Reduce(text(&json!(1)));
        task.writes.push(superstep_core::state::LoggedWrite { field: FieldId(0), write });
    }
    let blamed = blame(&steps, &"x".parse().unwrap()).unwrap();
    assert_eq!(blamed[0].author.tasks, [(0, "a".into()), (1, "b".into())]);
}

/// The items of a fan-out put entries into one map. Each item is the author of the entries that it put, and the last
/// one that put a key has overwritten the values of the others, even if they are equal.
#[test]
fn a_key_of_a_map_belongs_to_the_item_that_put_it_last() {
    let put = |value: Value| vec![Op::MapPut(text(&value))];
    let mut steps = past(&[
        vec![("plan", vec![])],
        vec![
            ("rate", put(json!({"a": 1}))),
            ("rate", put(json!({"a": 2, "b": 5}))),
            ("rate", put(json!({"a": 1}))),
        ],
    ]);
    for (index, next) in (0..).zip(&mut steps[1].checkpoint.frontier.tasks) {
        next.cause = superstep_core::checkpoint::Cause::Each { by: 0, index };
        next.input = Some(text(&json!(format!("item {index}"))));
    }
    let blamed = |path: &str| blame(&steps, &path.parse().unwrap()).unwrap().remove(0);
    let a = blamed("x.a");
    assert_eq!((a.author.tasks, a.author.item), (vec![(2, "rate".into())], Some(json!("item 2"))));
    let overwrote = a.overwrote.unwrap();
    assert_eq!((overwrote.value, overwrote.author.item), (json!(2), Some(json!("item 1"))));
    let b = blamed("x.b");
    assert_eq!((b.author.item, b.overwrote), (Some(json!("item 1")), None));
}

/// A reducer that merges maps logs no operation. Only the writers whose writes contain a key are its authors.
#[test]
fn a_key_of_a_reduced_map_belongs_to_those_who_wrote_the_key() {
    let mut steps = past(&[vec![("a", vec![]), ("b", vec![]), ("c", vec![])]]);
    let newest = &mut steps[0].checkpoint;
    let ops = vec![set(json!({"p": 2, "q": 3}))];
    newest.changes = vec![superstep_core::state::Change { field: FieldId(0), ops }];
    for (task, write) in newest.tasks.iter_mut().zip([json!({"p": 1}), json!({"p": 2}), json!({"q": 3})]) {
        let write = Logged::Reduce(text(&write));
        task.writes.push(superstep_core::state::LoggedWrite { field: FieldId(0), write });
    }
    // The field was written as a whole; a later superstep changes one key of it.
    let whole = blame(&steps, &"x".parse().unwrap()).unwrap();
    assert_eq!(whole[0].author.tasks.len(), 3);
    let first = past(&[vec![("z", vec![set(json!({"p": 0, "q": 0}))])], vec![]]);
    let mut later = steps.remove(0);
    later.checkpoint.parent = Some(first[0].checkpoint.id);
    let line: Vec<StepRecord> = std::iter::once(later).chain(first).collect();
    let of = |path: &str| blame(&line, &path.parse().unwrap()).unwrap().remove(0).author.tasks;
    assert_eq!(of("x.p"), [(1, "b".into())]);
    assert_eq!(of("x.q"), [(2, "c".into())]);
}

/// Generates an operation that fits a map from keys to maps, or a list of items with ids.
fn ops(keyed: bool) -> impl Strategy<Value = Op> {
    let small = prop_oneof![
        (0..3u8).prop_map(|n| json!(n)),
        proptest::collection::btree_map("[pq]", 0..3u8, 0..3).prop_map(|map| json!(map)),
    ];
    let entries = proptest::collection::btree_map("[abc]", small, 0..3);
    let whole = entries.clone().prop_map(move |map| match keyed {
        false => set(json!(map)),
        true => set(map.iter().map(|(id, value)| json!({"id": id, "value": value})).collect()),
    });
    let put = entries.prop_map(move |map| match keyed {
        false => Op::MapPut(text(&json!(map))),
        true => {
            let row = |(id, value): (&String, &Value)| json!({"id": id, "item": {"id": id, "value": value}});
            Op::Keyed(text(&map.iter().map(row).collect()))
        }
    });
    let remove = "[abc]".prop_map(move |key| match keyed {
        false => Op::MapRemove(text(&json!({ key: null }))),
        true => Op::Keyed(text(&json!([{ "id": key }]))),
    });
    prop_oneof![1 => whole, 4 => put, 1 => remove]
}

/// Collects the paths of a value that contain no inner ones, with their values; items of lists by their ids.
fn leaves(value: &Value, here: Path, found: &mut Vec<(Path, Value)>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                leaves(member, here.then(Segment::Key(key.clone())), found);
            }
        }
        Value::Array(items) => {
            for item in items {
                leaves(item, here.then(Segment::Item(item["id"].to_string())), found);
            }
        }
        leaf => found.push((here, leaf.clone())),
    }
}

proptest! {
    /// The author of a leaf is the one that changed it last, as found by a walk over all states.
    #[test]
    fn blame_agrees_with_a_walk_over_all_states(
        all in any::<bool>().prop_flat_map(|keyed| proptest::collection::vec(ops(keyed), 1..12))
    ) {
        let doing: Vec<Vec<Doing>> = all.into_iter().map(|op| vec![("n", vec![op])]).collect();
        let steps = past(&doing);
        let states = values(&steps);
        let mut found = Vec::new();
        leaves(states.last().unwrap(), Path::root(), &mut found);
        for (path, value) in found {
            let differs = |at: &usize| path.get(&states[*at]) != Some(&value);
            let before = (0..states.len()).rev().find(differs).expect("there is nothing at first");
            let field = Segment::Key("x".into());
            let here: Path = std::iter::once(field).chain(path.segments().iter().cloned()).collect();
            let blamed = blame(&steps, &here).unwrap();
            prop_assert_eq!(blamed.len(), 1);
            // The state before the first step is that of the input, whose step is -1.
            prop_assert_eq!(blamed[0].author.step, i64::try_from(before).unwrap());
            prop_assert_eq!(&blamed[0].value, &value);
        }
    }
}

/// The fields of the latest author were left out, because no other author had written in them.
#[test]
fn every_field_of_a_state_has_a_line() {
    let steps = [vec![("a", vec![set(json!({"p": 1}))])], vec![("b", vec![set(json!({"p": 2}))])]];
    assert_eq!(lines(&steps, "."), [r#"x {"p":2} 0 a"#, "x.p 2 1 b"]);
    assert_eq!(lines(&steps[..1], "."), [r#"x {"p":1} 0 a"#]);
}
