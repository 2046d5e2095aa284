//! What `#[derive(State)]` gives a state.

extern crate superstep_core as superstep;

use serde::{Deserialize, Serialize};
use superstep::reducer::{Append, Sum};
use superstep::state::{FieldId, FieldWrite, LoggedWrite, State, StateUpdate, Update};

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Essay {
    topic: String,
    #[reducer(Append)]
    facts: Vec<String>,
    draft: String,
    #[reducer(Sum)]
    count: u64,
    note: Option<String>,
}

/// Applies an update as the engine does.
fn apply<S: State>(state: &mut S, update: Update<S>) {
    for write in update.into_writes() {
        write.apply(state);
    }
}

/// Applies an update after its writes were logged and read back.
fn apply_logged<S: State>(state: &mut S, update: &Update<S>) {
    let logged: Vec<LoggedWrite> = update
        .writes()
        .iter()
        .filter_map(|write| write.encode().unwrap())
        .collect();
    for write in &logged {
        S::Write::decode(write).unwrap().apply(state);
    }
}

#[test]
fn an_update_is_a_list_of_writes() {
    let mut essay = Essay::default();
    let update = Essay::update()
        .topic("Rust")
        .facts(["a", "b"])
        .facts(vec!["c".to_owned()])
        .count(1)
        .count(2)
        .note("x");
    apply_logged(&mut essay.clone(), &update);
    apply(&mut essay, update);
    assert_eq!(essay.topic, "Rust");
    assert_eq!(essay.facts, ["a", "b", "c"]);
    assert_eq!(essay.count, 3);
    assert_eq!(essay.note.as_deref(), Some("x"));
    apply(&mut essay, Essay::update().set_facts(["z"]).clear_count());
    assert_eq!((essay.facts, essay.count), (vec!["z".to_owned()], 0));
    assert_eq!(Essay::FACTS.id(), FieldId(1));
}
