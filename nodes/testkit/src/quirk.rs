//! Deviations of servers that are only compatible.

/// Something that some servers do, though no document says so. All but the last two are of Chat Completions and
/// change nothing elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Quirk {
    /// The parts of tool calls come without their `index`.
    MissingIndex,
    /// A tool call comes whole, in one chunk.
    WholeCalls,
    /// The parts of several tool calls come in turn, as they may.
    InterleavedCalls,
    /// Tool calls have empty ids.
    EmptyIds,
    /// The answer ends with `stop`, though there are tool calls.
    StopWithCalls,
    /// Nothing tells the usage, asked for or not.
    NoUsage,
    /// The usage is in the last chunk that has a choice, asked for or not.
    UsageWithChoice,
    /// The stream ends without `[DONE]`.
    NoDone,
    /// The thinking of the model is sent as `reasoning_content`.
    ReasoningContent,
    /// Status 200 and a stream with nothing in it.
    EmptyStream,
    /// Between the events there are some that no document names, and objects have members that none names.
    UnknownEvents,
}
