//! The handles that users hold: graphs, threads, their past, requests, streams, flows.

mod any;
mod any_state;
mod check_threads;
mod described;
mod edit_request;
mod flow;
mod graph;
mod json_schemas;
mod names;
mod past;
mod request;
mod run_stream;
mod stored;
mod subgraph;
mod subgraphs;
mod thread;
mod trace;

pub use any::{AnyGraph, ToAnyGraph};
pub use any_state::AnyState;
pub use check_threads::{CheckedThread, ThreadCheck};
pub use edit_request::EditRequest;
pub use flow::{Cx, Flow, FlowState, flow};
pub use graph::Graph;
pub use json_schemas::JsonSchemas;
pub use past::Past;
pub use request::RunRequest;
pub use run_stream::RunStream;
pub use subgraph::{IntoSubgraph, Subgraph};
pub use subgraphs::SubgraphView;
pub use thread::Thread;
pub use trace::{TraceLog, TraceRecord};
