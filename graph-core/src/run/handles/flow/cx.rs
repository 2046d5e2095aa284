//! The argument of a flow's code.

use std::fmt::{self, Display};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::state::stored::FlowState;
use crate::error::{NodeError, NodeErrorKind};
use crate::node::{Ask, Effects, Emit, Task, TaskInfo};
use crate::state::{CodecError, Json};
use crate::store::Store;

/// The argument of the code of a [`flow`](super::flow): its input, and methods to run effects, to ask questions and
/// to save values.
///
/// It is cheap to clone: clones share everything.
pub struct Cx<I> {
    input: Arc<I>,
    previous: Option<Json>,
    saved: Saved,
    effects: Effects,
    questions: Arc<Ask<serde_json::Value, serde_json::Value>>,
    emit: Emit,
    store: Store,
    info: TaskInfo,
}

/// The value that the code saves for the next run.
#[derive(Clone, Default)]
pub(super) struct Saved(Arc<Mutex<Option<Json>>>);

impl Saved {
    pub(super) fn take(&self) -> Option<Json> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<I: DeserializeOwned> Cx<I> {
    pub(super) fn of(task: &Task<FlowState, ()>) -> Result<Self, NodeError> {
        let state = task.state();
        let input = state.input.clone().unwrap_or_else(Json::null).decode::<I>();
        let input = input.map_err(|error| codec(error.within("the input of the flow")))?;
        Ok(Self {
            input: Arc::new(input),
            previous: state.saved.clone(),
            saved: Saved::default(),
            effects: task.extract(),
            questions: Arc::new(task.extract()),
            emit: task.extract(),
            store: task.extract(),
            info: task.extract(),
        })
    }
}

impl<I> Cx<I> {
    /// Returns the input of the run.
    #[must_use]
    pub fn input(&self) -> &I {
        &self.input
    }

    /// Runs an effect, or returns its recorded value: when the code runs again, after an answer, a crash or a
    /// retry, a successful effect is not repeated.
    ///
    /// Successive effects with the same name are distinguished by their order; concurrent ones need
    /// [`run_keyed`](Self::run_keyed).
    ///
    /// # Errors
    /// Returns the effect's own error. A failed effect runs again when the code does.
    pub async fn run<T, E, F, Fut>(&self, name: &str, effect: F) -> Result<T, E>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
        T: Serialize + DeserializeOwned,
        E: Display + 'static,
    {
        self.effects.run(name, effect).await
    }

    /// Runs an effect that is identified by its name and `key`, for example the input that it depends on.
    ///
    /// # Errors
    /// See [`run`](Self::run).
    pub async fn run_keyed<T, E, F, Fut>(&self, name: &str, key: impl Display, effect: F) -> Result<T, E>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
        T: Serialize + DeserializeOwned,
        E: Display + 'static,
    {
        self.effects.run_keyed(name, key, effect).await
    }

    /// Asks a question and waits for the answer: the run pauses, and when the answer has arrived, the code runs
    /// again from its start and receives it here.
    ///
    /// Questions are distinguished by their order and their text. The types of a flow's answers are only known when
    /// the code asks, so an answer of the wrong type is not rejected when it is given; instead the question is
    /// asked again.
    ///
    /// # Errors
    /// Returns an error if the question has no JSON form.
    pub async fn ask<Q, A>(&self, question: Q) -> Result<A, CodecError>
    where
        Q: Serialize,
        A: DeserializeOwned,
    {
        self.ask_as("ask", question).await
    }

    /// Asks a question under its own key, so that earlier questions do not matter.
    ///
    /// # Errors
    /// See [`ask`](Self::ask).
    pub async fn ask_as<Q, A>(&self, key: &str, question: Q) -> Result<A, CodecError>
    where
        Q: Serialize,
        A: DeserializeOwned,
    {
        let question: serde_json::Value = Json::encode(&question)?.decode()?;
        loop {
            let answer = self.questions.ask_as(key, question.clone()).await;
            // The next round asks the next occurrence of the same key, which is a new question.
            if let Ok(answer) = Json::encode(&answer)?.decode() {
                return Ok(answer);
            }
        }
    }

    /// Returns the value that the thread's latest finished run saved, or its return value if it saved none; `None` in
    /// the first run.
    ///
    /// # Errors
    /// Returns an error if the value does not decode as a `T`.
    pub fn previous<T: DeserializeOwned>(&self) -> Result<Option<T>, CodecError> {
        self.previous.as_ref().map(Json::decode).transpose()
    }

    /// Saves `value` for the thread's next run, instead of this run's return value. The last call counts; nothing
    /// is saved unless the run finishes.
    ///
    /// # Errors
    /// Returns an error if the value has no JSON form.
    pub fn save<T: Serialize + ?Sized>(&self, value: &T) -> Result<(), CodecError> {
        let value = Json::encode(value)?;
        *self.saved.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        Ok(())
    }

    /// Emits a custom event into the run's event log.
    pub fn emit<T: Serialize + ?Sized>(&self, name: &str, data: &T) {
        self.emit.emit(name, data);
    }

    /// Returns the journal of the run's effects.
    #[must_use]
    pub fn effects(&self) -> &Effects {
        &self.effects
    }

    /// Returns the flow's store of values that outlive threads.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns information about the run: its thread, its attempt, whether it was cancelled.
    #[must_use]
    pub fn info(&self) -> &TaskInfo {
        &self.info
    }

    pub(super) fn saved(&self) -> Saved {
        self.saved.clone()
    }
}

/// Returns the error for a value of the flow that cannot be encoded or decoded.
pub(super) fn codec(error: CodecError) -> NodeError {
    NodeError::new(NodeErrorKind::Codec, error)
}

impl<I> Clone for Cx<I> {
    fn clone(&self) -> Self {
        Self {
            input: Arc::clone(&self.input),
            previous: self.previous.clone(),
            saved: self.saved.clone(),
            effects: self.effects.clone(),
            questions: Arc::clone(&self.questions),
            emit: self.emit.clone(),
            store: self.store.clone(),
            info: self.info.clone(),
        }
    }
}

impl<I: fmt::Debug> fmt::Debug for Cx<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx").field("input", &self.input).finish_non_exhaustive()
    }
}
