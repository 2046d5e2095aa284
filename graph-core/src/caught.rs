//! Functions that catch the panics of users' code.

use alloc::string::{String, ToString};
use core::fmt::Display;

/// Calls `run` and catches its panic, if the program unwinds.
#[cfg(feature = "std")]
pub(crate) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).map_err(|panic| {
        let message = message_of(&*panic);
        dropped(panic);
        message
    })
}

/// Calls `run`. Without the standard library a panic cannot be caught.
#[cfg(not(feature = "std"))]
pub(crate) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    Ok(run())
}

/// Drops a value with a user's `Drop` code, and catches its panic, which the panic hook has already reported.
#[cfg(feature = "std")]
pub(crate) fn dropped<T>(value: T) {
    let drop = std::panic::AssertUnwindSafe(|| drop(value));
    if let Err(panic) = std::panic::catch_unwind(drop) {
        // The drop of the panic's payload may panic as well.
        core::mem::forget(panic);
    }
}

/// Drops a value.
#[cfg(not(feature = "std"))]
pub(crate) fn dropped<T>(value: T) {
    drop(value);
}

/// Returns the text of a value whose `Display` is a user's code.
pub(crate) fn text_of(value: &(impl Display + ?Sized)) -> String {
    caught(|| value.to_string()).unwrap_or_else(|panic| without_text(&panic))
}

/// Returns the text that replaces the text of an error whose code panicked.
pub(crate) fn without_text(panic: &str) -> String {
    alloc::format!("an error whose text cannot be shown: formatting it panicked: {panic}")
}

/// Returns the message of a caught panic.
#[cfg(feature = "std")]
fn message_of(panic: &(dyn core::any::Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_string(),
        (None, Some(text)) => text.clone(),
        (None, None) => "a panic without a message".to_string(),
    }
}
