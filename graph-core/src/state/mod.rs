//! The user's state: typed fields that are written through reducers and described by a schema.
//!
//! ```text
//! #[derive(State)] struct Essay { topic: String, #[reducer(Append)] facts: Vec<String> }
//!
//!   Essay::update()  ->  EssayUpdate            what a node returns: a list of writes
//!                          .topic("Rust")       Write::Reduce, through the field's reducer
//!                          .set_facts([..])     Write::Set, an overwrite
//!   Essay::FACTS     ->  Field<Essay, ..>       a handle for prebuilt nodes
//!   Essay::schema()  ->  Schema                 what the checkpoint file keeps
//! ```
//!
//! A state is stored field by field, as logged operations ([`Op`]), so a superstep costs only the fields that it
//! wrote.

#[doc(hidden)]
pub mod derived;
mod dynamic;
mod erased;
mod field;
mod finite;
#[doc(hidden)]
pub mod fitted;
mod form;
mod from_json;
mod indexes;
mod json;
pub(crate) mod limits;
mod migration;
mod mismatch;
mod op;
mod schema;
mod secret_fields;
mod secret_texts;
mod write;

use core::fmt::Debug;

use crate::node::IntoOutcome;

pub(crate) use crate::caught::caught;
#[cfg(feature = "tokio")]
pub(crate) use dynamic::bare_name;
pub use dynamic::{Found, JsonError, JsonFields, JsonState, JsonUpdate, JsonWrite};
pub(crate) use dynamic::{Place, Problems, suggestion};
pub use erased::{ErasedState, ErasedUpdate};
pub use field::{Embedded, Field};
pub use form::StateForm;
#[cfg(feature = "tokio")]
pub(crate) use form::sealed;
#[doc(hidden)]
pub use form::{Misfit, ReadInput};
pub use indexes::Indexes;
pub use json::{CodecError, Json};
pub use limits::{Excess, SizeLimits};
pub use migration::{LoadError, Migrated, Migration};
pub use mismatch::Mismatch;
pub use op::{Change, FieldValue, Logged, LoggedWrite, Op};
pub use schema::{FieldId, FieldSchema, Lifetime, Schema, Writers};
pub use secret_fields::SecretFields;
pub use secret_texts::SecretTexts;
pub use write::{IntoWrite, Write, WriteKind};

/// ```
/// # extern crate superstep_core as superstep;
/// use serde::{Deserialize, Serialize};
/// use superstep::reducer::{Append, Sum};
/// use superstep::state::State;
///
/// #[derive(State, Clone, Default, Serialize, Deserialize)]
/// struct Chat {
///     #[reducer(Append)]
///     messages: Vec<String>,
/// }
///
/// #[derive(State, Clone, Default)]
/// struct Essay {
///     topic: String,
///     #[reducer(Sum)]
///     tokens: u64,
///     #[serde(alias = "text")]
///     draft: Option<String>,
///     #[state(secret)]
///     password: String,
///     #[state(transient)]
///     session: Option<std::sync::mpsc::Sender<String>>,
///     #[state(flatten)]
///     chat: Chat,
/// }
/// # impl Essay { fn read(&self) { let _ = (&self.topic, self.tokens, &self.draft, &self.password, &self.session, &self.chat.messages); } }
///
/// let update = Essay::update().topic("Rust").tokens(12).draft("...").chat(Chat::update().messages(["hi"]));
/// let update = update.and(Essay::TOKENS.write(30)).set_password("hunter2").clear_tokens();
/// assert_eq!(
///     format!("{update:?}"),
///     r#"EssayUpdate [topic: "Rust", tokens: 12, draft: "...", chat.messages: extend ["hi"], "#.to_owned()
///         + r#"tokens: 30, set password: <secret>, set tokens: 0]"#
/// );
///
/// let messages = Chat::MESSAGES.within(Essay::CHAT);
/// assert!(messages.get(&Essay::default()).is_empty());
/// assert_eq!(Essay::schema().field(messages.id()).name, "chat.messages");
/// ```
pub use superstep_macros::State;

/// The update type of a state, which its nodes return.
pub type Update<S> = <S as State>::Update;

/// The state of a graph, implemented with `#[derive(State)]`.
///
/// The derive needs `Clone` and `Default` on the struct, and `Serialize + DeserializeOwned` on every stored field.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a graph state",
    note = "derive it: `#[derive(State, Clone, Default)] struct {Self} {{ .. }}`"
)]
pub trait State: Clone + Send + Sync + 'static {
    /// The update type: a list of writes to the fields, with a setter per field.
    type Update: StateUpdate<State = Self> + IntoInput<Self> + IntoOutcome<Self, Route = ()>;
    /// One write to one field.
    type Write: FieldWrite<State = Self>;
    /// The number of fields, including those of embedded states.
    const FIELDS: u16;
    /// The version of the type: 1, unless `#[state(version = ..)]` sets another one. States of older versions are
    /// loaded through the [`migration`](Self::migration).
    const VERSION: u32 = 1;

    /// Returns the description of the fields.
    fn schema() -> Schema;

    /// Returns the state of a thread before its first input.
    fn initial() -> Self;

    /// Returns the migration from a state of an older version; `None` if there is none.
    #[must_use]
    fn migration() -> Option<Migration<Self>> {
        None
    }

    /// Returns the update that overwrites every field with this state's values.
    fn overwrite(self) -> Self::Update;

    /// Returns the JSON Schema of the type, if it derives `schemars::JsonSchema`; `None` otherwise.
    fn json_schema(&self) -> Option<Json> {
        None
    }

    /// Creates an update from an object: each member is written through the reducer of its field.
    ///
    /// # Errors
    /// Returns an error if a member names no field, or its value does not fit.
    fn update_from(&self, values: &serde_json::Value) -> Result<Self::Update, JsonError> {
        from_json::update::<Self>(values)
    }

    /// Encodes one field.
    ///
    /// # Errors
    /// Returns an error if the value has no JSON form, or the field is not stored.
    fn encode_field(&self, field: FieldId) -> Result<Json, CodecError>;

    /// Replaces one field with a decoded value.
    ///
    /// # Errors
    /// Returns an error if `value` is not the JSON form of the field's type; the field is then unchanged.
    fn decode_field(&mut self, field: FieldId, value: &Json) -> Result<(), CodecError>;

    /// Resets one field to its initial value.
    fn reset_field(&mut self, field: FieldId);

    /// Copies one field from another state.
    fn copy_field(&mut self, _field: FieldId, from: &Self) {
        self.clone_from(from);
    }
}

/// The update type that `#[derive(State)]` generates.
pub trait StateUpdate: Default + Send + 'static {
    /// The state that the update writes.
    type State: State<Update = Self>;

    /// Creates an update from `writes`.
    fn from_writes(writes: alloc::vec::Vec<<Self::State as State>::Write>) -> Self;

    /// Returns the writes, in the order in which they were added.
    fn writes(&self) -> &[<Self::State as State>::Write];

    /// Returns the writes by value.
    fn into_writes(self) -> alloc::vec::Vec<<Self::State as State>::Write>;
}

/// The write type that `#[derive(State)]` generates: one variant per field.
pub trait FieldWrite: Sized + Send + 'static {
    /// The state that the write belongs to.
    type State;

    /// Returns the written field.
    fn field(&self) -> FieldId;

    /// Returns the kind of the write: through the reducer, or an overwrite.
    fn kind(&self) -> WriteKind;

    /// Applies the write.
    fn apply(self, state: &mut Self::State) {
        self.apply_with(state, &mut Indexes::default());
    }

    /// Applies the write to a state with these indexes.
    fn apply_with(self, state: &mut Self::State, indexes: &mut Indexes);

    /// Returns a copy, also for fields that are not stored. A branch sees its own node's writes through copies.
    ///
    /// # Errors
    /// Returns an error if the value of a stored field does not survive its JSON form.
    fn duplicate(&self) -> Result<Self, CodecError>;

    /// Returns the logged form; `None` for a field that is not stored.
    ///
    /// # Errors
    /// Returns an error if the value has no JSON form.
    fn encode(&self) -> Result<Option<LoggedWrite>, CodecError>;

    /// Decodes a logged write.
    ///
    /// # Errors
    /// Returns an error if the logged write does not fit the field.
    fn decode(logged: &LoggedWrite) -> Result<Self, CodecError>;
}

/// A type that `thread.run` accepts. The derive implements it for the update type and for the state.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an input of a graph over `{S}`",
    note = "pass an update (`{S}::update().field(value)`) or, for a new thread, a whole `{S}`"
)]
pub trait IntoInput<S: StateForm> {
    /// Converts the input to an update, and determines whether the thread may already have a state.
    fn into_input(self) -> Input<S>;
}

/// An input that is ready to be applied.
pub enum Input<S: StateForm> {
    /// An update that goes through the reducers, on a new thread or on top of an existing state.
    Update(S::Update),
    /// A whole state, which only a new thread accepts.
    State(S::Update),
}

impl<S: StateForm> Debug for Input<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Update(_) => "Input::Update",
            Self::State(_) => "Input::State",
        })
    }
}
