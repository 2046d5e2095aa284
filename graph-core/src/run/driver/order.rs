//! The requests of runs and their results, without types, for the driver.

use std::boxed::Box;
use std::collections::BTreeMap;
use std::string::String;
use std::sync::Arc;
use std::time::Duration;
use std::vec::Vec;

use tokio_util::sync::CancellationToken;

use super::recording::Recording;
use crate::checkpoint::{Checkpoint, IDEMPOTENCY_KEY};
use crate::engine::Limits;
use crate::id::{CheckpointId, InterruptId, RunId, TaskId, ThreadId};
use crate::node::{Item, Tape};
use crate::run::runtime::breakpoints::Wanted;
use crate::run::runtime::event::Observer;
use crate::run::runtime::lease::Lease;
use crate::run::runtime::outcome::Status;
use crate::run::runtime::stream::queue::EventQueue;
use crate::run::runtime::thread_error::ThreadError;
use crate::state::{CodecError, ErasedState, ErasedUpdate, Json, LoggedWrite};

/// A request to run a thread, without types.
pub(crate) struct Order {
    pub(crate) verb: Verb,
    pub(crate) thread: ThreadId,
    /// The idempotency key, if the request has one.
    pub(crate) key: Option<RequestKey>,
    /// The questions that it answers.
    pub(crate) answered: Vec<InterruptId>,
    pub(crate) limits: Limits,
    /// The lease to acquire before the run begins.
    pub(crate) lease: Option<Lease>,
    pub(crate) stops: Stops,
    pub(crate) breakpoints: Wanted,
    pub(crate) observers: Vec<Arc<dyn Observer>>,
    /// The queue of the handle that drives the run, if there is one.
    pub(crate) queue: Option<Arc<EventQueue>>,
    pub(crate) metadata: BTreeMap<String, Json>,
    /// The maximum number of bytes of emitted events kept with a superstep's checkpoint; `None` if none are kept.
    pub(crate) kept_bytes: Option<usize>,
    pub(crate) mode: Mode,
}

impl Order {
    /// Creates a request with default options and no observers.
    pub(crate) fn new(verb: Verb, thread: ThreadId) -> Self {
        Self {
            verb,
            thread,
            key: None,
            answered: Vec::new(),
            limits: Limits::default(),
            lease: None,
            stops: Stops::default(),
            breakpoints: Wanted::default(),
            observers: Vec::new(),
            queue: None,
            metadata: BTreeMap::new(),
            kept_bytes: None,
            mode: Mode::default(),
        }
    }
}

/// The earlier results that a run uses, in addition to the work on top of its first checkpoint.
#[derive(Clone, Default)]
pub(crate) enum Mode {
    /// The results in the node cache.
    #[default]
    Live,
    /// No earlier results: everything runs again.
    Anew,
    /// Everything that is recorded and nothing else, so that nothing runs live.
    Replayed(Arc<Recording>),
}

/// The ways in which a caller may stop a run.
#[derive(Clone, Default)]
pub(crate) struct Stops {
    /// Stops the run at once.
    pub(crate) cancel: Option<CancellationToken>,
    /// Stops the run at the next barrier.
    pub(crate) drain: Option<CancellationToken>,
    /// Stops the run if a superstep takes longer than this.
    pub(crate) step_timeout: Option<Duration>,
}

/// The verbs of a run.
pub(crate) enum Verb {
    /// A new input. `whole` is `true` for a whole state, which only a new thread accepts.
    Input { update: Box<dyn ErasedUpdate>, whole: bool },
    /// No input, because the given one does not fit the graph.
    Refused(ThreadError),
    /// The unfinished work of the head.
    Resume,
    /// One task of the unfinished work.
    Task(TaskId),
    /// A new branch from this checkpoint.
    Rerun(Box<Checkpoint>),
    /// The unfinished work of the head, with answers.
    Answer(Answers),
}

/// Answers to open questions.
pub(crate) enum Answers {
    /// The answer to the only open question.
    Only(Json),
    /// Answers to these questions.
    ById(Vec<(InterruptId, Json)>),
    /// An answer that has no JSON form.
    Broken(CodecError),
}

impl Mode {
    pub(crate) fn tape(&self) -> Option<Arc<Tape>> {
        match self {
            Self::Live | Self::Anew => None,
            Self::Replayed(recording) => Some(Arc::clone(&recording.tape)),
        }
    }
}

/// The idempotency key of a request, in the form stored in the metadata of its checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestKey(Json);

impl RequestKey {
    pub(crate) fn new(key: &str) -> Self {
        Self(Json::encode(key).expect("a text has a JSON form"))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_str() == "\"\""
    }

    /// Adds the key to the metadata of a run's checkpoints.
    pub(crate) fn add_to(&self, metadata: &mut BTreeMap<String, Json>) {
        metadata.insert(IDEMPOTENCY_KEY.into(), self.0.clone());
    }

    pub(crate) fn is_in(&self, metadata: &BTreeMap<String, Json>) -> bool {
        metadata.get(IDEMPOTENCY_KEY) == Some(&self.0)
    }
}

/// The result of a run, for the machine and the driver.
pub(crate) struct Ended {
    pub(crate) run: RunId,
    pub(crate) checkpoint: Option<CheckpointId>,
    pub(crate) step: i64,
    pub(crate) status: Status,
    pub(crate) state: Arc<dyn ErasedState>,
    /// The decision with which a subgraph took its exit.
    pub(crate) exit: Option<Item>,
    /// The writes that a subgraph returns.
    pub(crate) delta: Vec<LoggedWrite>,
}
