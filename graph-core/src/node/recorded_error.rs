//! Errors of effects, recreated from their recorded texts.

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use core::any::Any;
use core::error::Error;

use crate::error::{BoxError, NodeError};

/// Returns the error of type `E` with this text; `None` for types that consist of more than their text.
pub(super) fn again<E: 'static>(text: &str) -> Option<E> {
    let mut error: Option<E> = None;
    let wanted: &mut dyn Any = &mut error;
    let _known = make(wanted, || text.to_owned())
        || make(wanted, || Cow::<'static, str>::Owned(text.to_owned()))
        || make(wanted, || Box::<str>::from(text))
        || make(wanted, || BoxError::from(text))
        || make(wanted, || Box::<dyn Error>::from(text))
        || make(wanted, || NodeError::from(text))
        || make_io(wanted, text);
    error
}

/// Stores an error in `wanted`, if `wanted` has that type.
fn make<E: 'static>(wanted: &mut dyn Any, error: impl FnOnce() -> E) -> bool {
    let Some(wanted) = wanted.downcast_mut::<Option<E>>() else { return false };
    *wanted = Some(error());
    true
}

#[cfg(feature = "std")]
fn make_io(wanted: &mut dyn Any, text: &str) -> bool {
    make(wanted, || std::io::Error::other(text))
}

#[cfg(not(feature = "std"))]
fn make_io(_wanted: &mut dyn Any, _text: &str) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString};

    use super::*;

    #[derive(Debug)]
    struct Own;

    #[test]
    fn errors_that_are_their_text_are_made_again_and_others_are_not() {
        assert_eq!(again::<String>("no").as_deref(), Some("no"));
        assert_eq!(again::<BoxError>("no").map(|error| error.to_string()).as_deref(), Some("no"));
        assert_eq!(again::<NodeError>("no").map(|error| error.to_string()).as_deref(), Some("no"));
        assert!(again::<Own>("no").is_none());
    }
}
