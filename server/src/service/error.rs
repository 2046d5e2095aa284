//! Errors of the start of a server.

/// The error of a server that cannot start with its graphs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphsError {
    /// There is no graph. Give the server at least one.
    #[error("a server needs at least one graph")]
    NoGraph,
    /// A graph has no checkpointer. Give it one with `.checkpointer(..)`.
    #[error("graph {graph:?} has no checkpointer; give it one with `.checkpointer(..)`")]
    NoCheckpointer {
        /// The graph.
        graph: String,
    },
    /// Two graphs have one name. Rename one of them.
    #[error("two graphs are named {graph:?}; a server needs different names")]
    SameName {
        /// The name.
        graph: String,
    },
    /// Two graphs have different stores. Give them one saver with `.shared_checkpointer(..)`.
    #[error(
        "graphs {graph:?} and {other:?} have different stores; share one with `.shared_checkpointer(..)`"
    )]
    OtherStore {
        /// A graph.
        graph: String,
        /// The first graph.
        other: String,
    },
    /// The saver keeps no rows of servers. Use `MemorySaver` or `SqliteSaver`.
    #[error("the checkpointer keeps no rows of servers; use `MemorySaver` or `SqliteSaver`")]
    NoRecords,
}
