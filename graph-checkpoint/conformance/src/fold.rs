//! A value is the fold of its operations along the parents.

use superstep_core::checkpoint::{CheckpointerExt, Commit};
use superstep_core::state::Op;

use super::bench::{Bench, values};
use super::item::items;
use super::material::{change, commit_of, described, extend, field, json, result, schema, set, step, thread};
use super::verdict::{Verdict, equal};

items! { "fold":
    oldest_first "Items that several checkpoints added are in the order of the checkpoints."
    from_the_nearest_set "A `set` makes everything before it count no more."
    without_a_set "A field that was only ever extended begins with nothing."
    operations_after_a_set_in_one_checkpoint "What follows a `set` in the same checkpoint counts."
    each_field_has_its_own_base "Each field is folded from its own last `set`, wherever that is."
    an_unwritten_field_is_absent "A field that was never written has no value, not an empty one."
    pending_results_do_not_count "What a result writes is in no value before the superstep is committed."
    every_operation_folds "Sets, maps and keyed lists are folded by their own rules."
    branches_do_not_mix "A branch has the items of its own past, and none of another branch's."
    long_ago_is_found "A field that was last written many checkpoints ago keeps its value."
    through_a_changed_schema "Values go over to a changed schema by the names and former names of fields."
    fields_a_schema_dropped_are_absent "A field that the newer schema has not is absent there, and stays in older checkpoints."
}

async fn oldest_first(b: &Bench<'_>) -> Verdict {
    let mut last = b.advance("t", None, [set(0, "[0]")]).await?;
    for number in 1..4 {
        last = b.advance("t", Some(&last), [extend(0, &format!("[{number}]"))]).await?;
    }
    equal("the list", values(&b.head("t").await?), [(0, "[0,1,2,3]")])
}

async fn from_the_nearest_set(b: &Bench<'_>) -> Verdict {
    let mut last = b.advance("t", None, [set(0, "[0]")]).await?;
    for changed in [extend(0, "[1]"), set(0, "[3]"), extend(0, "[4]")] {
        last = b.advance("t", Some(&last), [changed]).await?;
    }
    equal("the list", values(&b.head("t").await?), [(0, "[3,4]")])
}

async fn without_a_set(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let second = b.advance("t", Some(&first), [extend(0, "[1]")]).await?;
    b.advance("t", Some(&second), [extend(0, "[2]")]).await?;
    equal("the list", values(&b.head("t").await?), [(0, "[1,2]")])
}

async fn operations_after_a_set_in_one_checkpoint(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "[1]")]).await?;
    let ops = [Op::Set(json("[10,20]")), Op::Extend(json("[\"at\"]")), Op::Extend(json("[\"after\"]"))];
    b.advance("t", Some(&first), [change(0, ops)]).await?;
    equal("the list", values(&b.head("t").await?), [(0, "[10,20,\"at\",\"after\"]")])
}

async fn each_field_has_its_own_base(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [extend(0, "[0]"), extend(1, "[0]")]).await?;
    let second = b.advance("t", Some(&first), [set(0, "[1]"), extend(1, "[1]")]).await?;
    let third = b.advance("t", Some(&second), [extend(0, "[2]"), extend(1, "[2]")]).await?;
    b.advance("t", Some(&third), [extend(0, "[3]"), set(1, "[3]")]).await?;
    equal("both lists", values(&b.head("t").await?), [(0, "[1,2,3]"), (1, "[3]")])
}

async fn an_unwritten_field_is_absent(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    equal("no values", values(&b.head("t").await?), [])?;
    b.advance("t", Some(&first), [set(3, "0")]).await?;
    equal("the one value", values(&b.head("t").await?), [(3, "0")])
}

async fn pending_results_do_not_count(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "1")]).await?;
    b.saver.record_result(&thread("t"), first.id, result(1, "2")).await?;
    equal("the value", values(&b.head("t").await?), [(0, "1")])
}

async fn every_operation_folds(b: &Bench<'_>) -> Verdict {
    let op = |field, op| change(field, [op]);
    let first = [
        set(0, "[1,2]"),
        op(1, Op::MapPut(json(r#"{"x":1,"y":[2]}"#))),
        op(2, Op::SetAdd(json("[1,2]"))),
        op(3, Op::Keyed(json(r#"[{"id":"x","item":{"id":"x","n":1}},{"id":"y","item":{"id":"y","n":2}}]"#))),
    ];
    let second = [
        extend(0, "[2]"),
        op(1, Op::MapRemove(json(r#"{"x":null}"#))),
        op(2, Op::SetAdd(json("[2,3]"))),
        op(3, Op::Keyed(json(r#"[{"id":"x","item":{"id":"x","n":3}},{"id":"z","item":{"id":"z","n":4}}]"#))),
    ];
    let third = [
        extend(0, "[]"),
        op(1, Op::MapPut(json(r#"{"a":null}"#))),
        op(2, Op::SetRemove(json("[1,9]"))),
        op(3, Op::Keyed(json(r#"[{"id":"y"}]"#))),
    ];
    let first = b.advance("t", None, first).await?;
    let second = b.advance("t", Some(&first), second).await?;
    b.advance("t", Some(&second), third).await?;
    let expected = [
        (0, "[1,2,2]"),
        (1, r#"{"a":null,"y":[2]}"#),
        (2, "[2,3]"),
        (3, r#"[{"id":"x","n":3},{"id":"z","n":4}]"#),
    ];
    equal("the values", values(&b.head("t").await?), expected)
}

async fn branches_do_not_mix(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "[1]")]).await?;
    let left = b.advance("t", Some(&first), [extend(0, "[2]")]).await?;
    let branch = step(Some(&first), [extend(0, "[20]")]);
    b.put_as(Commit { expected: Some(left.id), ..commit_of("t", &branch) }).await?;
    let back = step(Some(&left), [extend(0, "[3]")]);
    b.put_as(Commit { expected: Some(branch.id), ..commit_of("t", &back) }).await?;
    equal("the one", values(&b.at("t", back.id).await?), [(0, "[1,2,3]")])?;
    equal("the other", values(&b.at("t", branch.id).await?), [(0, "[1,20]")])
}

async fn long_ago_is_found(b: &Bench<'_>) -> Verdict {
    let mut all = vec![b.advance("t", None, [set(0, "\"old\""), set(1, "[]")]).await?];
    for number in 0..130 {
        all.push(b.advance("t", all.last(), [extend(1, &format!("[{number}]"))]).await?);
    }
    for number in [0, 1, 61, 62, 63, 64, 65, 100, 126, 127, 128, 130] {
        let loaded = b.at("t", all[number].id).await?;
        let list: Vec<String> = (0..number).map(|item| item.to_string()).collect();
        let list = format!("[{}]", list.join(","));
        equal(format!("after {number} steps"), values(&loaded), [(0, "\"old\""), (1, &*list)])?;
    }
    Ok(())
}

async fn through_a_changed_schema(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "[0]"), set(1, "1"), set(3, "[3]")]).await?;
    let before = b.advance("t", Some(&first), [extend(3, "[33]")]).await?;
    // `a` is now third, `d` first under another name, `b` is gone.
    let mut newer = schema();
    newer.fields = vec![field("e"), field("new"), field("a"), field("c")];
    newer.fields[0].aliases = vec!["d".into()];
    b.saver.register(&described(newer.clone())).await?;
    let mut under_newer = step(Some(&before), [extend(0, "[333]"), set(1, "9")]);
    under_newer.schema = newer.fingerprint();
    b.put("t", &under_newer).await?;
    let mut last = step(Some(&under_newer), [extend(2, "[1]"), extend(0, "[3333]")]);
    last.schema = newer.fingerprint();
    b.put("t", &last).await?;
    let loaded = b.head("t").await?;
    equal("under the newer", values(&loaded), [(0, "[3,33,333,3333]"), (1, "9"), (2, "[0,1]")])?;
    equal("the newer", loaded.schema, newer)?;
    let loaded = b.at("t", before.id).await?;
    equal("under the older", values(&loaded), [(0, "[0]"), (1, "1"), (3, "[3,33]")])?;
    equal("the older", loaded.schema, schema())
}

async fn fields_a_schema_dropped_are_absent(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "1"), set(1, "2")]).await?;
    let mut newer = schema();
    newer.fields.remove(1);
    b.saver.register(&described(newer.clone())).await?;
    let mut second = step(Some(&first), []);
    second.schema = newer.fingerprint();
    b.put("t", &second).await?;
    equal("under the newer", values(&b.head("t").await?), [(0, "1")])?;
    equal("under the older", values(&b.at("t", first.id).await?), [(0, "1"), (1, "2")])
}
