//! The state of a graph that is built from data.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Index;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::fields::{JsonError, JsonFields};
use super::update::{JsonUpdate, JsonWrite};
use crate::reducer::KeyedIndex;
use crate::state::{CodecError, FieldId, Json, Lifetime, Logged, Op, Schema, State};

/// A state whose fields are only known at run time: a JSON object that always fits its [`JsonFields`].
///
/// Create a graph over it with [`StateGraph::with_schema`](crate::graph::StateGraph::with_schema), or build one
/// from a description. The static [`State::schema`] has no fields.
#[derive(Clone)]
pub struct JsonState {
    fields: Arc<JsonFields>,
    values: Vec<Value>,
}

impl JsonState {
    /// Creates the state before any input.
    #[must_use]
    pub fn new(fields: Arc<JsonFields>) -> Self {
        let values = fields.defaults();
        Self { fields, values }
    }

    /// Returns the fields.
    #[must_use]
    pub fn fields(&self) -> &Arc<JsonFields> {
        &self.fields
    }

    /// Returns the value of a field; `None` if there is no such field.
    #[must_use]
    pub fn get(&self, field: &str) -> Option<&Value> {
        self.fields.schema().find(field).map(|id| &self.values[id.index()])
    }

    /// Decodes the value of a field as a `T`.
    ///
    /// # Errors
    /// Returns an error if there is no such field, or its value does not decode as a `T`.
    pub fn read<T: DeserializeOwned>(&self, field: &str) -> Result<T, JsonError> {
        let id = self.fields.find(field)?;
        let value = serde_json::from_value(self.values[id.index()].clone());
        let secret = self.fields.schema().field(id).secret;
        value.map_err(|error| JsonError::Misfit {
            field: field.into(),
            reason: if secret {
                "the value, which is secret, is of another type".into()
            } else {
                format!("{error}")
            },
        })
    }

    /// Returns the whole state as an object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let names = self.fields.schema().fields.iter().map(|field| field.name.clone());
        names.zip(self.values.iter().cloned()).collect::<Map<String, Value>>().into()
    }

    pub(super) fn apply(&mut self, field: FieldId, write: &Logged, index: &mut KeyedIndex) {
        self.fields.apply(field, &mut self.values[field.index()], write, index);
    }

    /// Returns the value of a field with `writes` applied. Writes to other fields are ignored.
    pub(crate) fn field_with(&self, field: FieldId, writes: &[JsonWrite]) -> Value {
        let mut value = self.values[field.index()].clone();
        let mut index = KeyedIndex::new();
        for write in writes.iter().filter(|write| write.field == field) {
            self.fields.apply(field, &mut value, &write.write, &mut index);
        }
        value
    }

    fn stored(&self, field: FieldId) -> Result<(), CodecError> {
        let unstored = |name: &str| CodecError::new(format!("the field `{name}` is not stored"));
        match self.fields.schema().fields.get(field.index()) {
            Some(known) if known.lifetime == Lifetime::Unstored => Err(unstored(&known.name)),
            Some(_) => Ok(()),
            None => Err(crate::state::derived::no_field("JsonState", field)),
        }
    }
}

impl State for JsonState {
    type Update = JsonUpdate;
    type Write = JsonWrite;
    const FIELDS: u16 = 0;

    fn schema() -> Schema {
        Schema { name: "JsonState".into(), ..Schema::default() }
    }

    fn initial() -> Self {
        let fields = JsonFields::new("JsonState", &Value::Object(Map::new()));
        Self::new(Arc::new(fields.expect("no fields, no problems")))
    }

    fn overwrite(self) -> JsonUpdate {
        let writes = self.fields.schema().ids().zip(self.values).map(|(field, value)| JsonWrite {
            field,
            write: Logged::Op(Op::Set(Json::encode(&value).expect("a JSON value has a JSON form"))),
            stored: self.fields.schema().field(field).lifetime != Lifetime::Unstored,
        });
        JsonUpdate::of(writes.collect())
    }

    fn json_schema(&self) -> Option<Json> {
        Json::encode(&self.fields.json_schema()?).ok()
    }

    fn update_from(&self, values: &Value) -> Result<JsonUpdate, JsonError> {
        self.fields.update(values)
    }

    fn encode_field(&self, field: FieldId) -> Result<Json, CodecError> {
        self.stored(field)?;
        Json::encode(&self.values[field.index()])
    }

    fn decode_field(&mut self, field: FieldId, value: &Json) -> Result<(), CodecError> {
        self.stored(field)?;
        let value = value.decode()?;
        self.fields.field(field).shape.check(&value).map_err(CodecError::new)?;
        self.values[field.index()] = value;
        Ok(())
    }

    fn reset_field(&mut self, field: FieldId) {
        self.values[field.index()] = self.fields.field(field).default.clone();
    }

    fn copy_field(&mut self, field: FieldId, from: &Self) {
        self.values[field.index()].clone_from(&from.values[field.index()]);
    }
}

/// Returns the value of a field; JSON's `null` for an unknown field, as `serde_json` does.
impl Index<&str> for JsonState {
    type Output = Value;

    fn index(&self, field: &str) -> &Value {
        self.get(field).unwrap_or(&Value::Null)
    }
}

impl PartialEq for JsonState {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values && self.fields == other.fields
    }
}

/// Formats the values, except those of secret fields.
impl fmt::Debug for JsonState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_map();
        for (field, value) in self.fields.schema().fields.iter().zip(&self.values) {
            match field.secret {
                true => shown.entry(&field.name, &"<secret>"),
                false => shown.entry(&field.name, value),
            };
        }
        shown.finish()
    }
}
