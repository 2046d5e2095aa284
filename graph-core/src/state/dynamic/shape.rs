//! The shapes of values: the supported keywords of JSON Schema in a field's description.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::{Map, Value, json};

use super::place::{Place, Problems, brief, suggestion};

/// The keywords that describe a shape.
pub(super) const KEYWORDS: [&str; 9] = [
    "type",
    "enum",
    "items",
    "properties",
    "required",
    "additionalProperties",
    "minimum",
    "maximum",
    "description",
];

/// The shape of a value, read from a description.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Shape {
    /// The allowed types; empty for any type.
    kinds: Vec<Kind>,
    allowed: Option<Vec<Value>>,
    items: Option<Box<Self>>,
    members: BTreeMap<String, Self>,
    required: Vec<String>,
    /// `true` if an object may have no members other than the described ones.
    closed: bool,
    /// `true` if error messages must not show the value.
    secret: bool,
    minimum: Option<f64>,
    maximum: Option<f64>,
}

/// The types of JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

const KINDS: [(&str, Kind); 7] = [
    ("null", Kind::Null),
    ("boolean", Kind::Boolean),
    ("integer", Kind::Integer),
    ("number", Kind::Number),
    ("string", Kind::String),
    ("array", Kind::Array),
    ("object", Kind::Object),
];

impl Kind {
    pub(super) fn name(self) -> &'static str {
        KINDS.iter().find(|(_, kind)| *kind == self).map_or("any", |(name, _)| name)
    }

    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }

    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Null => value.is_null(),
            Self::Boolean => value.is_boolean(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::String => value.is_string(),
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
        }
    }
}

impl Shape {
    /// Reads the keywords at a place. The caller checks for unknown keywords.
    pub(super) fn read(place: &Place<'_>, problems: &mut Problems) -> Self {
        let mut shape = Self::default();
        for kind in place.member("type").iter().flat_map(Place::items) {
            let Some(name) = kind.text(problems) else { continue };
            match KINDS.iter().find(|(known, _)| *known == name) {
                Some((_, kind)) => shape.kinds.push(*kind),
                None => {
                    let meant = suggestion(name, KINDS.map(|(name, _)| name));
                    problems.add(&kind, format!("there is no type {name:?}{meant}"));
                }
            }
        }
        if let Some(allowed) = place.member("enum") {
            shape.allowed = Some(allowed.items().iter().map(|item| item.value.clone()).collect());
        }
        shape.items = place.member("items").map(|items| Box::new(Self::nested(&items, problems)));
        for (name, member) in place.member("properties").map(|at| at.members(problems)).unwrap_or_default() {
            shape.members.insert(name.to_string(), Self::nested(&member, problems));
        }
        for name in place.member("required").iter().flat_map(Place::items) {
            shape.required.extend(name.text(problems).map(ToString::to_string));
        }
        let open = place.member("additionalProperties").and_then(|open| open.truth(problems));
        shape.closed = open == Some(false);
        shape.minimum = place.member("minimum").and_then(|number| number.number(problems));
        shape.maximum = place.member("maximum").and_then(|number| number.number(problems));
        shape
    }

    /// Returns the shape as the JSON Schema from which it was read.
    pub(super) fn to_schema(&self) -> Value {
        let mut schema = Map::new();
        let names: Vec<&str> = self.kinds.iter().map(|kind| kind.name()).collect();
        match &*names {
            [] => None,
            [only] => schema.insert("type".into(), json!(only)),
            _ => schema.insert("type".into(), json!(names)),
        };
        let members = self.members.iter().map(|(name, shape)| (name.clone(), shape.to_schema()));
        let members: Map<String, Value> = members.collect();
        let keywords = [
            ("enum", self.allowed.as_ref().map(|allowed| json!(allowed))),
            ("items", self.items.as_ref().map(|items| items.to_schema())),
            ("properties", (!members.is_empty()).then_some(Value::Object(members))),
            ("required", (!self.required.is_empty()).then(|| json!(self.required))),
            ("additionalProperties", self.closed.then_some(Value::Bool(false))),
            ("minimum", self.minimum.map(|minimum| json!(minimum))),
            ("maximum", self.maximum.map(|maximum| json!(maximum))),
        ];
        schema.extend(keywords.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?))));
        Value::Object(schema)
    }

    /// Returns the same shape for secret values.
    pub(super) fn of_secrets(mut self) -> Self {
        self.secret = true;
        self
    }

    fn nested(place: &Place<'_>, problems: &mut Problems) -> Self {
        place.known(&KEYWORDS, problems);
        Self::read(place, problems)
    }

    /// Returns `true` if a value may have the type.
    pub(super) fn may_be(&self, kind: Kind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }

    /// Returns `true` if the items are described, and their description has no such member.
    pub(super) fn items_lack(&self, member: &str) -> bool {
        self.items.as_ref().is_some_and(|items| {
            let described = items.closed || !items.members.is_empty();
            !items.may_be(Kind::Object) || (described && !items.members.contains_key(member))
        })
    }

    /// Returns the allowed values, if they are listed.
    pub(super) fn allowed(&self) -> Option<&[Value]> {
        self.allowed.as_deref()
    }

    /// Returns the type of the values, if there is only one.
    pub(super) fn kind(&self) -> Option<Kind> {
        match self.kinds.as_slice() {
            [kind] => Some(*kind),
            _ => None,
        }
    }

    /// Returns the value of a field before the first write.
    pub(super) fn empty(&self) -> Value {
        match self.kind() {
            Some(Kind::Boolean) => false.into(),
            Some(Kind::Integer) => 0.into(),
            Some(Kind::Number) => 0.0.into(),
            Some(Kind::String) => "".into(),
            Some(Kind::Array) => Value::Array(Vec::new()),
            Some(Kind::Object) => Value::Object(serde_json::Map::new()),
            Some(Kind::Null) | None => Value::Null,
        }
    }

    /// Returns the types as text for a message.
    pub(super) fn name(&self) -> String {
        match self.kinds.as_slice() {
            [] => "any".into(),
            kinds => kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(" or "),
        }
    }

    /// Returns the reason why a value does not fit, if it does not. For a secret value, the reason only states what
    /// was expected of the whole value.
    pub(super) fn check(&self, value: &Value) -> Result<(), String> {
        let fits = self.check_at(value, &mut String::new());
        if self.secret { fits.map_err(|_| self.expectation()) } else { fits }
    }

    /// Returns the expectation for a secret value. The path inside the value is left out, because it is part of the
    /// secret.
    fn expectation(&self) -> String {
        match self.kinds.as_slice() {
            [] => "the value, which is secret, does not fit".into(),
            _ => format!("the value, which is secret, does not fit; expected {}", self.name()),
        }
    }

    fn check_at(&self, value: &Value, path: &mut String) -> Result<(), String> {
        let misfit = |expected: String| {
            let at = if path.is_empty() { String::new() } else { format!("at {path}: ") };
            Err(format!("{at}expected {expected}, found {}", brief(value)))
        };
        if !self.kinds.is_empty() && !self.kinds.iter().any(|kind| kind.fits(value)) {
            return misfit(self.name());
        }
        if let Some(allowed) = &self.allowed
            && !allowed.contains(value)
        {
            let allowed: Vec<String> = allowed.iter().map(Value::to_string).collect();
            return misfit(format!("one of {}", allowed.join(", ")));
        }
        if let Some(number) = value.as_f64() {
            if self.minimum.is_some_and(|least| number < least) {
                return misfit(format!("at least {}", self.minimum.unwrap_or_default()));
            }
            if self.maximum.is_some_and(|most| number > most) {
                return misfit(format!("at most {}", self.maximum.unwrap_or_default()));
            }
        }
        match value {
            Value::Array(items) => self.check_items(items, path),
            Value::Object(members) => self.check_members(members, path),
            _ => Ok(()),
        }
    }

    fn check_items(&self, items: &[Value], path: &mut String) -> Result<(), String> {
        let Some(shape) = &self.items else { return Ok(()) };
        let length = path.len();
        for (index, item) in items.iter().enumerate() {
            path.push_str(&format!("[{index}]"));
            shape.check_at(item, path)?;
            path.truncate(length);
        }
        Ok(())
    }

    fn check_members(
        &self,
        members: &serde_json::Map<String, Value>,
        path: &mut String,
    ) -> Result<(), String> {
        let at = if path.is_empty() { String::new() } else { format!("at {path}: ") };
        if let Some(missing) = self.required.iter().find(|name| !members.contains_key(name.as_str())) {
            return Err(format!("{at}the member {missing:?} is missing"));
        }
        let length = path.len();
        for (name, value) in members {
            match self.members.get(name) {
                Some(shape) => {
                    path.push_str(&format!(".{name}"));
                    shape.check_at(value, path)?;
                    path.truncate(length);
                }
                None if self.closed => {
                    let meant = suggestion(name, self.members.keys().map(String::as_str));
                    return Err(format!("{at}there is no member {name:?}{meant}"));
                }
                None => {}
            }
        }
        Ok(())
    }
}
