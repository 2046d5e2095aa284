//! Nodes: plain `async fn`s whose arguments are extractors.
//!
//! ```text
//! async fn research(web: Dep<Web>, query: Input<Query>, fx: Effects) -> Result<Update<Essay>, WebError>
//!                   └─ what it needs: taken from the task by FromTask ─┘     └─ IntoOutcome: writes, route
//! ```
//!
//! A node receives the state as of the last barrier and returns its changes; it never owns the state.

mod ambient;
mod ask;
#[cfg(feature = "tokio")]
mod blocking;
mod cache;
mod cassette;
mod cell;
mod configured;
mod describe;
mod done;
mod effect;
mod effect_run;
mod extractors;
mod failed;
mod function;
mod in_flight;
mod info;
mod input;
mod intent;
mod json;
mod outcome;
mod own_name;
mod policy;
mod recorded_error;
mod revoked;
mod run_cell;
mod sync;
mod task;
#[cfg(feature = "tokio")]
mod threads;

pub use ambient::Ambient;
pub use ask::{Ask, Askable};
#[cfg(feature = "tokio")]
pub use blocking::{Blocking, ByThread, blocking};
pub use cache::Cache;
pub use configured::Configured;
pub use describe::NodeDescription;
pub(crate) use describe::{AskDescription, schema_of};
pub use done::Done;
pub(crate) use done::Record;
pub use effect::{EffectAnswer, EffectQuestion, Effects};
pub use effect_run::{Effect, Reconciled};
pub use extractors::{Dep, FromRef, Snapshot};
pub use failed::Failed;
pub use function::{ByType, CalledAs, Code, Fold, FromTask, IntoNode, Node, OneInput};
pub use info::{Emit, TaskInfo};
pub use input::{Input, Item, NoInput, OrInput, Takes};
pub use json::JsonOutcome;
pub use outcome::{FailsWith, IntoOutcome, Output};
pub(crate) use policy::Next;
pub use policy::{OnMismatch, OnUnknown, Policy, Retry};
pub use task::Task;

/// ```
/// # extern crate superstep_core as superstep;
/// use superstep::node::FromRef;
///
/// #[derive(Clone)]
/// struct Llm;
///
/// #[derive(FromRef, Clone)]
/// struct Deps {
///     llm: Llm,
///     names: Vec<String>,
/// }
///
/// let deps = Deps { llm: Llm, names: vec!["a".to_owned()] };
/// assert_eq!(Vec::<String>::from_ref(&deps), ["a"]);
/// # let (_llm, _deps) = (Llm::from_ref(&deps), Deps::from_ref(&deps));
/// # let _ = deps.llm;
/// ```
pub use superstep_macros::FromRef;

/// ```
/// # extern crate superstep_core as superstep;
/// use superstep::node::{Dep, FromRef, Snapshot, node};
/// use superstep::state::{State, Update};
///
/// #[derive(State, Clone, Default)]
/// struct Essay {
///     topic: String,
///     draft: String,
/// }
///
/// #[derive(Clone)]
/// struct Llm;
///
/// #[derive(FromRef, Clone)]
/// struct Deps {
///     llm: Llm,
/// }
///
/// #[node(context = Deps)]
/// async fn write(essay: Snapshot<Essay>, llm: Dep<Llm>) -> Update<Essay> {
///     let Dep(Llm) = llm;
///     Essay::update().draft(format!("About {}.", essay.topic))
/// }
/// # let _ = write;
/// ```
pub use superstep_macros::node;

pub(crate) use cache::CachePolicy;
pub(crate) use cassette::{Deck, Level, Recording, What};
pub(crate) use cell::{INSIDE, Note, Tape, TaskCell, TaskFacts};
pub(crate) use describe::{InputDescription, effect_ask, short_type_name};
pub(crate) use effect::EFFECT_ARGUMENT;
pub(crate) use function::Running;
pub(crate) use own_name::HANDLER;
pub(crate) use revoked::Revoked;
pub(crate) use run_cell::{Around, CustomSink, RunCell};
pub(crate) use task::ErasedTask;
