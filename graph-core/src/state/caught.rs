//! The panics of users' code.

use alloc::string::String;

/// Calls `run` and catches its panic, where there is an unwinder.
#[cfg(feature = "std")]
pub(crate) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).map_err(|panic| message_of(&*panic))
}

/// Calls `run`. Without the standard library a panic cannot be caught.
#[cfg(not(feature = "std"))]
pub(crate) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    Ok(run())
}

/// The message of a caught panic.
#[cfg(feature = "std")]
fn message_of(panic: &(dyn core::any::Any + Send)) -> String {
    use alloc::borrow::ToOwned;
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "a panic without a message".to_owned(),
    }
}
