//! `Essay::update()` and its setters.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde::{Deserialize, Serialize};
use superstep::node::IntoOutcome;
use superstep::reducer::{
    Any, Append, Ephemeral, Keyed, KeyedLog, LogWrite, MapWrite, Max, Merge, Min, Reducer, SetWrite, Sum,
    Union,
};
use superstep::state::{FieldWrite, Input, IntoInput, State, StateUpdate, WriteKind};

use super::{after, apply};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Note {
    id: String,
    text: String,
}

impl Keyed for Note {
    fn id(&self) -> &str {
        &self.id
    }
}

fn note(id: &str, text: &str) -> Note {
    Note { id: id.to_owned(), text: text.to_owned() }
}

/// Keeps the longest text.
#[derive(Clone, Copy)]
struct Longest;

impl Reducer<String> for Longest {
    type Write = String;

    fn reduce(current: &mut String, write: String) {
        if write.len() > current.len() {
            *current = write;
        }
    }
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Essay {
    topic: String,
    subtitle: Option<String>,
    revision: u64,
    score: f64,
    lines: Vec<String>,
    origin: Option<u32>,
    #[reducer(Append)]
    facts: Vec<String>,
    #[reducer(Append)]
    pages: Vec<u32>,
    #[reducer(Merge)]
    sources: BTreeMap<String, u32>,
    #[reducer(Merge)]
    links: HashMap<String, String>,
    #[reducer(Union)]
    tags: BTreeSet<String>,
    #[reducer(Union)]
    marks: HashSet<u8>,
    #[reducer(Sum)]
    cost: u64,
    #[reducer(Max)]
    best: i32,
    #[reducer(Min)]
    worst: i32,
    #[reducer(Any)]
    any: String,
    #[reducer(Ephemeral)]
    hint: String,
    #[reducer(KeyedLog)]
    notes: Vec<Note>,
    #[reducer(Longest)]
    title: String,
}

#[test]
fn a_setter_takes_what_reads_well() {
    let update = Essay::update()
        .topic("Rust")
        .topic(String::from("Rust"))
        .subtitle("a text")
        .subtitle(String::from("a text"))
        .subtitle(Some(String::from("a text")))
        .revision(1)
        .score(0.5)
        .lines(["a", "b"])
        .lines(vec![String::from("a")])
        .origin(7)
        .origin(None)
        .facts(["a", "b"])
        .facts([String::from("c")])
        .pages([1, 2])
        .sources([("a", 1), ("b", 2)])
        .sources(BTreeMap::from([(String::from("c"), 3)]))
        .sources(MapWrite::remove([String::from("a")]))
        .links([("a", "b")])
        .tags(["x", "y"])
        .tags(SetWrite::remove([String::from("x")]))
        .marks([1, 2])
        .cost(2)
        .cost(3)
        .best(-1)
        .worst(-1)
        .any("any")
        .hint("hint")
        .notes(note("1", "one"))
        .notes([note("2", "two"), note("1", "uno")])
        .notes(LogWrite::remove(["2"]))
        .title("long")
        .title("a");
    let essay = after(Essay::default(), update);

    assert_eq!(essay.topic, "Rust");
    assert_eq!(essay.subtitle.as_deref(), Some("a text"));
    assert_eq!((essay.revision, essay.score, essay.origin), (1, 0.5, None));
    assert_eq!(essay.lines, ["a"]);
    assert_eq!(essay.facts, ["a", "b", "c"]);
    assert_eq!(essay.pages, [1, 2]);
    assert_eq!(essay.sources, BTreeMap::from([("b".to_owned(), 2), ("c".to_owned(), 3)]));
    assert_eq!(essay.links["a"], "b");
    assert_eq!(essay.tags, BTreeSet::from(["y".to_owned()]));
    assert_eq!(essay.marks, HashSet::from([1, 2]));
    assert_eq!((essay.cost, essay.best, essay.worst), (5, 0, -1));
    assert_eq!((essay.any.as_str(), essay.hint.as_str()), ("any", "hint"));
    assert_eq!(essay.notes, [note("1", "uno")]);
    assert_eq!(essay.title, "long");
}

#[test]
fn set_overwrites_whatever_the_reducer() {
    let essay = after(Essay::default(), Essay::update().facts(["a"]).cost(2).title("long").tags(["x"]));
    let update =
        Essay::update().set_facts(["z"]).set_cost(1).set_title("t").set_topic("T").set_tags(BTreeSet::new());
    assert!(update.writes().iter().all(|write| write.kind() == WriteKind::Overwrite));
    let essay = after(essay, update);
    assert_eq!((essay.facts, essay.cost), (vec!["z".to_owned()], 1));
    assert_eq!((essay.title.as_str(), essay.topic.as_str()), ("t", "T"));
    assert!(essay.tags.is_empty());
}

#[test]
fn clear_returns_a_field_to_its_initial_value() {
    #[derive(State, Clone, Debug, PartialEq)]
    struct Limits {
        #[reducer(Min)]
        least: u32,
        #[reducer(Append)]
        seen: Vec<u32>,
    }

    impl Default for Limits {
        fn default() -> Self {
            Self { least: u32::MAX, seen: vec![0] }
        }
    }

    let limits = after(Limits::initial(), Limits::update().least(3).seen([1]));
    assert_eq!(limits, Limits { least: 3, seen: vec![0, 1] });
    assert_eq!(after(limits, Limits::update().clear_least().clear_seen()), Limits::default());
}

#[test]
fn writes_keep_the_order_in_which_they_were_made() {
    let first = Essay::update().facts(["a"]).topic("one");
    let second = Essay::update().topic("two").facts(["b"]);
    let update = first.and(second);
    let kinds: Vec<_> = update.writes().iter().map(|write| (write.field().0, write.kind())).collect();
    assert_eq!(
        kinds,
        [(6, WriteKind::Reduce), (0, WriteKind::Reduce), (0, WriteKind::Reduce), (6, WriteKind::Reduce)]
    );
    let essay = after(Essay::default(), update);
    assert_eq!((essay.topic.as_str(), essay.facts.len()), ("two", 2));
}

#[test]
fn a_state_overwrites_and_an_update_reduces() {
    let before = after(Essay::default(), Essay::update().facts(["old"]).cost(5));
    let whole = Essay { topic: "new".to_owned(), facts: vec!["new".to_owned()], cost: 1, ..Essay::default() };

    let Input::State(update) = whole.clone().into_input() else { panic!("a state is a whole input") };
    assert_eq!(update.writes().len(), usize::from(Essay::FIELDS));
    assert_eq!(after(before.clone(), update), whole);

    let Input::Update(update) = Essay::update().cost(1).into_input() else {
        panic!("an update is a partial input")
    };
    assert_eq!(after(before, update).cost, 6);
}

#[test]
fn an_update_is_what_a_node_returns() {
    let output = IntoOutcome::<Essay>::into_outcome(Essay::update().topic("Rust")).unwrap();
    let mut essay = Essay::default();
    apply(&mut essay, output.update.unwrap());
    assert_eq!(essay.topic, "Rust");
    let () = output.route;
}

#[test]
fn an_update_shows_its_writes() {
    let update = Essay::update().topic("Rust").facts(["a"]).cost(2).set_cost(3).title("t");
    assert_eq!(
        format!("{update:?}"),
        r#"EssayUpdate [topic: "Rust", facts: extend ["a"], cost: 2, set cost: 3, title: "t"]"#
    );
}

/// JSON values are written in the same way as by the field's setter.
#[test]
fn an_update_is_made_from_json() {
    let given = serde_json::json!({
        "topic": "Rust", "subtitle": null, "revision": 2, "facts": ["a", "b"], "sources": { "x": 1 },
        "links": { "a": "b" }, "tags": ["x"], "marks": [1], "cost": 2, "best": 7, "any": "any", "hint": "hint",
        "notes": [{ "id": "n", "text": "t" }], "title": "longest",
    });
    let set = Essay::update().topic("Rust").subtitle(None::<String>).revision(2).facts(["a", "b"]);
    let set = set.sources([("x", 1)]).links([("a", "b")]).tags(["x"]).marks([1]).cost(2).best(7);
    let set = set.any("any").hint("hint").notes([note("n", "t")]).title("longest");
    let update = Essay::initial().update_from(&given).unwrap();
    assert_eq!(after(Essay::default(), update), after(Essay::default(), set));

    let refused = |given| Essay::initial().update_from(&given).unwrap_err().to_string();
    assert_eq!(
        refused(serde_json::json!({ "fact": [] })),
        r#"the state has no field "fact"; did you mean "facts"?"#
    );
    assert!(
        refused(serde_json::json!({ "facts": [1] }))
            .starts_with(r#"field "facts": invalid type: integer `1`"#)
    );
    assert!(refused(serde_json::json!([])).starts_with("an update is an object"));
}
