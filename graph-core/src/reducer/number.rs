//! Reducers of numbers.

use core::time::Duration;

use super::Reducer;

/// Adds up the written values.
///
/// Floating-point sums depend on the order of their terms. Here that is the task order, so the sums are the same in
/// every run. A sum that overflows its type panics in every build; a run reports the panic as `RunError::Reducer`.
#[derive(Clone, Copy, Debug)]
pub struct Sum;

impl<T: Addend> Reducer<T> for Sum {
    type Write = T;

    fn reduce(current: &mut T, write: T) {
        assert!(
            current.try_add(write).is_ok(),
            "the sum does not fit into `{}`",
            core::any::type_name::<T>()
        );
    }
}

/// A value that [`Sum`] can add up: numbers, durations, and user types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be added up",
    note = "implement `superstep::reducer::Addend` for it, or choose another reducer"
)]
pub trait Addend: Send + 'static {
    /// Adds `term` to this value.
    ///
    /// # Errors
    /// Returns an error if the sum overflows; the value is then unchanged.
    fn try_add(&mut self, term: Self) -> Result<(), Overflow>;
}

/// The error of a sum that overflows its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the sum does not fit into its type")]
pub struct Overflow;

macro_rules! checked {
    ($($number:ty)*) => {
        $(impl Addend for $number {
            fn try_add(&mut self, term: Self) -> Result<(), Overflow> {
                *self = self.checked_add(term).ok_or(Overflow)?;
                Ok(())
            }
        })*
    };
}

checked!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize Duration);

macro_rules! floating {
    ($($number:ty)*) => {
        $(impl Addend for $number {
            fn try_add(&mut self, term: Self) -> Result<(), Overflow> {
                *self += term;
                Ok(())
            }
        })*
    };
}

floating!(f32 f64);

/// Keeps the greatest of the field's initial value and the written values.
#[derive(Clone, Copy, Debug)]
pub struct Max;

impl<T: PartialOrd + Send + 'static> Reducer<T> for Max {
    type Write = T;

    fn reduce(current: &mut T, write: T) {
        if write > *current {
            *current = write;
        }
    }
}

/// Keeps the least of the field's initial value and the written values. Give the state a `Default` in which the
/// field has the greatest possible value.
#[derive(Clone, Copy, Debug)]
pub struct Min;

impl<T: PartialOrd + Send + 'static> Reducer<T> for Min {
    type Write = T;

    fn reduce(current: &mut T, write: T) {
        if write < *current {
            *current = write;
        }
    }
}
