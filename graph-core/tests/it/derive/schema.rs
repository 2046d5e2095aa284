//! The schema and its fingerprint.

use std::collections::BTreeMap;

use superstep::reducer::{Append, Merge, Sum};
use superstep::state::{Lifetime, State, Writers};

macro_rules! fingerprint {
    ($($field:tt)*) => {{
        #[derive(State, Clone, Default)]
        struct Essay { $($field)* }
        Essay::schema().fingerprint()
    }};
}

#[test]
fn a_schema_describes_the_source() {
    #[derive(State, Clone, Default)]
    struct Essay {
        topic: String,
        #[reducer(Merge)]
        #[serde(rename = "refs", alias = "sources", alias = "links")]
        by_name: BTreeMap<String, (u8, u16)>,
        #[reducer(superstep::reducer::Ephemeral)]
        #[state(secret)]
        hint: Option<String>,
    }

    let schema = Essay::schema();
    assert_eq!((schema.name.as_str(), Essay::FIELDS), ("Essay", 3));
    let [topic, refs, hint] = schema.fields.as_slice() else { panic!("three fields") };

    assert_eq!((topic.name.as_str(), topic.rust_type.as_str()), ("topic", "String"));
    assert_eq!(
        (topic.reducer.as_str(), topic.writers, topic.lifetime),
        ("LastValue", Writers::One, Lifetime::Stored)
    );
    assert!(topic.aliases.is_empty() && !topic.secret);

    assert_eq!((refs.name.as_str(), refs.rust_type.as_str()), ("refs", "BTreeMap<String, (u8, u16)>"));
    assert_eq!((refs.reducer.as_str(), refs.writers), ("Merge", Writers::Many));
    assert_eq!(refs.aliases, ["sources", "links"]);

    assert_eq!((hint.reducer.as_str(), hint.lifetime), ("superstep::reducer::Ephemeral", Lifetime::OneStep));
    assert!(hint.secret);
    assert_eq!(Essay::BY_NAME.name(), "refs");
}

#[test]
fn a_fingerprint_changes_with_fields_and_reducers_only() {
    let base = fingerprint!(#[reducer(Append)] facts: Vec<String>, cost: u64);
    let same = [
        fingerprint!(#[reducer( Append )] facts: Vec < String >, cost: u64,),
        fingerprint!(
            /// Documented.
            #[reducer(Append)] pub facts: Vec<String>, #[serde(default)] pub(crate) cost: u64),
        fingerprint!(#[reducer(Append)] #[serde(rename = "facts")] findings: Vec<String>, cost: u64),
    ];
    assert_eq!(same, [base; 3]);

    let other = [
        fingerprint!(facts: Vec<String>, cost: u64),
        fingerprint!(#[reducer(Append)] facts: Vec<String>, #[reducer(Sum)] cost: u64),
        fingerprint!(#[reducer(Append)] facts: Vec<String>, cost: u32),
        fingerprint!(#[reducer(Append)] facts: Vec<String>, price: u64),
        fingerprint!(cost: u64, #[reducer(Append)] facts: Vec<String>),
        fingerprint!(#[reducer(Append)] facts: Vec<String>),
        fingerprint!(#[reducer(Append)] facts: Vec<String>, #[state(secret)] cost: u64),
        fingerprint!(#[reducer(Append)] facts: Vec<String>, #[serde(alias = "price")] cost: u64),
        fingerprint!(#[reducer(Append)] facts: Vec<String>, #[state(transient)] cost: u64),
    ];
    for (index, fingerprint) in other.iter().enumerate() {
        assert_ne!(*fingerprint, base, "case {index}");
        assert_eq!(other.iter().filter(|other| *other == fingerprint).count(), 1, "case {index}");
    }
}

/// A type that reaches the derive through a macro variable is wrapped in invisible delimiters.
#[test]
fn types_from_macros_are_written_as_usual() {
    macro_rules! state {
        ($name:ident, $ty:ty, $reducer:path) => {
            #[derive(State, Clone, Default)]
            struct $name {
                #[reducer($reducer)]
                values: $ty,
            }
        };
    }
    state!(Essay, Vec<String>, Append);
    let schema = Essay::schema();
    assert_eq!(schema.fields[0].rust_type, "Vec<String>");
    assert_eq!(schema.fields[0].reducer, "Append");
    assert!(Essay::default().values.is_empty());
}
