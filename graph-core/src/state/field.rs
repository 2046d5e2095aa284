//! Typed handles to fields.

use alloc::sync::Arc;
use core::fmt;

use super::schema::FieldId;
use super::write::Write;
use super::{State, StateUpdate, Update};

/// A handle to one field of a state, through which a prebuilt node reads and writes any state.
///
/// `#[derive(State)]` generates one constant per field, such as `Essay::DRAFT`, with the type of the field and, if
/// it differs, the type that the reducer takes. [`within`](Self::within) converts the handle of an embedded state's
/// field.
pub struct Field<S: State, T, W = T> {
    id: FieldId,
    name: &'static str,
    access: Access<S, T, W>,
}

enum Access<S: State, T, W> {
    /// The functions that the derive generates. They are function pointers, so that handles can be constants.
    Direct { get: fn(&S) -> &T, wrap: fn(Write<T, W>) -> S::Write },
    /// A field of an embedded state.
    Composed(Arc<dyn Compose<S, T, W>>),
}

trait Compose<S: State, T, W>: Send + Sync {
    fn get<'s>(&self, state: &'s S) -> &'s T;
    fn wrap(&self, write: Write<T, W>) -> S::Write;
}

impl<S: State, T, W> Field<S, T, W> {
    /// Creates a handle, for the derive. `wrap` is the field's variant of the write type.
    #[doc(hidden)]
    pub const fn direct(
        id: FieldId,
        name: &'static str,
        get: fn(&S) -> &T,
        wrap: fn(Write<T, W>) -> S::Write,
    ) -> Self {
        Self { id, name, access: Access::Direct { get, wrap } }
    }

    /// Returns the field's position in the schema.
    pub fn id(&self) -> FieldId {
        self.id
    }

    /// Returns the field's name in its own state.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the field's value.
    pub fn get<'s>(&self, state: &'s S) -> &'s T {
        match &self.access {
            Access::Direct { get, .. } => get(state),
            Access::Composed(composed) => composed.get(state),
        }
    }

    /// Returns an update that writes the field through its reducer.
    pub fn write(&self, write: W) -> Update<S> {
        self.update(Write::Reduce(write))
    }

    /// Returns an update that overwrites the field.
    pub fn set(&self, value: T) -> Update<S> {
        self.update(Write::Set(value))
    }

    fn update(&self, write: Write<T, W>) -> Update<S> {
        StateUpdate::from_writes(alloc::vec![self.wrap(write)])
    }

    fn wrap(&self, write: Write<T, W>) -> S::Write {
        match &self.access {
            Access::Direct { wrap, .. } => wrap(write),
            Access::Composed(composed) => composed.wrap(write),
        }
    }
}

impl<S: State, T: 'static, W: 'static> Field<S, T, W> {
    /// Returns the handle of this field in `O`, which embeds the state at `embedded`.
    ///
    /// ```text
    /// #[derive(State)] struct Essay { #[state(flatten)] chat: Chat }
    /// Chat::MESSAGES.within(Essay::CHAT)     // Field<Essay, ..>
    /// ```
    pub fn within<O: State>(self, embedded: Embedded<O, S>) -> Field<O, T, W> {
        Field {
            id: FieldId(embedded.base + self.id.0),
            name: self.name,
            access: Access::Composed(Arc::new(Within { inner: self, embedded })),
        }
    }
}

/// A handle to an embedded state. `#[derive(State)]` generates one constant per `#[state(flatten)]` field.
pub struct Embedded<O: State, S: State> {
    base: u16,
    get: fn(&O) -> &S,
    wrap: fn(S::Write) -> O::Write,
}

impl<O: State, S: State> Embedded<O, S> {
    /// Creates a handle, for the derive. `base` is the id of the first embedded field, `wrap` the embedded state's
    /// variant of the write type.
    #[doc(hidden)]
    pub const fn new(base: u16, get: fn(&O) -> &S, wrap: fn(S::Write) -> O::Write) -> Self {
        Self { base, get, wrap }
    }
}

impl<O: State, S: State> Clone for Embedded<O, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<O: State, S: State> Copy for Embedded<O, S> {}

struct Within<O: State, S: State, T, W> {
    inner: Field<S, T, W>,
    embedded: Embedded<O, S>,
}

impl<O: State, S: State, T, W> Compose<O, T, W> for Within<O, S, T, W> {
    fn get<'s>(&self, state: &'s O) -> &'s T {
        self.inner.get((self.embedded.get)(state))
    }

    fn wrap(&self, write: Write<T, W>) -> O::Write {
        (self.embedded.wrap)(self.inner.wrap(write))
    }
}

impl<S: State, T, W> Clone for Field<S, T, W> {
    fn clone(&self) -> Self {
        let access = match &self.access {
            Access::Direct { get, wrap } => Access::Direct { get: *get, wrap: *wrap },
            Access::Composed(composed) => Access::Composed(Arc::clone(composed)),
        };
        Self { id: self.id, name: self.name, access }
    }
}

impl<S: State, T, W> fmt::Debug for Field<S, T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Field({}: {})", self.id.0, self.name)
    }
}
