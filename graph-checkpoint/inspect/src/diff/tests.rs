use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Formats each difference as a line.
fn lines(from: &Value, to: &Value) -> Vec<String> {
    let line = |Difference { path, edit }: Difference| match edit {
        Edit::Added { value, .. } => format!("+ {path} {value}"),
        Edit::Removed { value } => format!("- {path} {value}"),
        Edit::Changed { from, to } => format!("~ {path} {from} {to}"),
        Edit::Reordered { ids } => format!("% {path} {}", Value::from(ids)),
    };
    diff(from, to).into_iter().map(line).collect()
}

#[test]
fn members_are_added_removed_and_changed() {
    let from = json!({"a": 1, "b": {"c": true, "d": null}, "e": 0});
    let to = json!({"a": 1, "b": {"c": false}, "e": "0", "f": []});
    assert_eq!(lines(&from, &to), ["~ b.c true false", "- b.d null", "~ e 0 \"0\"", "+ f []"]);
}

#[test]
fn an_item_in_the_middle_does_not_shift_the_rest() {
    assert_eq!(lines(&json!([1, 2, 3]), &json!([1, 9, 2, 3])), ["+ [1] 9"]);
    assert_eq!(lines(&json!([1, 2, 3, 4]), &json!([1, 4])), ["- [2] 3", "- [1] 2"]);
    assert_eq!(lines(&json!([{"t": 1, "u": 1}, 2]), &json!([{"t": 1, "u": 2}, 2])), ["~ [0].u 1 2"]);
}

#[test]
fn items_with_ids_are_distinguished_by_them() {
    let from = json!([{"id": 1, "x": 1}, {"id": 2, "x": 2}, {"id": 3, "x": 3}]);
    let to = json!([{"id": 3, "x": 3}, {"id": "n", "x": 0}, {"id": 1, "x": 5}]);
    assert_eq!(
        lines(&from, &to),
        ["- [id=2] {\"id\":2,\"x\":2}", "% . [3,1]", "+ [id=\"n\"] {\"id\":\"n\",\"x\":0}", "~ [id=1].x 1 5"]
    );
}

#[test]
fn items_that_share_an_id_are_distinguished_by_what_they_are() {
    let from = json!([{"id": 1}, {"id": 1, "x": 0}]);
    assert_eq!(lines(&from, &json!([{"id": 1, "x": 0}])), ["- [0] {\"id\":1}"]);
}

#[test]
fn a_long_list_whose_every_item_changed_is_compared_by_position() {
    let list = |offset: u64| Value::from((0..2_000).map(|n| n + offset).collect::<Vec<_>>());
    assert_eq!(diff(&list(0), &list(10_000)).len(), 2_000);
}

#[test]
fn a_difference_that_does_not_fit_says_where() {
    let differences = diff(&json!({"a": [1]}), &json!({"a": []}));
    let error = apply(&mut json!({"a": 1}), &differences).unwrap_err();
    assert_eq!(error.to_string(), "the difference at a[0] does not fit the value");
}

/// Generates values whose lists often have ids.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..4i64).prop_map(Value::from),
        "[ab]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let items = proptest::collection::vec((0..6u8, inner.clone()), 0..6);
        let with_ids = items.prop_map(|items| {
            let item = |(id, value)| json!({"id": id, "value": value});
            Value::Array(items.into_iter().map(item).collect())
        });
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map("[abc]", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
            with_ids,
        ]
    })
}

proptest! {
    #[test]
    fn the_differences_make_the_second_value_of_the_first(from in values(), to in values()) {
        let mut made = from.clone();
        apply(&mut made, &diff(&from, &to)).unwrap();
        prop_assert_eq!(made, to);
    }

    #[test]
    fn equal_values_do_not_differ(value in values()) {
        prop_assert_eq!(diff(&value, &value), []);
    }

    #[test]
    fn what_was_added_at_the_end_is_all_that_differs(
        items in proptest::collection::vec(0..3u8, 0..8),
        more in proptest::collection::vec(0..3u8, 0..8),
    ) {
        let all: Vec<u8> = items.iter().chain(&more).copied().collect();
        let differences = diff(&json!(items), &json!(all));
        prop_assert_eq!(differences.len(), more.len());
        let only_added = differences.iter().all(|difference| matches!(difference.edit, Edit::Added { .. }));
        prop_assert!(only_added);
    }
}
