//! Checks whose violations are values, so that a test of a defect can expect one.

/// A result, or the text of a violation of a promise.
pub(crate) type Checked<T> = Result<T, String>;

/// Returns a violation with this text unless a condition holds.
macro_rules! holds {
    ($condition:expr, $($text:tt)+) => {
        if !$condition {
            return Err(format!($($text)+));
        }
    };
}
pub(crate) use holds;
