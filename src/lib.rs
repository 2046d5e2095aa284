//! A typed state-graph framework: LangGraph's model, with the state, the routes and the questions checked by
//! the compiler, every step checkpointed at the cost of what changed, and time travel.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use superstep::prelude::*;
//!
//! #[derive(State, Clone, Default)]
//! struct Draft {
//!     #[reducer(Append)]
//!     lines: Vec<String>,
//! }
//!
//! #[derive(Route, Serialize, Deserialize)]
//! enum Next {
//!     Again,
//!     Done,
//! }
//!
//! async fn write(draft: Snapshot<Draft>) -> (Update<Draft>, Next) {
//!     let next = if draft.lines.len() < 2 { Next::Again } else { Next::Done };
//!     (Draft::update().lines(["a line"]), next)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut g = StateGraph::<Draft>::new("draft");
//! let write = g.node("write", write);
//! g.edge(START, write);
//! g.route(write, move |next| match next {
//!     Next::Again => to(write),
//!     Next::Done => END,
//! });
//! let drafts = g.compile()?.checkpointer(MemorySaver::new());
//!
//! let draft = drafts.thread("first").run(Draft::update()).await?.finished()?;
//! assert_eq!(draft.lines.len(), 3);
//! # Ok(())
//! # }
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`prelude`] | what a program that composes graphs needs |
//! | [`state`], [`reducer`] | fields, updates, and how concurrent writes become one value |
//! | [`node`], [`route`] | functions of extractors as nodes; decisions |
//! | [`graph`] | wiring, its checks, drawings |
//! | [`run`] | threads, runs, history, events, traces; [`flow`] for plain async code |
//! | [`lock`] | a lock file of states and graphs, for a test that notices changes |
//! | [`testing`] | for tests of graphs: cassettes, single nodes, a clock moved by hand, claims about what ran |
//! | [`checkpoint`] | what is stored; the savers |
//! | [`store`] | values that outlive threads |
//! | `nodes` | messages, models, tools, prebuilt nodes and graphs (feature `nodes`, on by default) |
//! | [`engine`] | the pure machine, for those who write a driver of their own |
//! | [`guide`] | the documentation, a page per topic |

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

pub use superstep_core::{engine, error, graph, id, lock, node, reducer, route, run, state};

pub use superstep_core::run::flow;

#[cfg(feature = "sqlite")]
pub use superstep_inspect as inspect;

pub mod testing;

#[cfg(feature = "cli")]
pub use superstep_cli::{self as cli, debugger};

/// Values that outlive threads, by namespace and key: the extractor, the trait, and the stores.
pub mod store {
    pub use superstep_core::store::*;

    #[cfg(feature = "sqlite")]
    pub use superstep_checkpoint::SqliteStore;
}

/// Messages, models, tools, prebuilt nodes and graphs.
///
/// Some modules, and items of the others, are there with a feature only:
///
/// | item | feature |
/// |---|---|
/// | `provider` | `providers` |
/// | `tools` | `tools`; `tools::HttpRequest`: `tools-http`; `tools::Bash`: `tools-shell` |
/// | `docs`, `rag`, `model::Extractive` | `knowledge` |
/// | `mcp` | `mcp`; over HTTP: `mcp-http` |
/// | `images` | `images`; with `knowledge` also `graphs::critic` |
/// | `telemetry` | `metrics`, `otel` |
/// | `testkit` | `testkit` |
#[cfg(feature = "nodes")]
pub mod nodes {
    pub use superstep_names::{ModelName, OpenModelError, UnknownModel};
    pub use superstep_nodes::*;

    #[cfg(feature = "knowledge")]
    pub use superstep_knowledge::docs;
    #[cfg(feature = "mcp")]
    pub use superstep_mcp as mcp;
    #[cfg(feature = "providers")]
    pub use superstep_providers as provider;
    #[cfg(feature = "testkit")]
    pub use superstep_testkit as testkit;

    /// Graphs that are ready to run: those of [`superstep_nodes::graphs`], the critic of photographs, and the agents of a course.
    pub mod graphs {
        #[cfg(all(feature = "images", feature = "knowledge"))]
        pub use superstep_names::critic::*;
        pub use superstep_names::{CourseAgent, CourseSize};
        pub use superstep_nodes::graphs::*;
    }

    /// Built-in tools: those of [`superstep_tools`], and the search in documents.
    #[cfg(feature = "tools")]
    pub mod tools {
        #[cfg(feature = "knowledge")]
        pub use superstep_knowledge::docs::{SearchDocs, SearchDocsInput};
        pub use superstep_tools::*;
    }

    /// Knowledge for a model to look up, by words and by meaning: [`superstep_knowledge::rag`], and embedders by their names.
    #[cfg(feature = "knowledge")]
    pub mod rag {
        pub use superstep_knowledge::rag::*;
        pub use superstep_names::{EmbedderName, OpenEmbedderError, UnknownEmbedder};
    }

    /// Chat models and embedders: [`superstep_nodes::model`], and the model that quotes documents.
    pub mod model {
        #[cfg(feature = "knowledge")]
        pub use superstep_knowledge::{Extractive, extractive};
        pub use superstep_nodes::model::*;
    }
}

/// What is stored, and by whom: the trait, the model, and the savers.
pub mod checkpoint {
    pub use superstep_core::checkpoint::*;

    #[cfg(feature = "sqlite")]
    pub use superstep_checkpoint::{
        CheckpointFile, CheckpointReader, Durability, Located, SqliteOptions, SqliteReader, SqliteSaver,
        Subgraph, ThreadList, ThreadSize, maintenance,
    };

    #[cfg(feature = "sqlite")]
    pub use superstep_checkpoint::portable;

    #[cfg(feature = "conformance")]
    pub use superstep_conformance as conformance;

    #[cfg(feature = "encryption")]
    pub use superstep_checkpoint::{Key, KeyError, KeyId, KeyRing, Keys};

    #[cfg(feature = "sqlite")]
    #[doc(hidden)]
    pub use superstep_checkpoint::Stage;
}

#[doc(hidden)]
pub use superstep_core::__private;

/// Everything a program that composes graphs needs.
pub mod prelude {
    #[cfg(feature = "sqlite")]
    pub use superstep_checkpoint::{Durability, SqliteSaver, SqliteStore};
    pub use superstep_core::checkpoint::MemorySaver;
    pub use superstep_core::error::NodeError;
    pub use superstep_core::graph::{END, Exited, START, StateGraph, each, to};
    pub use superstep_core::node::{
        Ask, Dep, Effects, Emit, Failed, FromRef, Input, OnMismatch, OnUnknown, Retry, Snapshot, TaskInfo,
        blocking, node,
    };
    pub use superstep_core::reducer::{
        Any, Append, Ephemeral, Keyed, KeyedLog, LastValue, Max, Merge, Min, Reducer, Sum, Transient, Union,
    };
    pub use superstep_core::route::Route;
    pub use superstep_core::run::{
        CancellationToken, Cx, Graph, Lease, Lens, Run, RunError, Status, Thread, flow,
    };
    pub use superstep_core::state::{Field, State, Update};
    pub use superstep_core::store::{MemoryStore, Store};
}

#[cfg(all(doc, not(doctest)))]
pub mod guide;

/// The README's program is a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
