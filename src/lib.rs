//! A typed state-graph framework with the model of LangGraph. The compiler checks the state, the routes and the
//! questions, every superstep is checkpointed at a cost proportional to what changed, and time travel is built in.
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
//! | [`prelude`] | everything that a program needs to build and run graphs |
//! | [`state`], [`reducer`] | fields, updates, and how concurrent writes become one value |
//! | [`node`], [`route`] | node functions, extractors, effects and questions; decisions |
//! | [`graph`] | the graph builder, its checks, drawings |
//! | [`run`] | threads, runs, history, events, traces; [`flow`] for plain async code |
//! | [`lock`] | a lock file of states and graphs, for a test that detects changes |
//! | [`testing`] | tools for testing graphs: cassettes, single nodes, a manual clock, assertions about runs |
//! | [`checkpoint`] | checkpoints, the trait of savers, and the savers |
//! | [`store`] | values that outlive threads |
//! | `nodes` | messages, models, tools, prebuilt nodes and graphs (feature `nodes`, on by default) |
//! | `driver` | everything that implementations of savers and drivers need (feature `unstable-driver`) |
//! | `serve`, `server` | a server of graphs for the clients of LangGraph's API (feature `server`; with the studio `studio`) |
//! | `restate` | graphs as services of Restate (feature `restate`) |
//! | [`guide`] | the documentation, a page per topic |

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

pub use superstep_core::{error, id, lock, reducer, route, run};

/// The whole core, with its records and its pure state machine, for implementations of savers and drivers, and for
/// the code that the derives generate. Any release may change it.
#[cfg(feature = "unstable-driver")]
pub use superstep_core as driver;

pub use superstep_core::run::flow;

#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub use superstep_inspect as inspect;

pub mod testing;

#[cfg(feature = "cli")]
pub use superstep_cli as cli;
#[cfg(all(feature = "cli", not(feature = "studio")))]
pub use superstep_cli::debugger;

/// Makes a [debugger](cli::debugger) for these graphs and flows, which also has the verb `studio`.
#[cfg(feature = "studio")]
pub fn debugger(graphs: &[&dyn run::ToAnyGraph]) -> cli::Debugger {
    cli::debugger(graphs).with(server::StudioVerb)
}

#[cfg(feature = "server")]
pub use superstep_server::{self as server, serve};

#[cfg(feature = "restate")]
pub use superstep_restate::{self as restate, restate};

/// Values that outlive threads, stored by namespace and key: the extractor, the trait, and the stores.
pub mod store {
    pub use superstep_core::store::*;

    #[cfg(feature = "sqlite")]
    pub use superstep_checkpoint::SqliteStore;

    #[cfg(feature = "postgres")]
    pub use superstep_checkpoint::PostgresStore;
}

/// Messages, models, tools, prebuilt nodes and graphs.
///
/// Some modules and items need another feature:
///
/// | item | feature |
/// |---|---|
/// | `assistant`, `graphs::assistant` | `assistant` |
/// | `provider` | `providers` |
/// | `tools` | `tools`; `tools::HttpRequest`: `tools-http`; `tools::Bash`: `tools-shell` |
/// | `docs`, `rag`, `model::Extractive` | `knowledge` |
/// | `mcp` | `mcp`; over HTTP: `mcp-http` |
/// | `images` | `images` |
/// | `telemetry` | `metrics`, `otel` |
/// | `testkit` | `testkit` |
#[cfg(feature = "nodes")]
pub mod nodes {
    pub use superstep_names::{ModelName, OpenModelError, UnknownModel};
    pub use superstep_nodes::*;

    #[cfg(feature = "assistant")]
    pub use superstep_assistant as assistant;
    #[cfg(feature = "knowledge")]
    pub use superstep_knowledge::docs;
    #[cfg(feature = "mcp")]
    pub use superstep_mcp as mcp;
    #[cfg(feature = "providers")]
    pub use superstep_providers as provider;
    #[cfg(feature = "testkit")]
    pub use superstep_testkit as testkit;

    /// Graphs that are ready to run: [`superstep_nodes::graphs`], and the assistant.
    pub mod graphs {
        #[cfg(feature = "assistant")]
        pub use superstep_assistant::{
            AssistantConfig, AssistantError, AssistantGraph, AssistantState, AssistantStateUpdate, assistant,
        };
        pub use superstep_nodes::graphs::*;
    }

    /// Built-in tools: those of [`superstep_tools`], and the document search.
    #[cfg(feature = "tools")]
    pub mod tools {
        #[cfg(feature = "knowledge")]
        pub use superstep_knowledge::docs::{SearchDocs, SearchDocsInput};
        pub use superstep_tools::*;
    }

    /// Knowledge bases that search by words and by meaning: [`superstep_knowledge::rag`], and embedders selected by
    /// name.
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

/// The state of a graph: fields with reducers, updates, and their JSON forms.
///
/// `#[derive(State)]` on a struct turns its fields into the fields of a state. A node returns an
/// [`Update`](state::Update), a list of writes; at the end of a superstep each write goes through the
/// [reducer](mod@reducer) of its field. A state is stored field by field, so a superstep costs only what it wrote.
pub mod state {
    pub use superstep_core::state::{
        Excess, Field, Found, Input, IntoInput, Json, JsonError, JsonFields, JsonState, JsonUpdate,
        LoadError, Migration, Mismatch, SizeLimits, State, StateForm, Update, Write,
    };
}

/// Nodes: plain `async fn`s whose arguments are extractors.
///
/// ```text
/// async fn research(web: Dep<Web>, query: Input<Query>, fx: Effects) -> Result<Update<Essay>, WebError>
///                   └─ taken from the task: a dependency, an input, a way to record effects     └─ writes
/// ```
///
/// A node receives the state as of the last superstep and returns its changes.
pub mod node {
    pub use superstep_core::node::{
        Ambient, Ask, Askable, Cache, Configured, Dep, Effect, EffectAnswer, EffectQuestion, Effects, Emit,
        Failed, FromRef, Input, IntoNode, Item, JsonOutcome, NoInput, Node, OnMismatch, OnUnknown, Output,
        Policy, Reconciled, Retry, Snapshot, Task, TaskInfo, blocking, node,
    };
}

/// Graphs: nodes, edges, routes and joins, checked when they are compiled.
///
/// The handles of nodes are typed: a forgotten case of a route, an edge out of a deciding node, or an edge into a node that
/// needs an input does not compile. [`StateGraph::compile`](graph::StateGraph::compile) finds and reports all other problems at
/// once, as a [`BuildError`](graph::BuildError).
pub mod graph {
    pub use superstep_core::graph::{
        BuildError, CaseError, Description, DescriptionError, END, Exit, Exited, JsonDecision, NodeRef,
        Nothing, Problem, Registry, START, StateGraph, each, to,
    };
}

/// Checkpoints: the savers, their files and settings, and the data that programs read from them.
///
/// To write a saver, implement [`Checkpointer`](checkpoint::Checkpointer). Its records are in `driver::checkpoint`,
/// with the feature `unstable-driver`, and the test suite is in `conformance`, with the feature of that name.
pub mod checkpoint {
    pub use superstep_core::checkpoint::{
        AnsweredBy, AskRecord, At, CheckpointName, Checkpointer, CheckpointerExt, Deadline, EffectId,
        EffectOutcome, EffectRecord, Emitted, EmittedEvent, GraphDescription, InvalidName, KeyProblem,
        LeaseRecord, Mark, MemorySaver, NamedCheckpoint, Source, StepRecord, StoreError, ThreadScan,
        ThreadSummary, Watch, rfc3339,
    };

    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub use superstep_checkpoint::{
        CheckpointReader, Durability, Located, ReadOnlySaver, Subgraph, ThreadList, ThreadSize, maintenance,
        portable,
    };

    #[cfg(feature = "sqlite")]
    pub use superstep_checkpoint::{CheckpointFile, SqliteOptions, SqliteReader, SqliteSaver};

    #[cfg(feature = "postgres")]
    pub use superstep_checkpoint::{PostgresOptions, PostgresReader, PostgresSaver};

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

/// The items that a program needs to build and run graphs.
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

/// Runs the README's program as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
