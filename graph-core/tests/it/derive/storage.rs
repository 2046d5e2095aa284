//! Encoding and decoding field by field.

use serde::{Deserialize, Serialize};
use superstep::reducer::{Append, Sum, Transient};
use superstep::state::{FieldId, FieldWrite, Json, Logged, LoggedWrite, Op, State, StateUpdate};

use super::{after, apply, log, read};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
enum Stage {
    #[default]
    Draft,
    Review {
        by: String,
    },
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Essay {
    topic: String,
    #[reducer(Append)]
    facts: Vec<String>,
    score: f64,
    stage: Stage,
    note: Option<u8>,
    #[reducer(Sum)]
    cost: u64,
    #[reducer(Transient)]
    session: u64,
}

fn essay() -> Essay {
    Essay {
        topic: "Rust \"quoted\"".to_owned(),
        facts: vec!["a".to_owned(), "ä".to_owned()],
        score: 0.1 + 0.2,
        stage: Stage::Review { by: "me".to_owned() },
        note: Some(1),
        cost: 1 << 60,
        session: 7,
    }
}

fn stored() -> impl Iterator<Item = FieldId> {
    Essay::schema().ids().filter(|field| *field != Essay::SESSION.id())
}

#[test]
fn every_field_survives_a_round_trip() {
    let essay = essay();
    let mut read = Essay { session: 7, ..Essay::initial() };
    for field in stored() {
        let json = essay.encode_field(field).unwrap();
        read.decode_field(field, &json).unwrap();
    }
    assert_eq!(read, essay);
}

#[test]
fn every_field_is_reset_alone() {
    for field in Essay::schema().ids() {
        let mut reset = essay();
        reset.reset_field(field);
        for other in stored() {
            let expected = if other == field { Essay::initial() } else { essay() };
            assert_eq!(reset.encode_field(other).unwrap(), expected.encode_field(other).unwrap());
        }
        assert_eq!(reset.session, if field == Essay::SESSION.id() { 0 } else { 7 });
    }
}

#[test]
fn a_value_that_does_not_fit_leaves_the_field_alone() {
    let mut changed = essay();
    for field in stored() {
        let error = changed.decode_field(field, &Json::parse("[[]]").unwrap()).unwrap_err();
        assert!(!error.to_string().is_empty());
    }
    assert_eq!(changed, essay());
}

#[test]
fn a_field_that_does_not_exist_is_an_error() {
    let beyond = FieldId(Essay::FIELDS);
    let message = "`Essay` has no field with id 7";
    assert_eq!(essay().encode_field(beyond).unwrap_err().to_string(), message);
    assert_eq!(essay().decode_field(beyond, &Json::null()).unwrap_err().to_string(), message);
    let write = LoggedWrite { field: beyond, write: Logged::Op(Op::Set(Json::null())) };
    let error = <Essay as State>::Write::decode(&write).err().unwrap();
    assert_eq!(error.to_string(), message);
}

#[test]
fn logged_writes_survive_a_round_trip() {
    let update = Essay::update()
        .topic("Rust")
        .facts(["a"])
        .set_facts(["b"])
        .cost(1)
        .set_cost(2)
        .cost(3)
        .stage(Stage::Review { by: "you".to_owned() })
        .note(None);
    let logged = log::<Essay>(&update);
    assert_eq!(logged, log::<Essay>(&read::<Essay>(&logged)));

    let text = serde_json::to_string(&logged).unwrap();
    assert_eq!(serde_json::from_str::<Vec<LoggedWrite>>(&text).unwrap(), logged);
    let essay = after(essay(), update);
    assert_eq!((essay.cost, essay.facts.len(), essay.note), (5, 1, None));
}

#[test]
fn operations_say_what_was_added() {
    let logged = log::<Essay>(&Essay::update().facts(["a"]).cost(1).topic("t").set_cost(4));
    let json = |text: &str| Json::parse(text).unwrap();
    let writes: Vec<_> = logged.into_iter().map(|write| write.write).collect();
    assert_eq!(
        writes,
        [
            Logged::Op(Op::Extend(json(r#"["a"]"#))),
            Logged::Reduce(json("1")),
            Logged::Op(Op::Set(json(r#""t""#))),
            Logged::Op(Op::Set(json("4"))),
        ]
    );
}

/// `#[reducer(Transient)]` without `#[state(transient)]` used to be logged. The reducer decides.
#[test]
fn the_reducer_transient_is_never_logged() {
    let update = Essay::update().session(9).set_session(10);
    assert_eq!(log::<Essay>(&update), []);
    let session = Essay::SESSION.id();
    let error = essay().encode_field(session).unwrap_err();
    assert_eq!(error.to_string(), "the field `session` is not stored");
    let mut essay = essay();
    apply(&mut essay, update);
    assert_eq!(essay.session, 10);
    assert_eq!(essay.clone().overwrite().writes().len(), 7);
}
