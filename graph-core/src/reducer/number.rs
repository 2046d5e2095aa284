//! Reducers of numbers.

use core::ops::AddAssign;

use super::Reducer;

/// Adds the written values up.
///
/// Floating-point sums depend on the order of their terms; the order here is task order, so they are the
/// same on every run.
#[derive(Clone, Copy, Debug)]
pub struct Sum;

impl<T: AddAssign + Send + 'static> Reducer<T> for Sum {
    type Write = T;

    fn reduce(current: &mut T, write: T) {
        *current += write;
    }
}

/// Keeps the greatest value written. It starts from the field's initial value.
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

/// Keeps the least value written. It starts from the field's initial value: give the state a `Default` in
/// which that is the greatest possible one.
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
