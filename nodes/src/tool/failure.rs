//! The failure of a tool.

use std::fmt;

/// The failure of a tool, in words for the model that asked for it.
///
/// Every error becomes one, so in [`Tool::call`](super::Tool::call) the operator `?` takes any. It is no
/// [`Error`](std::error::Error) itself: it is a text to be read, not a cause to be traced.
#[derive(Clone, PartialEq, Eq)]
pub struct ToolFailure(String);

impl ToolFailure {
    /// Makes a failure with this text.
    pub fn new(reason: impl fmt::Display) -> Self {
        Self(reason.to_string())
    }
}

impl<E: std::error::Error> From<E> for ToolFailure {
    /// Takes the text of the error and of its causes. A cause whose text is already contained in it is left out.
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let said = error.to_string();
            if !text.contains(&said) {
                text = format!("{text}: {said}");
            }
            cause = error.source();
        }
        Self(text)
    }
}

impl fmt::Display for ToolFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ToolFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolFailure").field(&self.0).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the file cannot be read")]
    struct Unreadable(#[source] std::io::Error);

    #[test]
    fn the_text_of_an_error_has_its_causes() {
        let failure = ToolFailure::from(Unreadable(std::io::Error::other("no such disk")));
        assert_eq!(failure.to_string(), "the file cannot be read: no such disk");
    }
}
