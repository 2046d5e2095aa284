//! Questions to people and other programs.

use alloc::string::ToString;
use alloc::sync::Arc;
use core::future::pending;
use core::marker::PhantomData;
use core::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::cell::{Asked, Asking, TaskCell};
use super::describe::NodeDescription;
use super::function::FromTask;
use super::input::NoInput;
use super::task::Task;
use crate::error::{EffectError, NodeError, NodeErrorKind};
use crate::id::InterruptId;
use crate::state::{CodecError, Json, State};

/// Extracts a handle with which a node asks a person or another program a typed question.
///
/// Asking pauses the thread: the question is stored, the run ends, and the future never resolves, so there is no
/// error that `?` or a catch-all could swallow. When the answer arrives, in this process or another one, the node
/// runs again from its start and the ask returns the answer.
///
/// Several asks in one node are distinguished by their key: by default the argument's position, or a name given
/// with [`ask_as`](Self::ask_as). Anything that the node awaits outside [`Effects`](super::Effects) is abandoned
/// when the node pauses, and runs again on resume.
pub struct Ask<Q, A> {
    cell: Arc<TaskCell>,
    attempt: u32,
    position: usize,
    deadline: Option<Within>,
    marker: PhantomData<fn(Q) -> A>,
}

/// The deadline of a question, and the default answer that applies after it.
struct Within {
    limit: Duration,
    default: Result<Json, CodecError>,
}

impl<Q, A: Serialize> Ask<Q, A> {
    /// Sets a deadline: a question without an answer by then is answered with `default`.
    ///
    /// The time runs from the first time that the question is asked, by the graph's clock. No program has to keep
    /// running, because the deadline is stored with the question. It takes effect when
    /// [`Graph::tick`](crate::run::Graph::tick) finds it, or when the thread is next resumed or answered, whichever
    /// comes first. After that the question is answered like any other.
    ///
    /// ```text
    /// let verdict = editor.within(Duration::from_secs(86_400), Verdict::Accept).ask(text).await;
    /// ```
    #[must_use]
    pub fn within(&self, limit: Duration, default: A) -> Self {
        Self {
            cell: Arc::clone(&self.cell),
            attempt: self.attempt,
            position: self.position,
            deadline: Some(Within { limit, default: Json::encode(&default) }),
            marker: PhantomData,
        }
    }
}

impl<Q, A> Ask<Q, A>
where
    Q: Serialize,
    A: DeserializeOwned,
{
    /// Asks `question` and waits for the answer.
    pub async fn ask(&self, question: Q) -> A {
        self.ask_as(&self.position.to_string(), question).await
    }

    /// Asks `question` under the key `key`, which stays the same when the function's arguments change.
    pub async fn ask_as(&self, key: &str, question: Q) -> A {
        match self.answer(key, &question) {
            Ok(Answer::Given(answer)) => answer,
            Ok(Answer::Awaited(_open)) => pending().await,
            Ok(Answer::Stale) => pending().await,
            Err(error) => {
                self.cell.fault(error);
                pending().await
            }
        }
    }

    fn answer(&self, key: &str, question: &Q) -> Result<Answer<A>, NodeError> {
        if !self.cell.is_current(self.attempt) {
            return Ok(Answer::Stale);
        }
        let stored = self.cell.task_id();
        if stored.is_none() && !self.cell.is_played() {
            return Err(nowhere_to_keep());
        }
        let task = stored.unwrap_or_else(|| self.cell.any_task_id());
        if let Some(effect) = self.cell.inside() {
            return Err(NodeError::new(NodeErrorKind::Effect, EffectError::Asks { effect }));
        }
        let codec = |error| NodeError::new(NodeErrorKind::Codec, error);
        let question = Json::encode(question).map_err(codec)?;
        let deadline = match &self.deadline {
            None => None,
            Some(Within { limit, default }) => {
                Some((*limit, default.as_ref().map_err(Clone::clone).map_err(codec)?))
            }
        };
        let argument = u32::try_from(self.position).ok();
        match self.cell.ask(task, Asking { key, argument, question, deadline }) {
            Asked::Answered(answer) => Ok(Answer::Given(answer.decode().map_err(codec)?)),
            Asked::Open(_) if stored.is_none() => Err(nowhere_to_keep()),
            Asked::Open(id) => {
                Ok(Answer::Awaited(OpenAsk { cell: Arc::clone(&self.cell), attempt: self.attempt, id }))
            }
        }
    }
}

fn nowhere_to_keep() -> NodeError {
    NodeError::terminal(
        "the node asks a question, but the graph has no checkpointer to keep it until it is answered",
    )
}

enum Answer<A> {
    Given(A),
    Awaited(OpenAsk),
    /// The attempt is over, so the question is not asked.
    Stale,
}

/// An open question of the node. It is dropped with the ask's future, which withdraws a question that the node no
/// longer awaits.
pub(super) struct OpenAsk {
    pub(super) cell: Arc<TaskCell>,
    pub(super) attempt: u32,
    pub(super) id: InterruptId,
}

impl Drop for OpenAsk {
    fn drop(&mut self) {
        self.cell.withdraw(self.attempt, self.id);
    }
}

/// The bounds of a question or an answer: it is stored, and its JSON Schema describes it to other programs.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can be neither a question nor an answer",
    label = "it, or a type in it, is not `Serialize`, `Deserialize` and `JsonSchema`",
    note = "derive them: `#[derive(Serialize, Deserialize, JsonSchema)]`, the last one from the crate `schemars`"
)]
pub trait Askable: Serialize + DeserializeOwned + JsonSchema + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + JsonSchema + 'static> Askable for T {}

impl<S, C, Q, A> FromTask<S, C> for Ask<Q, A>
where
    S: State,
    Q: Askable,
    A: Askable,
{
    type Input = NoInput;

    fn from_task(task: &Task<S, C>, position: usize) -> Self {
        let cell = Arc::clone(task.cell());
        Self { attempt: cell.attempt(), cell, position, deadline: None, marker: PhantomData }
    }

    fn describe(node: &mut NodeDescription, position: usize) {
        node.asks::<Q, A>(position);
    }
}
