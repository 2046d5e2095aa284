//! Running: the tokio driver, threads, and the event log. The only place that awaits.
//!
//! ```text
//! Graph ─ thread(id) ─► Thread ─ run, resume, answer ─► RunRequest ─ .await ───► Run { status, state }
//!                          │                                       └ .stream() ─► RunStream: events, then Run
//!                          ├─ history, head, at, before ─► Past ─ fork ─► Thread
//!                          │                              ├ rerun ─► RunRequest
//!                          │                              └ replay ─► ReplayRequest ─► Replay
//!                          ├─ events ─► PastEvents ─ follow(feed) ─► Followed
//!                          └─ state, edit, edit_as, input, discard_pending
//!
//! flow(name, code) ─► Flow: the same for plain async code, as a graph of one node
//!
//! RunRequest ─► begin    loads the head, makes the machine's first event
//!               answering checks answers and stores them
//!               idempotency finds the input of a repeated request, and of one that lost
//!               driver   the one loop: carries out the machine's commands
//!               tasks    what is under way, inline or spawned
//!               attempt  polls a node, maps its route
//!               results  keeps, records or reports what a task ended with
//!               lease    holds the thread, where that is asked for
//!               commit   merges, logs and stores a superstep
//!               recorder keeps what nodes emit, for the checkpoint
//!               replay   runs recorded supersteps once more, and compares
//!               rehearsal runs a part of a run that is made up, for tests
//!               subgraph runs a graph inside a task of another
//! ```

mod ambient;
mod answering;
mod attempt;
mod basis;
mod begin;
mod breakpoints;
mod cached;
mod change;
mod check_threads;
mod commit;
mod current_state;
mod described;
mod driver;
mod edit;
mod edit_request;
mod ending;
mod error;
mod event;
mod field_map;
mod flow;
mod graph;
mod history;
mod hold;
mod idempotency;
mod lease;
mod names;
mod narration;
mod order;
mod outcome;
mod past;
mod past_events;
mod play;
mod questions;
mod recorder;
mod recording;
mod redact;
mod rehearsal;
mod replay;
mod request;
mod results;
mod runtime;
mod slot;
mod spans;
mod state;
mod step_clock;
mod stream;
mod subgraph;
mod subgraph_node;
mod subgraphs;
mod tasks;
mod thread;
mod timers;
mod trace;
mod view;

pub(crate) use crate::checkpoint::below::thread as below;
pub use ambient::{Ambient, System};
pub use change::{Changed, OnChange};
pub use check_threads::{CheckedThread, ThreadCheck};
pub use edit_request::EditRequest;
pub use error::{NodeFailure, RunError, ThreadError};
pub use event::{EventKind, NamedWrite, Observer, PathSegment, RunEvent};
pub use flow::{Cx, Flow, FlowRequest, FlowRun, FlowState, FlowStream, FlowThread, flow};
pub use graph::Graph;
pub use history::History;
pub use lease::Lease;
pub(crate) use order::typed;
pub use outcome::{InputStatus, Interrupt, Run, Status, Unfinished};
pub use past::Past;
pub use past_events::{EventPosition, Followed, PastEvent, PastEvents, ThreadEvent};
pub(crate) use redact::named as named_write;
pub(crate) use rehearsal::Rehearsal;
pub use replay::{Difference, Divergence, Replay, ReplayRequest, Unverified, WhyUnverified};
pub use request::RunRequest;
pub(crate) use runtime::Runtime;
pub use state::{TaskOutput, TaskState, ThreadState};
pub use stream::{Feed, Received, RunStream, Subscription, View, Views};
pub use subgraph::lens::Lens;
pub use subgraph_node::{IntoSubgraph, Subgraph};
pub use subgraphs::SubgraphView;
pub use thread::Thread;
pub use tokio_util::sync::CancellationToken;
pub use trace::{TraceLog, TraceRecord};
pub use view::{CheckpointView, ConfigView, InterruptView, MetadataView, TaskView};
