//! Reducers, which merge concurrent writes to one field into one value.
//!
//! `#[reducer(Path)]` on a field names a type that implements [`Reducer`] for the field's type. The built-in
//! reducers are ordinary implementations, and a user's reducers work in the same way.
//!
//! | reducer | fields | several writers | logged as |
//! |---|---|---|---|
//! | [`LastValue`] (default) | any | error | `Set` |
//! | [`Any`] | any | the last in task order | `Set` |
//! | [`Append`] | `Vec` | concatenated | `Extend` |
//! | [`Merge`] | maps | later entries win | `MapPut`, `MapRemove` |
//! | [`Union`] | sets | united | `SetAdd`, `SetRemove` |
//! | [`KeyedLog`] | `Vec` of [`Keyed`] items | put or removed by id | `Keyed` |
//! | [`Sum`], [`Max`], [`Min`] | numbers | folded | `Set` of the result |
//! | [`Ephemeral`] | any | error | `Set`; reset after one superstep |
//! | [`Transient`] | any | error | never stored |

mod keyed;
mod keyed_index;
mod list;
mod map;
mod number;
mod set;
mod value;

pub use keyed::{Keyed, KeyedLog, LogEdit, LogWrite};
pub use keyed_index::KeyedIndex;
pub use list::Append;
pub use map::{MapWrite, Merge};
pub use number::{Addend, Max, Min, Overflow, Sum};
pub use set::{SetWrite, Union};
pub use value::{Any, Ephemeral, LastValue, Transient};

use alloc::format;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::state::{CodecError, Lifetime, Op, Writers};

/// Folds writes into a field of type `T`.
///
/// Only [`Write`](Self::Write) and [`reduce`](Self::reduce) are required. The whole new value is then logged after
/// each superstep that wrote the field. A reducer that grows a collection overrides [`log`](Self::log) and
/// [`replay`](Self::replay), so that only the additions are stored.
///
/// `reduce` must be deterministic: the same writes in the same order must give the same value on any machine.
///
/// ```
/// use superstep_core::reducer::Reducer;
///
/// /// Keeps the longest text that was written.
/// struct Longest;
///
/// impl Reducer<String> for Longest {
///     type Write = String;
///     fn reduce(current: &mut String, write: String) {
///         if write.len() > current.len() {
///             *current = write;
///         }
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a reducer for a field of type `{T}`",
    label = "this reducer does not fit this field",
    note = "`Append` is for `Vec`, `KeyedLog` for `Vec` of `Keyed` items, `Merge` for maps, `Union` for sets, `Sum`, `Max` and `Min` for numbers"
)]
pub trait Reducer<T>: 'static {
    /// The type of a node's write. For a stored field it must be `Serialize + DeserializeOwned`.
    type Write: Send + 'static;

    /// The number of tasks that may write the field in one superstep.
    const WRITERS: Writers = Writers::Many;

    /// The lifetime of the value.
    const LIFETIME: Lifetime = Lifetime::Stored;

    /// A variant of [`reduce`](Self::reduce) with an index that is kept beside the field, for a reducer that looks
    /// items up.
    #[doc(hidden)]
    const INDEXED: Option<Indexed<T, Self::Write>> = None;

    /// Folds one write into the current value.
    fn reduce(current: &mut T, write: Self::Write);

    /// Returns the operation of this write, or `None` to log the whole new value of the field.
    ///
    /// # Errors
    /// Returns an error if the write has no JSON form.
    fn log(_write: &Self::Write) -> Result<Option<Op>, CodecError>
    where
        Self::Write: Serialize,
    {
        Ok(None)
    }

    /// Converts an operation that [`log`](Self::log) returned back to the write.
    ///
    /// # Errors
    /// Returns an error if `log` never returns such an operation.
    fn replay(op: &Op) -> Result<Self::Write, CodecError>
    where
        Self::Write: DeserializeOwned,
    {
        Err(unknown_operation(op))
    }
}

/// A function that reduces a list with its index.
#[doc(hidden)]
pub type Indexed<T, W> = fn(&mut T, W, &mut KeyedIndex);

/// Returns the error of a reducer that receives another reducer's operation.
fn unknown_operation(op: &Op) -> CodecError {
    CodecError::new(format!("the field's reducer knows no operation `{}`", op.name()))
}

#[cfg(test)]
mod tests;
