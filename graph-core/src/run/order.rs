//! An order to run, and its end: without types, for the driver.

use std::boxed::Box;
use std::collections::BTreeMap;
use std::string::String;
use std::sync::Arc;
use std::time::Duration;
use std::vec::Vec;

use tokio_util::sync::CancellationToken;

use super::breakpoints::Wanted;
use super::event::Observer;
use super::lease::Lease;
use super::outcome::Status;
use super::recording::Recording;
use super::stream::EventQueue;
use crate::checkpoint::{Checkpoint, IDEMPOTENCY_KEY};
use crate::engine::Limits;
use crate::id::{CheckpointId, InterruptId, RunId, ThreadId};
use crate::node::{Item, Tape};
use crate::state::{CodecError, ErasedState, ErasedUpdate, Json, LoggedWrite, State};

/// What is to be done, without types.
pub(super) struct Order {
    pub(super) verb: Verb,
    pub(super) thread: ThreadId,
    /// The idempotency key, where the request was given one.
    pub(super) key: Option<RequestKey>,
    /// The questions that it answers.
    pub(super) answered: Vec<InterruptId>,
    pub(super) limits: Limits,
    /// What it asks for before it begins.
    pub(super) lease: Option<Lease>,
    pub(super) stops: Stops,
    pub(super) breakpoints: Wanted,
    pub(super) observers: Vec<Arc<dyn Observer>>,
    /// The way to the handle that drives the run, where there is one.
    pub(super) queue: Option<Arc<EventQueue>>,
    pub(super) metadata: BTreeMap<String, Json>,
    /// How many bytes of what nodes emit in a superstep are kept with its checkpoint; `None` for no such thing.
    pub(super) kept_bytes: Option<usize>,
    pub(super) mode: Mode,
}

impl Order {
    /// An order without wishes, of nobody who watches.
    pub(super) fn new(verb: Verb, thread: ThreadId) -> Self {
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

/// What a run uses of what earlier ones have come to, beside the work on top of the checkpoint that it begins at.
#[derive(Clone, Default)]
pub(super) enum Mode {
    /// What the node cache holds.
    #[default]
    Live,
    /// Nothing: everything happens again.
    Anew,
    /// Everything that is recorded, and nothing else: nothing happens.
    Replayed(Arc<Recording>),
}

/// How the caller may stop a run.
#[derive(Clone, Default)]
pub(super) struct Stops {
    /// Now.
    pub(super) cancel: Option<CancellationToken>,
    /// At the next barrier.
    pub(super) drain: Option<CancellationToken>,
    /// When a superstep takes longer than this.
    pub(super) step_timeout: Option<Duration>,
}

/// The verbs of a run.
pub(super) enum Verb {
    /// A new input; `whole` when it is a whole state, for a new thread only.
    Input { update: Box<dyn ErasedUpdate>, whole: bool },
    /// The unfinished work of the head.
    Resume,
    /// A new branch from this checkpoint.
    Rerun(Box<Checkpoint>),
    /// The same, with answers.
    Answer(Answers),
}

/// Answers to open questions.
pub(super) enum Answers {
    /// To the only open one.
    Only(Json),
    /// To these.
    ById(Vec<(InterruptId, Json)>),
    /// An answer that has no JSON form.
    Broken(CodecError),
}

impl Mode {
    pub(super) fn tape(&self) -> Option<Arc<Tape>> {
        match self {
            Self::Live | Self::Anew => None,
            Self::Replayed(recording) => Some(Arc::clone(&recording.tape)),
        }
    }
}

/// The idempotency key of a request, as the metadata of its checkpoints has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestKey(Json);

impl RequestKey {
    pub(super) fn new(key: &str) -> Self {
        Self(Json::encode(key).expect("a text has a JSON form"))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.as_str() == "\"\""
    }

    /// Adds the key to the metadata of a run's checkpoints.
    pub(super) fn add_to(&self, metadata: &mut BTreeMap<String, Json>) {
        metadata.insert(IDEMPOTENCY_KEY.into(), self.0.clone());
    }

    pub(super) fn is_in(&self, metadata: &BTreeMap<String, Json>) -> bool {
        metadata.get(IDEMPOTENCY_KEY) == Some(&self.0)
    }
}

/// How a run ended, as the machine and the driver see it.
pub(super) struct Ended {
    pub(super) run: RunId,
    pub(super) checkpoint: Option<CheckpointId>,
    pub(super) step: i64,
    pub(super) status: Status,
    pub(super) state: Arc<dyn ErasedState>,
    /// The decision with which a subgraph was left.
    pub(super) exit: Option<Item>,
    /// The writes that a subgraph gives back.
    pub(super) delta: Vec<LoggedWrite>,
}

/// Takes the state out of the driver's hands, without a copy where nobody else holds it.
pub(crate) fn typed<S: State>(state: Arc<dyn ErasedState>) -> S {
    let state: Arc<dyn std::any::Any + Send + Sync> = state;
    Arc::unwrap_or_clone(state.downcast::<S>().expect("the driver owns the state of this graph"))
}
