//! Tests of field ids, through the erased state.

use superstep::reducer::Append;
use superstep::state::{ErasedState, ErasedUpdate, FieldId, Indexes, State, WriteKind};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Essay {
    topic: String,
    #[reducer(Append)]
    facts: Vec<u8>,
}

#[test]
fn the_engine_sees_fields_by_id() {
    let mut essay = Essay::default();
    let update: Box<dyn ErasedUpdate> = Box::new(Essay::update().topic("a").facts([1]).set_facts([2]));
    assert_eq!(update.shape(0), (FieldId(0), WriteKind::Reduce));
    assert_eq!(update.shape(2), (FieldId(1), WriteKind::Overwrite));
    let logged = update.encode().unwrap();
    assert_eq!(logged.len(), 3);

    let erased: &mut dyn ErasedState = &mut essay;
    let read = erased.decode_update(&logged).unwrap();
    let mut indexes = Indexes::default();
    erased.apply(&mut indexes, update, &|index| index != 1);
    assert_eq!(erased.encode_field(FieldId(1)).unwrap().as_str(), "[2]");
    erased.apply(&mut indexes, read, &|index| index == 1);
    erased.reset_field(FieldId(0));
    erased.copy_field(FieldId(0), &Essay { topic: "b".into(), facts: vec![3] });
    assert_eq!(essay, Essay { topic: "b".into(), facts: vec![2, 1] });
}
