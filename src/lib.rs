//! Superstep: a typed state-graph framework.

#![forbid(unsafe_code)]

pub use superstep_core::{engine, error, graph, id, node, reducer, route, run, state};

#[cfg(feature = "nodes")]
pub use superstep_nodes as nodes;

/// What is stored, and by whom: the trait, the model, and the savers.
pub mod checkpoint {
    pub use superstep_core::checkpoint::*;

    #[cfg(feature = "sqlite")]
    pub use superstep_checkpoint::{Durability, SqliteOptions, SqliteSaver};

    #[cfg(feature = "sqlite")]
    #[doc(hidden)]
    pub use superstep_checkpoint::Stage;
}

#[doc(hidden)]
pub use superstep_core::__private;

/// Everything a program that composes graphs needs.
pub mod prelude {
    #[cfg(feature = "sqlite")]
    pub use superstep_checkpoint::{Durability, SqliteSaver};
    pub use superstep_core::checkpoint::MemorySaver;
    pub use superstep_core::error::NodeError;
    pub use superstep_core::graph::{END, START, StateGraph, each, to};
    pub use superstep_core::node::{
        Ask, Dep, Effects, Emit, FromRef, Input, OnUnknown, Retry, Snapshot, TaskInfo,
    };
    pub use superstep_core::reducer::{
        Any, Append, Ephemeral, Keyed, KeyedLog, LastValue, Max, Merge, Min, Reducer, Sum, Transient, Union,
    };
    pub use superstep_core::route::Route;
    pub use superstep_core::run::{CancellationToken, Graph, Run, RunError, Status, Thread};
    pub use superstep_core::state::{Field, State, Update};
}
