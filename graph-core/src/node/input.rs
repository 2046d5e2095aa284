//! Inputs of tasks: the items of `each`.

use alloc::sync::Arc;
use core::any::Any;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::describe::NodeDescription;
use super::function::FromTask;
use super::task::Task;
use crate::state::{CodecError, Json, State};

/// Extracts the item that `each(node, items)` sent to this task.
///
/// The item is shared and not owned, because a retry starts from the same item.
pub struct Input<T>(Arc<T>);

impl<T> Deref for Input<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: fmt::Debug> fmt::Debug for Input<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<S, C, T> FromTask<S, C> for Input<T>
where
    S: State,
    T: Serialize + DeserializeOwned + Send + Sync + 'static,
{
    type Input = Takes<T>;

    fn from_task(task: &Task<S, C>, _position: usize) -> Self {
        let item = task.input().expect("the wiring gives a task of this node an item");
        Self(item.value::<T>())
    }

    fn describe(node: &mut NodeDescription, _position: usize) {
        node.takes::<T>();
    }
}

/// The input type of a node without an [`Input`].
#[derive(Clone, Copy, Debug)]
pub enum NoInput {}

/// The input type of a node with an `Input<T>`.
#[derive(Debug)]
pub struct Takes<T>(PhantomData<fn(T)>);

/// Combines the input types of a node's arguments. At most one of them may be an [`Input`].
#[diagnostic::on_unimplemented(
    message = "a node takes at most one `Input<..>`",
    label = "a second `Input`",
    note = "put both values into one struct or tuple, and send that with `each`"
)]
pub trait OrInput<Rest> {
    /// The type that is an input, or [`NoInput`] if neither is.
    type Either;
}

impl<Rest> OrInput<Rest> for NoInput {
    type Either = Rest;
}

impl<T> OrInput<NoInput> for Takes<T> {
    type Either = Takes<T>;
}

/// An item for a task: its value, and the function that encodes it.
#[derive(Clone)]
pub struct Item {
    value: Arc<dyn Any + Send + Sync>,
    encode: fn(&(dyn Any + Send + Sync)) -> Result<Json, CodecError>,
}

impl Item {
    /// Creates an item of `each`.
    pub(crate) fn new<T: Serialize + Send + Sync + 'static>(value: T) -> Self {
        Self {
            value: Arc::new(value),
            encode: |value| Json::encode(value.downcast_ref::<T>().expect("the encoder of this very type")),
        }
    }

    /// Decodes an item from its stored form.
    pub(crate) fn decode<T>(json: &Json) -> Result<Self, CodecError>
    where
        T: Serialize + DeserializeOwned + Send + Sync + 'static,
    {
        Ok(Self::new(json.decode::<T>()?))
    }

    /// Returns the stored form.
    ///
    /// # Errors
    /// Returns an error if the value has no JSON form.
    pub fn encode(&self) -> Result<Json, CodecError> {
        (self.encode)(&*self.value)
    }

    pub(crate) fn value<T: Send + Sync + 'static>(&self) -> Arc<T> {
        Arc::clone(&self.value).downcast().expect("`each` is typed by the node's handle")
    }
}

impl fmt::Debug for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Item(..)")
    }
}
