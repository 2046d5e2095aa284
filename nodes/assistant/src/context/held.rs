//! Values that are mostly borrowed.

use std::borrow::Borrow;
use std::ops::Deref;

/// A value that is borrowed, or owned because it is new. Unlike a [`Cow`](std::borrow::Cow), it is as small as a
/// reference: most messages of a view are borrowed.
#[derive(Clone, Debug)]
pub enum Held<'h, T> {
    /// A borrowed value.
    Borrowed(&'h T),
    /// A new value.
    Owned(Box<T>),
}

impl<T> Held<'_, T> {
    /// Makes an owned value.
    pub fn new(value: T) -> Self {
        Self::Owned(Box::new(value))
    }
}

impl<T: Clone> Held<'_, T> {
    /// Returns the value, or a copy of it if it is borrowed.
    pub fn into_owned(self) -> T {
        match self {
            Self::Borrowed(value) => value.clone(),
            Self::Owned(value) => *value,
        }
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::Borrowed(value) => value,
            Self::Owned(value) => value,
        }
    }
}

impl<T> Borrow<T> for Held<'_, T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: PartialEq> PartialEq for Held<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}
