//! Inserts a value at a path of a JSON text.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use superstep_core::state::Json;

use super::path::{Path, Segment, text_of};

/// An error for a path at which no value can be inserted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path} leads nowhere: {reached} is {found}")]
pub struct InsertError {
    /// The path.
    pub path: Path,
    /// The longest part of the path that exists.
    pub reached: Path,
    /// A description of the value there.
    pub found: String,
}

impl Path {
    /// Returns `whole` with `value` at this path: it replaces an existing value, becomes a new member of an object, or
    /// is appended to a list. The rest of the text stays unchanged, byte by byte.
    ///
    /// ```
    /// # use superstep_inspect::Path;
    /// # use superstep_core::state::Json;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let path: Path = "facts[0].done".parse()?;
    /// let inserted = path.insert(&Json::parse(r#"{"facts":[{"n":1.50}]}"#)?, &Json::parse("true")?)?;
    /// assert_eq!(inserted.as_str(), r#"{"facts":[{"n":1.50,"done":true}]}"#);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the object or list that should contain the value does not exist.
    pub fn insert(&self, whole: &Json, value: &Json) -> Result<Json, InsertError> {
        let put = self.insert_into(0, whole.as_str(), value)?;
        Ok(Json::parse(put).expect("JSON with JSON put into it is JSON"))
    }

    /// Inserts the value into `part`, to which the first `steps` steps of the path lead.
    fn insert_into(&self, steps: usize, part: &str, value: &Json) -> Result<String, InsertError> {
        let Some(segment) = self.segments().get(steps) else {
            return Ok(value.as_str().to_owned());
        };
        let last = steps + 1 == self.segments().len();
        let nowhere = |found: String| InsertError {
            path: self.clone(),
            reached: self.segments()[..steps].iter().cloned().collect(),
            found,
        };
        let raw = |text: String| RawValue::from_string(text).expect("it was put together from JSON");
        match Level::of(part) {
            Level::Object(mut members) => {
                let Segment::Key(key) = segment else { return Err(nowhere("an object".into())) };
                match members.iter().rposition(|(name, _)| name == key) {
                    Some(at) => {
                        members[at].1 = raw(self.insert_into(steps + 1, members[at].1.get(), value)?);
                    }
                    None if last => members.push((key.clone(), raw(value.as_str().to_owned()))),
                    None => return Err(nowhere(format!("an object without {key:?}"))),
                }
                Ok(text(&Members(members)))
            }
            Level::List(mut items) => {
                let is_end = match segment {
                    Segment::Index(at) => *at == items.len(),
                    Segment::Key(at) => at.parse() == Ok(items.len()),
                    Segment::Item(_) => false,
                };
                match segment.position(&items, |item| id_of(item)) {
                    Some(at) => items[at] = raw(self.insert_into(steps + 1, items[at].get(), value)?),
                    None if last && is_end => items.push(raw(value.as_str().to_owned())),
                    None => {
                        let which = match segment {
                            Segment::Item(id) => format!(" and none has the id {id}"),
                            _ => String::new(),
                        };
                        let ending = if items.len() == 1 { "" } else { "s" };
                        return Err(nowhere(format!("a list of {} item{ending}{which}", items.len())));
                    }
                }
                Ok(text(&items))
            }
            Level::Other(kind) => Err(nowhere(kind.into())),
        }
    }
}

fn text<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("JSON texts have a JSON form")
}

fn id_of(item: &RawValue) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Id {
        id: Value,
    }
    let held: Id = serde_json::from_str(item.get()).ok()?;
    Some(text_of(&held.id))
}

/// The outermost level of a JSON text.
enum Level {
    Object(Vec<(String, Box<RawValue>)>),
    List(Vec<Box<RawValue>>),
    Other(&'static str),
}

impl Level {
    fn of(part: &str) -> Self {
        const VALID: &str = "the text is JSON";
        match part.trim_start().as_bytes().first() {
            Some(b'{') => {
                let Members(members) = serde_json::from_str(part).expect(VALID);
                Self::Object(members)
            }
            Some(b'[') => Self::List(serde_json::from_str(part).expect(VALID)),
            Some(b'"') => Self::Other("a text"),
            Some(b't' | b'f') => Self::Other("true or false"),
            Some(b'n') => Self::Other("null"),
            _ => Self::Other("a number"),
        }
    }
}

/// The members of an object, in their order.
struct Members(Vec<(String, Box<RawValue>)>);

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text).unwrap()
    }

    fn put(whole: &str, path: &str, value: &str) -> Result<String, String> {
        let put = path.parse::<Path>().unwrap().insert(&json(whole), &json(value));
        put.map(|put| put.as_str().to_owned()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_beside_the_place_keeps_its_letters() {
        let whole = r#"{"z":340282366920938463463374607431768211455,"a":[{"id":7,"x":1.0},{"id":"7"}]}"#;
        let ok = |path: &str, value: &str| put(whole, path, value).unwrap();
        assert_eq!(ok("a[id=7].x", "null"), whole.replace("1.0", "null"));
        assert_eq!(ok(r#"a[id="7"].y"#, "[]"), whole.replace(r#""7"}"#, r#""7","y":[]}"#));
        assert_eq!(ok("a[2]", "3"), whole.replace("}]}", "},3]}"));
        assert_eq!(ok("/a/0", "3"), whole.replace(r#"{"id":7,"x":1.0}"#, "3"));
        assert_eq!(ok("b", "{}"), whole.replace("}]}", r#"}],"b":{}}"#));
        assert_eq!(ok(".", "1"), "1");
    }

    #[test]
    fn a_place_that_is_nowhere_is_reported_with_how_far_it_leads() {
        let error = |path: &str| put(r#"{"a":[{"x":1}],"t":"","n":null}"#, path, "1").unwrap_err();
        assert_eq!(error("b.c"), r#"b.c leads nowhere: . is an object without "b""#);
        assert_eq!(error("a[0].y.z"), r#"a[0].y.z leads nowhere: a[0] is an object without "y""#);
        assert_eq!(error("a[2]"), "a[2] leads nowhere: a is a list of 1 item");
        assert_eq!(
            error("a[id=x]"),
            r#"a[id="x"] leads nowhere: a is a list of 1 item and none has the id "x""#
        );
        assert_eq!(error("a[0].x.y"), "a[0].x.y leads nowhere: a[0].x is a number");
        assert_eq!(error("t.x"), "t.x leads nowhere: t is a text");
        assert_eq!(error("n[0]"), "n[0] leads nowhere: n is null");
        assert_eq!(error("[0]"), "[0] leads nowhere: . is an object");
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            "[a-c]{0,2}".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 24, 3, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                proptest::collection::btree_map("[a-c]", inner, 0..3)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    fn paths() -> impl Strategy<Value = Path> {
        let segment = prop_oneof!["[a-c]".prop_map(Segment::Key), (0_usize..3).prop_map(Segment::Index)];
        proptest::collection::vec(segment, 0..4).prop_map(Path::from_iter)
    }

    proptest! {
        #[test]
        fn what_was_put_is_there_and_nothing_else_has_changed(whole in values(), path in paths(), value in values()) {
            if let Ok(put) = path.insert(&json(&whole.to_string()), &json(&value.to_string())) {
                let put: Value = put.decode().unwrap();
                prop_assert_eq!(path.get(&put), Some(&value));
                for difference in crate::diff(&whole, &put) {
                    let place = &difference.path;
                    prop_assert!(place.is_within(&path) || path.is_within(place), "{place} of {path}");
                }
            } else {
                prop_assert_eq!(path.get(&whole), None);
            }
        }
    }
}
