//! Running graphs: the tokio driver, threads, and the event log. Only this module awaits.
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
//! flow(name, code) ─► Flow: plain async code, as a graph of one node
//! graph.erased() ─► AnyGraph: any graph, without the type of its state
//! ```
//!
//! The modules depend on each other in one direction:
//!
//! ```text
//! runtime ◄── driver ◄── past ◄── handles
//! what runs   carries out   looks    what users
//! share       commands      back     hold
//! ```

mod driver;
mod handles;
mod past;
mod runtime;

pub use tokio_util::sync::CancellationToken;

pub(crate) use self::driver::partial_run::PartialRun;
pub use self::driver::subgraph::lens::Lens;
pub use self::handles::{
    AnyGraph, AnyState, CheckedThread, Cx, EditRequest, Flow, FlowState, Graph, IntoSubgraph, JsonSchemas,
    Past, RunRequest, RunStream, Subgraph, SubgraphView, Thread, ThreadCheck, ToAnyGraph, TraceLog,
    TraceRecord, flow,
};
pub use self::past::events::{EventPosition, Followed, PastEvent, PastEvents, ThreadEvent};
pub use self::past::replay::{Difference, Divergence, Replay, ReplayRequest, Unverified, WhyUnverified};
pub use self::past::state::{TaskOutput, TaskState, ThreadState};
pub use self::past::view::{CheckpointView, ConfigView, InterruptView, MetadataView, TaskView};
pub use self::runtime::ambient::{Ambient, System};
pub use self::runtime::change::{Changed, OnChange};
pub use self::runtime::error::{NodeFailure, RunError};
pub use self::runtime::event::{EventKind, NamedWrite, Observer, PathSegment, RunEvent};
pub use self::runtime::history::History;
pub use self::runtime::lease::Lease;
pub use self::runtime::outcome::{InputStatus, Interrupt, Run, Status, Unfinished};
pub(crate) use self::runtime::redact::named as named_write;
pub(crate) use self::runtime::shared::Runtime;
pub use self::runtime::stream::feed::{Feed, Received, Subscription};
pub use self::runtime::stream::view::{View, Views};
pub use self::runtime::thread_error::ThreadError;
pub(crate) use crate::checkpoint::below::thread as below;
