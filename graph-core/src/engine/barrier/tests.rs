use alloc::string::{String, ToString};
use alloc::vec;

use super::*;
use crate::reducer::{Any, Append, Ephemeral, Sum};
use crate::state::{State, Update};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Essay {
    topic: String,
    #[reducer(Append)]
    facts: Vec<String>,
    #[reducer(Sum)]
    cost: u64,
    #[reducer(Any)]
    mood: String,
    #[reducer(Ephemeral)]
    alarm: String,
    #[state(transient)]
    scratch: String,
}

const TOPIC: FieldId = FieldId(0);
const COST: FieldId = FieldId(2);
const ALARM: FieldId = FieldId(4);

/// Merges the tasks' updates into an essay with two facts and a cost of 10.
fn merge(updates: Vec<Update<Essay>>) -> Result<(Essay, Vec<String>), Conflict> {
    let positions = (0u32..).zip(&updates).map(|(task, update)| (task, update as &dyn ErasedUpdate));
    let overwrites = Overwrites::find(positions, &Essay::schema())?;
    let logged: Vec<Vec<LoggedWrite>> =
        updates.iter().map(|update| ErasedUpdate::encode(update).expect("texts have a JSON form")).collect();
    let mut essay = Essay { facts: vec!["x".into(), "y".into()], cost: 10, ..Essay::default() };
    let boxed = updates.into_iter().map(|update| Box::new(update) as Box<dyn ErasedUpdate>);
    apply(&mut essay, &mut Indexes::default(), (0..).zip(boxed), &overwrites);
    let writes = (0..).zip(logged.iter().map(Vec::as_slice));
    let changes = changes(&essay, writes, &overwrites).expect("the state has a JSON form");
    let schema = Essay::schema();
    let line = |change: &Change| {
        let ops: Vec<String> =
            change.ops.iter().map(|op| alloc::format!("{} {}", op.name(), op.operand())).collect();
        alloc::format!("{}: {}", schema.field(change.field).name, ops.join(", "))
    };
    Ok((essay, changes.iter().map(line).collect()))
}

fn merged(updates: Vec<Update<Essay>>) -> (Essay, Vec<String>) {
    merge(updates).expect("the writes agree")
}

#[test]
fn writes_apply_in_task_order() {
    let (essay, changes) = merged(vec![
        Essay::update().facts(["a", "b"]).cost(1u64).mood("calm"),
        Essay::update().topic("Rust"),
        Essay::update().facts(["c"]).cost(2u64).mood("tense"),
    ]);
    assert_eq!(essay.facts, ["x", "y", "a", "b", "c"]);
    assert_eq!((essay.cost, essay.mood.as_str(), essay.topic.as_str()), (13, "tense", "Rust"));
    assert_eq!(
        changes,
        [
            r#"topic: set "Rust""#,
            r#"facts: extend ["a","b"], extend ["c"]"#,
            "cost: set 13",
            r#"mood: set "tense""#,
        ]
    );
}

#[test]
fn two_writers_of_a_field_for_one_conflict_and_both_are_named() {
    let conflict = merge(vec![
        Essay::update().facts(["a"]),
        Essay::update().topic("Rust"),
        Essay::update().topic("Rust"),
    ]);
    let expected = Conflict { field: TOPIC, first: 1, second: 2, overwrites: false };
    assert_eq!(conflict.expect_err("one field, two writers"), expected);
}

#[test]
fn one_task_may_write_a_field_for_one_several_times() {
    let (essay, changes) = merged(vec![Essay::update().topic("Rust").topic("Zig").set_topic("C")]);
    assert_eq!(essay.topic, "C");
    assert_eq!(changes, [r#"topic: set "C""#]);
}

#[test]
fn transient_fields_conflict_like_others_and_are_not_logged() {
    let conflict = merge(vec![Essay::update().scratch("a"), Essay::update().scratch("b")]);
    assert_eq!(conflict.map_err(|conflict| conflict.field), Err(FieldId(5)));
    let (essay, changes) = merged(vec![Essay::update().scratch("a"), Essay::update().cost(1u64)]);
    assert_eq!(essay.scratch, "a");
    assert_eq!(changes, ["cost: set 11"]);
}

#[test]
fn an_overwrite_replaces_what_siblings_reduced_before_and_after_it() {
    let (essay, changes) = merged(vec![
        Essay::update().facts(["a"]),
        Essay::update().set_facts(["only".to_string()]),
        Essay::update().facts(["c"]).cost(1u64),
    ]);
    assert_eq!(essay.facts, ["only"]);
    assert_eq!(essay.cost, 11, "other fields of the siblings count");
    assert_eq!(changes, [r#"facts: set ["only"]"#, "cost: set 11"]);
}

#[test]
fn an_overwrite_counts_with_what_its_own_task_reduces_after_it() {
    let (essay, changes) = merged(vec![
        Essay::update().facts(["gone"]).set_facts(["only".to_string()]).facts(["and this"]),
        Essay::update().facts(["c"]),
    ]);
    assert_eq!(essay.facts, ["only", "and this"]);
    assert_eq!(changes, [r#"facts: set ["only"], extend ["and this"]"#]);
}

#[test]
fn two_overwrites_of_a_field_conflict() {
    let conflict = merge(vec![
        Essay::update().set_cost(1u64),
        Essay::update().cost(5u64),
        Essay::update().set_cost(1u64),
    ]);
    let expected = Conflict { field: COST, first: 0, second: 2, overwrites: true };
    assert_eq!(conflict.expect_err("two overwrites"), expected);
}

#[test]
fn a_sum_after_an_overwrite_is_logged_as_its_result() {
    let (essay, changes) = merged(vec![Essay::update().cost(5u64).set_cost(1u64).cost(2u64)]);
    assert_eq!(essay.cost, 3);
    assert_eq!(changes, ["cost: set 3"]);
    let (essay, changes) = merged(vec![Essay::update().cost(5u64).set_cost(1u64)]);
    assert_eq!(essay.cost, 1);
    assert_eq!(changes, ["cost: set 1"]);
}

#[test]
fn changes_fold_to_the_state_that_was_merged() {
    let (essay, _) = merged(vec![]);
    assert_eq!(essay.facts, ["x", "y"]);
    let (essay, changes) =
        merged(vec![Essay::update().set_facts(["1".to_string()]).facts(["2"]), Essay::update().topic("t")]);
    let list = changes.iter().find(|line| line.starts_with("facts"));
    assert_eq!(list.map(String::as_str), Some(r#"facts: set ["1"], extend ["2"]"#));
    assert_eq!(essay.facts, ["1", "2"]);
}

#[test]
fn a_field_of_one_superstep_is_reset_unless_written_again() {
    let initial = Essay::default();
    assert_eq!(one_step_fields(&Essay::schema()), [ALARM]);
    let mut essay = Essay { alarm: "fire".into(), ..Essay::default() };
    let mut ephemeral = set_fields(&essay, &initial, &[TOPIC, ALARM]);
    assert_eq!(ephemeral, [ALARM]);
    assert_eq!(reset_ephemeral(&mut essay, &initial, &mut ephemeral, &[ALARM]), []);
    assert_eq!((essay.alarm.as_str(), &*ephemeral), ("fire", &[ALARM][..]));
    assert_eq!(reset_ephemeral(&mut essay, &initial, &mut ephemeral, &[]), [ALARM]);
    assert_eq!((essay.alarm.as_str(), &*ephemeral), ("", &[][..]));
    assert_eq!(reset_ephemeral(&mut essay, &initial, &mut ephemeral, &[ALARM]), [], "written as it begins");
    assert!(ephemeral.is_empty());
}

/// The first result, read back from storage, must conflict in the same way as a live one. A write of one value is
/// stored as an overwrite.
#[test]
fn a_conflict_is_the_same_when_the_first_result_was_read_back() {
    let live = Essay::update().topic("Rust");
    let logged = ErasedUpdate::encode(&live).expect("a text has a JSON form");
    let stored = ErasedState::decode_update(&Essay::default(), &logged).expect("it was just encoded");
    let writers: [(u32, &dyn ErasedUpdate); 2] = [(0, &*stored), (1, &live)];
    let conflict = Overwrites::find(writers.into_iter(), &Essay::schema());
    assert_eq!(conflict.map(|_| ()).map_err(|conflict| conflict.overwrites), Err(false));
}
