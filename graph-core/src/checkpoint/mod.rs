//! The model of stored data, and the trait that stores implement.
//!
//! ```text
//! input −1 ──► start 0 ──► step 1 ──► step 2          a thread: each checkpoint names its parent
//!                             │         ▲
//!                             │         └ head         moves by compare-and-swap
//!                             │
//!                             └──► step 2' ──► …       a fork: shares the past, copies nothing
//!
//! on top of the head, until the next one is written:
//!   pending writes     results of finished tasks of the unfinished superstep
//!   asks               questions of paused tasks, and their answers
//!   effects            the journal: what tasks did to the outside world
//! ```
//!
//! A checkpoint contains what changed, as operations ([`Op`](crate::state::Op)); the value of a field is the fold
//! of its operations along the parents. So the cost of a checkpoint depends only on what changed.

mod amend;
mod around;
pub(crate) mod below;
mod checkpointer;
mod checkpointer_ext;
mod codec;
mod commit;
mod deletion;
mod emitted;
mod frontier;
mod lease;
#[cfg(feature = "std")]
mod memory;
mod model;
mod name;
mod record;
mod recorded;
mod scan;
pub(crate) mod secret_past;
mod size;
mod store_error;
mod time;
mod watch;
mod work;

pub use amend::{Carrier, Onto};
pub use around::Around;
pub use checkpointer::{At, Checkpointer, Load};
pub use checkpointer_ext::CheckpointerExt;
pub use codec::{Fold, digest};
pub use commit::{Carried, Commit, Committed};
pub use deletion::still_needed;
pub use emitted::{Emitted, EmittedEvent};
pub use frontier::{Cause, DeferredNode, Frontier, JoinProgress, Kept, NextTask, Positions};
pub use lease::{Acquired, Claim, LeaseRecord, LeaseReply, LeaseRequest, Standing};
#[cfg(feature = "std")]
pub use memory::MemorySaver;
pub(crate) use model::{CONFIGURATION, IDEMPOTENCY_KEY};
pub use model::{
    Checkpoint, GraphDescription, Handled, Loaded, RouteRecord, Seq, Source, StepRecord, Summary, TaskRecord,
    ThreadSummary,
};
pub use name::{CheckpointName, InvalidName, NamedCheckpoint, Naming};
pub use record::{Piece, Record};
pub use recorded::Recorded;
pub use scan::{Page, PastScan, Scan, ThreadScan};
pub use secret_past::SecretPast;
pub use size::StateSize;
pub use store_error::{KeyProblem, StoreError};
pub use time::rfc3339;
pub use watch::{Mark, Watch};
pub use work::{
    Answered, AnsweredBy, Answers, AskRecord, Deadline, EffectId, EffectOutcome, EffectRecord, EffectWrite,
    FailureRecord, TargetRecord, TaskResult, Work,
};
