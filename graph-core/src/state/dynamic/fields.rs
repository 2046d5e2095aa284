//! The fields of a JSON state.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Map, Value, json};

use super::place::{Found, Place, Problems, suggestion};
use super::reducer::{JsonReducer, NAMES};
use super::shape::{KEYWORDS, Kind, Shape};
use super::update::{JsonUpdate, JsonWrite};
use crate::reducer::KeyedIndex;
use crate::state::{CodecError, FieldId, FieldSchema, Lifetime, Logged, Op, Schema};

/// The fields of a [`JsonState`](super::JsonState): their names, types, reducers and default values.
///
/// Fields are described by an object with one object per field. `type` and the other keywords are those of JSON
/// Schema (`type`, `enum`, `items`, `properties`, `required`, `additionalProperties`, `minimum`, `maximum`,
/// `description`). `reducer` names a built-in reducer, by default `last_value`. `default` is the value before the
/// first write, by default the empty value of the type. `secret` keeps values out of logs.
///
/// ```
/// use serde_json::json;
/// use superstep_core::state::JsonFields;
///
/// let fields = JsonFields::new("essay", &json!({
///     "topic": { "type": "string" },
///     "facts": { "type": "array", "items": { "type": "string" }, "reducer": "append" },
/// })).unwrap();
///
/// assert!(fields.update(&json!({ "facts": ["typed"] })).is_ok());
/// let error = fields.update(&json!({ "fact": [] })).unwrap_err();
/// assert_eq!(error.to_string(), r#"the state has no field "fact"; did you mean "facts"?"#);
/// let error = fields.update(&json!({ "facts": [1] })).unwrap_err();
/// assert_eq!(error.to_string(), r#"field "facts": at [0]: expected string, found 1"#);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JsonFields {
    schema: Schema,
    fields: Vec<JsonField>,
    /// `true` if the types of the fields are unknown.
    is_stored: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct JsonField {
    pub(super) shape: Shape,
    pub(super) reducer: JsonReducer,
    pub(super) default: Value,
}

/// A write that does not fit the fields of a JSON state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// The update is not an object with one member per field.
    #[error("an update is an object with a member per field, not {found}")]
    NotAnObject {
        /// The kind of value found instead.
        found: String,
    },
    /// The state has no such field.
    #[error("the state has no field {field:?}{meant}")]
    NoSuchField {
        /// The name.
        field: String,
        /// A suggestion of the nearest name, as a question; empty if no name is near.
        meant: String,
    },
    /// The value does not fit the field.
    #[error("field {field:?}: {reason}")]
    Misfit {
        /// The field.
        field: String,
        /// The expected and the actual value.
        reason: String,
    },
    /// The value does not fit the type of the input.
    #[error("{reason}")]
    Input {
        /// The reason.
        reason: String,
    },
}

impl JsonFields {
    /// Reads the fields from their description.
    ///
    /// # Errors
    /// Returns all mistakes in the description.
    pub fn new(name: &str, description: &Value) -> Result<Self, Vec<Found>> {
        let mut problems = Problems::default();
        let fields = Self::read(name, &Place::root(description), &mut problems);
        if problems.0.is_empty() { Ok(fields) } else { Err(problems.0) }
    }

    /// Reads the fields at a place, and reports their mistakes as problems.
    pub(crate) fn read(name: &str, place: &Place<'_>, problems: &mut Problems) -> Self {
        let mut fields =
            Self { schema: Schema { name: name.to_owned(), ..Schema::default() }, ..Self::default() };
        for (name, field) in place.members(problems) {
            if fields.fields.len() == usize::from(u16::MAX) {
                problems.add(place, "a state has at most 65,535 fields");
                break;
            }
            fields.add(name, &field, problems);
        }
        fields
    }

    /// Returns the fields of a stored schema, for reading without the program: they accept any value, and an unknown
    /// reducer counts as `last_value`.
    #[cfg(feature = "tokio")]
    pub(crate) fn stored(schema: Schema) -> Self {
        let fields = schema.fields.iter().map(|field| {
            let reducer = JsonReducer::written_as(&field.reducer).unwrap_or(JsonReducer::LastValue);
            JsonField { shape: Shape::default(), reducer, default: reducer.empty() }
        });
        Self { fields: fields.collect(), schema, is_stored: true }
    }

    fn add(&mut self, name: &str, place: &Place<'_>, problems: &mut Problems) {
        let known: Vec<&str> = KEYWORDS.into_iter().chain(["reducer", "default", "secret"]).collect();
        if place.known(&known, problems).is_none() {
            return;
        }
        let before = problems.0.len();
        let mut shape = Shape::read(place, problems);
        let whole = problems.0.len() == before;
        let reducer = match place.member("reducer") {
            None => JsonReducer::LastValue,
            // A field whose reducer is invalid keeps the default reducer, so that other parts can still name it.
            Some(reducer) => Self::reducer(&reducer, &shape, problems).unwrap_or(JsonReducer::LastValue),
        };
        let secret = place.member("secret").and_then(|secret| secret.truth(problems)).unwrap_or_default();
        if secret {
            shape = shape.of_secrets();
        }
        let default = place.member("default").map_or_else(|| shape.empty(), |default| default.value.clone());
        if whole && let Err(reason) = shape.check(&default) {
            let at = place.member("default").unwrap_or_else(|| place.clone());
            let whose = if place.member("default").is_some() {
                "the default"
            } else {
                "the field needs a default: its empty value"
            };
            problems.add(&at, format!("{whose} does not fit: {reason}"));
        }
        self.schema.fields.push(FieldSchema {
            name: name.to_owned(),
            aliases: Vec::new(),
            rust_type: shape.name(),
            reducer: NAMES
                .iter()
                .find(|(_, known)| *known == reducer)
                .map_or("", |(name, _)| name)
                .to_owned(),
            writers: reducer.writers(),
            lifetime: reducer.lifetime(),
            secret,
        });
        self.fields.push(JsonField { shape, reducer, default });
    }

    /// Returns the JSON Schema of a state with these fields; `None` if their types are unknown.
    pub(super) fn json_schema(&self) -> Option<Value> {
        if self.is_stored {
            return None;
        }
        let named = self.schema.fields.iter().zip(&self.fields);
        let properties = named.map(|(field, known)| (field.name.clone(), known.shape.to_schema()));
        let properties = properties.collect::<Map<_, _>>();
        Some(json!({ "type": "object", "title": self.schema.name, "properties": properties }))
    }

    fn reducer(place: &Place<'_>, shape: &Shape, problems: &mut Problems) -> Option<JsonReducer> {
        let name = place.text(problems)?;
        let Some(reducer) = JsonReducer::find(name) else {
            let meant = suggestion(name, NAMES.map(|(name, _)| name));
            problems.add(place, format!("there is no reducer {name:?}{meant}"));
            return None;
        };
        let fits = reducer.kinds();
        if !fits.is_empty() && !shape.kind().is_some_and(|kind| fits.contains(&kind)) {
            let fits: Vec<_> = fits.iter().map(|kind| kind.name()).collect();
            let reason = format!(
                "{name:?} is for fields of type {}, and this one is {}",
                fits.join(" or "),
                shape.name()
            );
            problems.add(place, reason);
            return None;
        }
        if reducer == JsonReducer::KeyedLog && shape.items_lack("id") {
            problems.add(
                place,
                format!("{name:?} finds items by their \"id\", and those of this field have none"),
            );
        }
        Some(reducer)
    }

    /// Returns `true` if a value of the field may be an array.
    pub(crate) fn may_hold_items(&self, field: FieldId) -> bool {
        self.fields[field.index()].shape.may_be(Kind::Array)
    }

    /// Returns the values listed for the field, as a branch names them; `None` if the field may have any value of
    /// its type.
    pub(crate) fn listed(&self, field: FieldId) -> Option<Vec<String>> {
        let allowed = self.fields[field.index()].shape.allowed()?.iter();
        Some(allowed.map(|value| value.as_str().map_or_else(|| format!("{value}"), str::to_owned)).collect())
    }

    /// Returns the schema of the fields.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns an update that writes the members of an object, each through the reducer of its field.
    ///
    /// # Errors
    /// Returns an error if a member names no field, or its value does not fit.
    pub fn update(&self, values: &Value) -> Result<JsonUpdate, JsonError> {
        self.writes(values, |field, value| field.reducer.log(value))
    }

    /// Returns an update that overwrites fields with the members of an object.
    ///
    /// # Errors
    /// Returns an error if a member names no field, or its value does not fit.
    pub fn overwrite(&self, values: &Value) -> Result<JsonUpdate, JsonError> {
        self.writes(values, |_, value| Ok(Logged::Op(Op::Set(crate::state::Json::encode(value)?))))
    }

    fn writes(
        &self,
        values: &Value,
        log: impl Fn(&JsonField, &Value) -> Result<Logged, CodecError>,
    ) -> Result<JsonUpdate, JsonError> {
        let Value::Object(members) = values else {
            return Err(JsonError::NotAnObject { found: self.found(values) });
        };
        let mut writes = Vec::with_capacity(members.len());
        for (name, value) in members {
            let misfit = |reason| JsonError::Misfit { field: name.clone(), reason };
            let id = self.find(name)?;
            let field = self.field(id);
            field.shape.check(value).map_err(misfit)?;
            let write = log(field, value).map_err(|error| misfit(format!("{error}")))?;
            writes.push(JsonWrite {
                field: id,
                write,
                stored: field.reducer.lifetime() != Lifetime::Unstored,
            });
        }
        Ok(JsonUpdate::of(writes))
    }

    /// Describes a value that was found instead of an update, for a message. The value belongs to no field, so if
    /// any field is secret, only its kind is named.
    fn found(&self, value: &Value) -> String {
        if self.schema.fields.iter().any(|field| field.secret) {
            return Kind::of(value).name().to_owned();
        }
        super::place::brief(value)
    }

    /// Returns the id of the field with this name.
    pub(crate) fn find(&self, name: &str) -> Result<FieldId, JsonError> {
        self.schema.find(name).ok_or_else(|| JsonError::NoSuchField {
            field: name.to_owned(),
            meant: suggestion(name, self.schema.fields.iter().map(|field| field.name.as_str())),
        })
    }

    pub(super) fn field(&self, id: FieldId) -> &JsonField {
        &self.fields[id.index()]
    }

    /// Applies a write to the value of a field.
    ///
    /// # Panics
    /// Panics if the write does not fit. The run catches the panic and reports the node.
    pub(super) fn apply(&self, id: FieldId, value: &mut Value, write: &Logged, index: &mut KeyedIndex) {
        if let Err(error) = self.field(id).reducer.apply(value, write, index) {
            match self.schema.field(id) {
                known if known.secret => panic!("field {:?}: the write does not fit", known.name),
                known => panic!("field {:?}: {error}", known.name),
            }
        }
    }

    pub(super) fn defaults(&self) -> Vec<Value> {
        self.fields.iter().map(|field| field.default.clone()).collect()
    }
}
