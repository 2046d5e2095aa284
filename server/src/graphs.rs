//! The graphs of a server.

use std::sync::Arc;

use superstep_core::checkpoint::Checkpointer;
use superstep_core::id::NodeName;
use superstep_core::records::Records;
use superstep_core::run::AnyGraph;

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
    /// The saver keeps no rows of servers. Use `SqliteSaver`, `PostgresSaver` or `MemorySaver`.
    #[error("the checkpointer keeps no rows of servers; use `SqliteSaver`, `PostgresSaver` or `MemorySaver`")]
    NoRecords,
}

/// The graphs that a server has, by name. They share one saver.
pub(crate) struct Graphs(Vec<AnyGraph>);

impl Graphs {
    /// Checks the graphs. Returns them with the rows of their saver.
    pub(crate) fn new(graphs: Vec<AnyGraph>) -> Result<(Self, Arc<dyn Records>), GraphsError> {
        let first = graphs.first().ok_or(GraphsError::NoGraph)?;
        let unstored = |graph: &AnyGraph| GraphsError::NoCheckpointer { graph: graph.name().to_string() };
        let shared = first.saver().ok_or_else(|| unstored(first))?;
        for (position, graph) in graphs.iter().enumerate() {
            let saver = graph.saver().ok_or_else(|| unstored(graph))?;
            if !is_same(saver, shared) {
                let (graph, other) = (graph.name().to_string(), first.name().to_string());
                return Err(GraphsError::OtherStore { graph, other });
            }
            if graphs[..position].iter().any(|other| other.name() == graph.name()) {
                return Err(GraphsError::SameName { graph: graph.name().to_string() });
            }
        }
        let records = shared.records().ok_or(GraphsError::NoRecords)?;
        Ok((Self(graphs), records))
    }

    /// Returns the graph with this name.
    pub(crate) fn named(&self, name: &str) -> Option<&AnyGraph> {
        self.0.iter().find(|graph| graph.name().as_str() == name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &AnyGraph> {
        self.0.iter()
    }

    pub(crate) fn names(&self) -> Vec<NodeName> {
        self.0.iter().map(|graph| graph.name().clone()).collect()
    }
}

/// Returns `true` for two handles of one store: the same saver, or clones of one whose rows are shared.
fn is_same(saver: &Arc<dyn Checkpointer>, other: &Arc<dyn Checkpointer>) -> bool {
    if Arc::ptr_eq(saver, other) {
        return true;
    }
    match (saver.records(), other.records()) {
        (Some(rows), Some(others)) => Arc::ptr_eq(&rows, &others),
        _ => false,
    }
}
