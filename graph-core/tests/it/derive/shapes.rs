//! Unusual states.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use superstep::reducer::{Append, Sum};
use superstep::state::{FieldId, FieldWrite, Json, Lifetime, Logged, LoggedWrite, Op, State, StateUpdate};

use super::{after, apply, log};

#[test]
fn a_state_may_be_empty() {
    #[derive(State, Clone, Debug, Default, PartialEq)]
    struct Empty {}

    assert_eq!((Empty::FIELDS, Empty::schema().fields.len()), (0, 0));
    let mut empty = after(Empty {}, Empty::update());
    empty.reset_field(FieldId(0));
    assert!(empty.encode_field(FieldId(0)).is_err());
    assert!(StateUpdate::writes(&empty.overwrite()).is_empty());
}

/// A type that implements neither `Serialize` nor `PartialEq`.
#[derive(Clone, Debug, Default)]
struct Counter(Arc<AtomicU32>);

#[derive(State, Clone, Debug, Default)]
struct Session {
    name: String,
    #[state(transient)]
    #[serde(skip)]
    counter: Counter,
}

#[test]
fn a_transient_field_needs_no_serde() {
    let mut session = Session::default();
    let counter = Counter::default();
    let update = Session::update().counter(counter.clone()).name("a");
    assert_eq!(log::<Session>(&update).len(), 1);
    apply(&mut session, update);
    assert!(Arc::ptr_eq(&session.counter.0, &counter.0));

    let field = Session::COUNTER.id();
    assert_eq!(Session::schema().field(field).lifetime, Lifetime::Unstored);
    let message = "the field `counter` is not stored";
    assert_eq!(session.encode_field(field).unwrap_err().to_string(), message);
    assert_eq!(session.decode_field(field, &Json::null()).unwrap_err().to_string(), message);
    let logged = LoggedWrite { field, write: Logged::Op(Op::Set(Json::null())) };
    assert_eq!(<Session as State>::Write::decode(&logged).err().unwrap().to_string(), message);

    session.reset_field(field);
    assert!(!Arc::ptr_eq(&session.counter.0, &counter.0));
}

#[test]
fn a_secret_is_not_shown() {
    #[derive(State, Clone, Debug, Default, PartialEq)]
    struct Login {
        user: String,
        #[state(secret)]
        #[reducer(Append)]
        tokens: Vec<String>,
        #[state(secret, transient)]
        session: u32,
    }

    let schema = Login::schema();
    assert_eq!(schema.fields.iter().map(|field| field.secret).collect::<Vec<_>>(), [false, true, true]);
    let update = Login::update().user("me").tokens(["hunter2"]).session(12345);
    assert_eq!(format!("{update:?}"), r#"LoginUpdate [user: "me", tokens: <secret>, session: <secret>]"#);
    assert_eq!(log::<Login>(&update).len(), 2, "secret values are stored, not shown");
}

#[test]
fn a_handle_reads_and_writes_its_field() {
    #[derive(State, Clone, Debug, Default, PartialEq)]
    struct Essay {
        draft: String,
        #[reducer(Sum)]
        cost: u64,
    }

    let essay = after(Essay::default(), Essay::DRAFT.write("a".to_owned()).and(Essay::COST.write(2)));
    let essay = after(essay, Essay::COST.write(3));
    assert_eq!((Essay::DRAFT.get(&essay).as_str(), *Essay::COST.get(&essay)), ("a", 5));
    assert_eq!(after(essay, Essay::COST.set(1)).cost, 1);
    assert_eq!((Essay::DRAFT.id(), Essay::COST.id()), (FieldId(0), FieldId(1)));
    assert_eq!(format!("{:?}", Essay::COST.clone()), "Field(1: cost)");
}
