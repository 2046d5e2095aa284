//! The settings of a type, by their keys.

use std::fmt;
use std::str::FromStr;

/// A type of settings, whose defaults are those of the type.
pub trait Configurable: Default + 'static {
    /// The settings, in the order in which they are shown.
    const KEYS: &'static [Key<Self>];

    /// Checks the settings against each other.
    ///
    /// # Errors
    /// When two values do not fit together: the name of the key that is to be changed, and a description of its allowed
    /// values.
    fn check(&self) -> Result<(), (&'static str, String)> {
        Ok(())
    }
}

/// One thing that can be set.
pub struct Key<S> {
    /// The name: that of a variable, and in small letters that in a file.
    pub name: &'static str,
    /// A description of the allowed values.
    pub allowed: &'static str,
    /// Reads it; nothing if it may not be that.
    pub read: fn(&mut S, &str) -> Option<()>,
    /// Shows it, in a form that can be read.
    pub show: fn(&S) -> String,
}

impl<S> fmt::Debug for Key<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("name", &self.name)
            .field("allowed", &self.allowed)
            .finish_non_exhaustive()
    }
}

/// Reads a value into its place, if it has the form and is one of those that may be.
pub(crate) fn read_into<T: FromStr>(place: &mut T, text: &str, may_be: impl Fn(&T) -> bool) -> Option<()> {
    *place = text.parse().ok().filter(may_be)?;
    Some(())
}
