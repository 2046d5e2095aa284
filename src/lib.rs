//! Superstep: a typed state-graph framework.

#![forbid(unsafe_code)]

pub use superstep_core::{checkpoint, engine, error, graph, id, node, reducer, route, run, state};

#[doc(hidden)]
pub use superstep_core::__private;

/// Everything a program that composes graphs needs.
pub mod prelude {
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
