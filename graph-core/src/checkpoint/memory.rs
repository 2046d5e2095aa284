//! The in-memory saver.

/// Keeps checkpoints in memory, for tests and for programs that need no durability.
#[derive(Debug, Default)]
pub struct MemorySaver {}
