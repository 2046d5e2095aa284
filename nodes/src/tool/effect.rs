//! The effects of tool calls on the world.

/// The effect of a tool call on the world.
///
/// A finished call is never repeated: its outcome is recorded. The effect matters for calls that a crash cut short, as
/// it is not known whether they happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolEffect {
    /// It looks and changes nothing: it may run again. A [`TypedTool`](super::TypedTool) of this kind also runs beside
    /// other such calls.
    ReadOnly,
    /// Twice is as good as once: it may run again.
    Idempotent,
    /// It changes something each time: it is never run again without a person's consent. This is the default, as it is
    /// the safe guess.
    #[default]
    Changes,
}

impl ToolEffect {
    /// Tells whether a call of unknown outcome may simply run again.
    pub const fn may_repeat(self) -> bool {
        matches!(self, Self::ReadOnly | Self::Idempotent)
    }
}
