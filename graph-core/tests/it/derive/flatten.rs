//! `#[state(flatten)]`: a state inside a state.

use superstep::reducer::{Append, Sum};
use superstep::state::{FieldId, FieldWrite, State, StateUpdate, Update, WriteKind};

use super::{after, log};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Chat {
    #[reducer(Append)]
    messages: Vec<String>,
    #[serde(alias = "mood")]
    tone: String,
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Costs {
    #[reducer(Sum)]
    tokens: u64,
    #[state(flatten)]
    chat: Chat,
    #[state(transient)]
    scratch: u8,
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Essay {
    topic: String,
    #[state(flatten)]
    #[serde(rename = "talk")]
    chat: Chat,
    draft: String,
    #[state(flatten)]
    costs: Costs,
    #[state(flatten)]
    review: Chat,
    last: u8,
}

#[test]
fn fields_are_numbered_through_and_named_by_path() {
    let schema = Essay::schema();
    let names: Vec<_> = schema.fields.iter().map(|field| field.name.as_str()).collect();
    let expected = [
        "topic",
        "talk.messages",
        "talk.tone",
        "draft",
        "costs.tokens",
        "costs.chat.messages",
        "costs.chat.tone",
        "costs.scratch",
        "review.messages",
        "review.tone",
        "last",
    ];
    assert_eq!(names, expected);
    assert_eq!(usize::from(Essay::FIELDS), expected.len());
    assert_eq!(schema.fields[2].aliases, ["talk.mood"]);
    assert_eq!(schema.fields[5].reducer, "Append");
}

fn full() -> Essay {
    let chat = |text: &str| Chat { messages: vec![text.to_owned()], tone: format!("{text}!") };
    Essay {
        topic: "t".to_owned(),
        chat: chat("a"),
        draft: "d".to_owned(),
        costs: Costs { tokens: 3, chat: chat("b"), scratch: 0 },
        review: chat("c"),
        last: 9,
    }
}

#[test]
fn every_field_survives_a_round_trip() {
    let (full, mut read) = (full(), Essay::default());
    for field in Essay::schema().ids().filter(|field| *field != FieldId(7)) {
        read.decode_field(field, &full.encode_field(field).unwrap()).unwrap();
    }
    assert_eq!(read, full);
    assert!(full.encode_field(FieldId(7)).is_err());
    assert!(full.encode_field(FieldId(11)).is_err());
    for field in Essay::schema().ids() {
        read.reset_field(field);
    }
    assert_eq!(read, Essay::default());
}

#[test]
fn an_update_of_the_inner_state_is_one_of_the_outer() {
    let update = Essay::update()
        .topic("t")
        .chat(Chat::update().messages(["a"]).set_tone("x"))
        .costs(Costs::update().tokens(2).chat(Chat::update().messages(["b"])))
        .review(Chat::update().messages(["c"]))
        .last(1);
    let shapes: Vec<_> = update.writes().iter().map(|write| (write.field().0, write.kind())).collect();
    let (reduce, overwrite) = (WriteKind::Reduce, WriteKind::Overwrite);
    assert_eq!(
        shapes,
        [(0, reduce), (1, reduce), (2, overwrite), (4, reduce), (5, reduce), (8, reduce), (10, reduce)]
    );
    let ids: Vec<_> = log::<Essay>(&update).iter().map(|write| write.field.0).collect();
    assert_eq!(ids, [0, 1, 2, 4, 5, 8, 10]);

    let essay = after(full(), update);
    assert_eq!(
        (&*essay.chat.messages, essay.chat.tone.as_str()),
        (&["a".to_owned(), "a".to_owned()][..], "x")
    );
    assert_eq!((essay.costs.tokens, essay.costs.chat.messages.len()), (5, 2));
    assert_eq!((essay.review.messages.len(), essay.last), (2, 1));
}

#[test]
fn a_whole_state_overwrites_what_it_embeds() {
    let writes = full().overwrite();
    assert_eq!(writes.writes().len(), usize::from(Essay::FIELDS));
    let ids: Vec<_> = writes.writes().iter().map(|write| write.field().0).collect();
    assert_eq!(ids, (0..Essay::FIELDS).collect::<Vec<_>>());
    assert!(writes.writes().iter().all(|write| write.kind() == WriteKind::Overwrite));
    let other = after(Essay::default(), Essay::update().chat(Chat::update().messages(["z"])));
    assert_eq!(after(other, writes), full());
}

#[test]
fn set_overwrites_the_inner_state() {
    let essay = after(full(), Essay::update().set_review(Chat::default()));
    assert_eq!(essay, Essay { review: Chat::default(), ..full() });
}

/// A prebuilt node that only has a handle.
fn greet<S: State>(state: &S, messages: &superstep::state::Field<S, Vec<String>>) -> Update<S> {
    messages.write(vec![format!("hello, {}", messages.get(state).len())])
}

#[test]
fn handles_compose() {
    let outer = Chat::MESSAGES.within(Essay::CHAT);
    let nested = Chat::MESSAGES.within(Costs::CHAT).within(Essay::COSTS);
    assert_eq!((outer.id(), nested.id()), (FieldId(1), FieldId(5)));
    assert_eq!(Chat::TONE.within(Essay::REVIEW).id(), FieldId(9));
    assert_eq!(Essay::LAST.id(), FieldId(10));

    let state = full();
    let update = greet(&state, &outer).and(greet(&state, &nested));
    let essay = after(state, update);
    assert_eq!(essay.chat.messages, ["a", "hello, 1"]);
    assert_eq!(essay.costs.chat.messages, ["b", "hello, 1"]);
    assert_eq!(nested.get(&essay), &essay.costs.chat.messages);
}
