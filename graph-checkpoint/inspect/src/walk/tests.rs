use proptest::prelude::*;
use serde_json::json;
use superstep_core::state::FieldSchema;

use super::*;
use crate::material::{Doing, json as text, past, values};

/// Generates operations that fit each other in any order: on a list, a set, a list of items with ids, or a map.
fn ops(kind: u8) -> BoxedStrategy<Op> {
    let items = proptest::collection::vec(0..5u8, 0..4);
    let keys = proptest::collection::btree_map("[abc]", 0..5u8, 0..3);
    let rows = |map: &BTreeMap<String, u8>, gone: u8| -> Value {
        let row = |(id, n): (&String, &u8)| match *n {
            n if n < gone => json!({ "id": id }),
            n => json!({"id": id, "item": {"id": id, "n": n}}),
        };
        map.iter().map(row).collect()
    };
    match kind {
        0 => prop_oneof![
            1 => items.clone().prop_map(|items| Op::Set(text(&json!(items)))),
            3 => items.prop_map(|items| Op::Extend(text(&json!(items)))),
        ]
        .boxed(),
        1 => prop_oneof![
            3 => items.clone().prop_map(|items| Op::SetAdd(text(&json!(items)))),
            1 => items.prop_map(|items| Op::SetRemove(text(&json!(items)))),
        ]
        .boxed(),
        2 => keys.prop_map(move |map| Op::Keyed(text(&rows(&map, 2)))).boxed(),
        _ => prop_oneof![
            3 => keys.clone().prop_map(|map| Op::MapPut(text(&json!(map)))),
            1 => keys.clone().prop_map(|map| Op::Set(text(&json!(map)))),
            1 => keys.prop_map(|map| {
                let gone: BTreeMap<String, ()> = map.into_keys().map(|key| (key, ())).collect();
                Op::MapRemove(text(&json!(gone)))
            }),
        ]
        .boxed(),
    }
}

proptest! {
    #[test]
    fn the_states_of_a_walk_are_those_that_are_loaded(
        all in (0..4u8).prop_flat_map(|kind| {
            proptest::collection::vec(proptest::collection::vec(ops(kind), 0..3), 1..10)
        })
    ) {
        let doing: Vec<Vec<Doing>> = all.into_iter().map(|ops| vec![("n", ops)]).collect();
        let steps = past(&doing);
        let mut walk = Walk::under(Arc::clone(&steps[0].schema));
        for (step, loaded) in steps.iter().rev().zip(values(&steps)) {
            walk.step(step).unwrap();
            prop_assert_eq!(walk.state().get("x").unwrap_or(&Value::Null), &loaded);
        }
    }
}

#[test]
fn an_appended_item_is_all_that_changed() {
    let steps = past(&[
        vec![("a", vec![Op::Extend(text(&json!([1, 2])))])],
        vec![("b", vec![Op::Extend(text(&json!([3])))])],
    ]);
    let mut walk = Walk::under(Arc::clone(&steps[0].schema));
    let mut changed = Vec::new();
    for step in steps.iter().rev() {
        let written = walk.step(step).unwrap();
        changed.extend(written.into_iter().flat_map(|written| written.differences));
    }
    let added = |path: &str, value: Value, at: Option<usize>| Difference {
        path: path.parse().unwrap(),
        edit: Edit::Added { value, at },
    };
    assert_eq!(changed, [added("x", json!([1, 2]), None), added("x[2]", json!(3), Some(2))]);
}

#[test]
fn fields_have_the_names_of_today() {
    let steps = past(&[vec![("a", vec![Op::Set(text(&json!(1)))])]]);
    let renamed =
        |field: &FieldSchema| FieldSchema { name: "y".into(), aliases: vec!["x".into()], ..field.clone() };
    let old = &steps[0].schema;
    let today = Schema {
        name: old.name.clone(),
        fields: old.fields.iter().map(renamed).collect(),
        ..Schema::default()
    };
    let mut walk = Walk::under(Arc::new(today));
    steps.iter().rev().for_each(|step| drop(walk.step(step).unwrap()));
    assert_eq!(*walk.state(), json!({"y": 1}));

    let other = Schema { name: old.name.clone(), ..Schema::default() };
    let mut walk = Walk::under(Arc::new(other));
    steps.iter().rev().for_each(|step| drop(walk.step(step).unwrap()));
    assert_eq!(*walk.state(), json!({"x": 1}), "a field that is no more keeps its name");
}

#[test]
fn an_operation_that_does_not_fit_is_reported_with_its_field() {
    let steps = past(&[vec![("a", vec![Op::Set(text(&json!(1))), Op::Extend(text(&json!([1])))])]]);
    let mut walk = Walk::under(Arc::clone(&steps[0].schema));
    walk.step(&steps[1]).unwrap();
    let error = walk.step(&steps[0]).unwrap_err().to_string();
    assert_eq!(error, "field x: an operation on a list was applied to something else");
}
