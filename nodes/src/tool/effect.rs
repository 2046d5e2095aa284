//! What a tool call does to the world.

/// What a tool call does to the world.
///
/// A finished call is never repeated: its outcome is recorded. This is about calls that a crash cut short, of
/// which nobody knows whether they happened, and about calls that a model asks for at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolEffect {
    /// It looks and changes nothing: it may run again, and beside other such calls.
    ReadOnly,
    /// Twice is as good as once: it may run again, alone.
    Idempotent,
    /// It changes something each time: it runs alone, and is never run again without a person's word. The
    /// default, as it is the safe guess.
    #[default]
    Changes,
}

impl ToolEffect {
    /// Tells whether a call of unknown outcome may simply run again.
    pub const fn may_repeat(self) -> bool {
        matches!(self, Self::ReadOnly | Self::Idempotent)
    }
}
