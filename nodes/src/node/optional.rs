//! Values that a state may have or not have yet.

/// A text of a state, or one that is not there yet.
pub trait OptionalText: Send + Sync + 'static {
    /// Returns the text, if it is there.
    fn get(&self) -> Option<&str>;
}

impl OptionalText for String {
    fn get(&self) -> Option<&str> {
        Some(self)
    }
}

impl OptionalText for Option<String> {
    fn get(&self) -> Option<&str> {
        self.as_deref()
    }
}

/// A count of a state, or one that is not there yet, which is 0.
pub trait OptionalCount: Send + Sync + 'static {
    /// Makes a count.
    fn of(count: u32) -> Self;

    /// Returns the count.
    fn get(&self) -> u32;
}

impl OptionalCount for u32 {
    fn of(count: u32) -> Self {
        count
    }

    fn get(&self) -> u32 {
        *self
    }
}

impl OptionalCount for Option<u32> {
    fn of(count: u32) -> Self {
        Some(count)
    }

    fn get(&self) -> u32 {
        self.unwrap_or(0)
    }
}
