//! Effects: actions of a node on the outside world, which are recorded so that they are not repeated.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::fmt::Display;
use core::future::{Future, pending};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::ambient::Ambient;
use super::cell::TaskCell;
use super::describe::NodeDescription;
use super::effect_run::{Effect, Flight};
use super::function::FromTask;
use super::input::NoInput;
use super::policy::{OnMismatch, OnUnknown};
use super::task::Task;
use crate::checkpoint::{CheckpointerExt, EffectOutcome, EffectRecord, StoreError};
use crate::error::{EffectError, NodeError, NodeErrorKind};
use crate::state::{Json, State};

/// Extracts the effect journal.
///
/// An effect is recorded before it starts and when it ends. When the node runs again, after a crash, an answer or a
/// retry, a successful effect returns its recorded value without running. An effect that was started and has no
/// recorded end may or may not have happened; the [`OnUnknown`] policy decides how to continue.
///
/// `run` returns once the outcome is stored, as durably as the saver promises: after it has returned `Ok`, no crash
/// that the saver survives repeats the effect. If the outcome cannot be stored, the value is not returned and the
/// task fails.
///
/// Effects are identified by name, key and occurrence, so include inputs that may change in the key. Concurrent
/// effects may end in any order. An effect that is started inside the closure of another effect belongs to the
/// outer one: if the outer one returns its recorded value, the inner ones are not checked.
///
/// A journal that cannot be read or written, or that does not match, fails the task, whatever its code does. The
/// effect then never resolves, so the code cannot mistake a journal error for an error of the effect.
#[derive(Clone)]
pub struct Effects {
    pub(super) cell: Arc<TaskCell>,
    pub(super) attempt: u32,
    pub(super) on_unknown: OnUnknown,
}

impl Effects {
    /// Runs an effect, or returns its recorded value.
    ///
    /// # Errors
    /// Returns the effect's own error. A failed effect runs again when the node does.
    pub async fn run<T, E, F, Fut>(&self, name: &str, effect: F) -> Result<T, E>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
        T: Serialize + DeserializeOwned,
        E: Display + 'static,
    {
        self.effect(name).run(|_| effect()).await
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
        self.effect(name).key(key).run(|_| effect()).await
    }

    /// Starts building an effect with a key, an idempotency key for the other side, or a check for whether it
    /// happened.
    ///
    /// ```
    /// # extern crate superstep_core as superstep;
    /// # use std::io;
    /// # use superstep::id::IdempotencyKey;
    /// # use superstep::node::Effects;
    /// # async fn charge(_order: u32, _key: &str) -> io::Result<u32> { Ok(1) }
    /// # async fn find_charge(_key: &str) -> io::Result<Option<u32>> { Ok(None) }
    /// # async fn node(fx: Effects, order: u32) -> io::Result<()> {
    /// // The other side knows repetitions by their key, so it may run again.
    /// let number: u32 = fx
    ///     .effect("charge")
    ///     .key(order)
    ///     .idempotent()
    ///     .run(|key| async move { charge(order, &key.to_string()).await })
    ///     .await?;
    ///
    /// // After a crash the other side is asked first.
    /// let number: u32 = fx
    ///     .effect("charge once more")
    ///     .reconcile(|key| async move { find_charge(&key.to_string()).await })
    ///     .run(|key| async move { charge(order, &key.to_string()).await })
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use = "an effect happens when it is run"]
    pub fn effect<'f>(&'f self, name: &'f str) -> Effect<'f> {
        Effect::new(self, name)
    }

    /// Returns the same journal with another policy for effects whose outcome is unknown.
    #[must_use]
    pub fn on_unknown(&self, policy: OnUnknown) -> Self {
        Self { on_unknown: policy, ..self.clone() }
    }

    /// Returns the time at which the node first called this: the same in every attempt and after every resume.
    ///
    /// Like every drawn value, it is handed to the store without waiting. That is enough, because the store keeps
    /// the order: the start of an effect, the node's result or a question that follow from the value are never
    /// stored without it.
    #[cfg(feature = "std")]
    pub async fn now(&self) -> std::time::SystemTime {
        std::time::UNIX_EPOCH + self.drawn("$now", |ambient| ambient.now()).await
    }

    /// Returns a new UUIDv7: the same in every attempt and after every resume. Each call draws another one.
    pub async fn uuid(&self) -> Uuid {
        self.drawn("$uuid", |ambient| ambient.id()).await
    }

    /// Returns a random number in [0, 1): the same in every attempt and after every resume. Each call draws another
    /// one.
    pub async fn random(&self) -> f64 {
        self.drawn("$random", |ambient| ambient.roll()).await
    }

    async fn drawn<T>(&self, name: &str, draw: impl FnOnce(&dyn Ambient) -> T) -> T
    where
        T: Serialize + DeserializeOwned,
    {
        if !self.cell.is_current(self.attempt) {
            return pending().await;
        }
        match self.draw(name, draw).await {
            Ok(value) => value,
            Err(error) => self.fail(error).await,
        }
    }

    async fn draw<T>(&self, name: &str, draw: impl FnOnce(&dyn Ambient) -> T) -> Result<T, NodeError>
    where
        T: Serialize + DeserializeOwned,
    {
        let (flight, known) = Flight::start(self, name, "")?;
        if let Some(EffectRecord { outcome: Some(EffectOutcome::Ok(value)), .. }) = &known
            && let Some(decoded) = self.decode(name, value)?
        {
            self.cell.tape_effect(&flight.id, &EffectOutcome::Ok(value.clone()));
            return Ok(decoded);
        }
        self.cell.refuse_live(&flight.id)?;
        let value = match self.cell.play_effect(&flight.id).transpose()? {
            Some(outcome) => self.cell.play_outcome::<T, NodeError>(&flight.id, &outcome)??,
            None => draw(&*self.cell.run.ambient),
        };
        let outcome = EffectOutcome::Ok(encode(name, &value)?);
        self.cell.tape_effect(&flight.id, &outcome);
        let record = EffectRecord { outcome: Some(outcome), ..flight.record(known.as_ref()) };
        if let (Some(saver), Some(base)) = (&self.cell.run.saver, self.cell.facts.base) {
            saver.note_effect(&self.cell.run.thread, base, record.clone()).await.map_err(journal)?;
        }
        self.cell.keep_effect(record);
        Ok(value)
    }

    /// Decodes a recorded value; `None` if it does not decode and the policy allows the effect to run again.
    pub(super) fn decode<T: DeserializeOwned>(
        &self,
        name: &str,
        value: &Json,
    ) -> Result<Option<T>, NodeError> {
        match value.decode() {
            Ok(value) => Ok(Some(value)),
            Err(_) if self.cell.facts.on_mismatch == OnMismatch::RunAgain => Ok(None),
            Err(error) => {
                let (effect, reason) = (name.to_string(), error.to_string());
                Err(NodeError::new(NodeErrorKind::Effect, EffectError::Undecodable { effect, reason }))
            }
        }
    }

    pub(super) async fn fail<T>(&self, error: NodeError) -> T {
        if self.cell.is_current(self.attempt) {
            self.cell.fault(error);
        }
        pending().await
    }
}

pub(super) fn encode<T: Serialize>(name: &str, value: &T) -> Result<Json, NodeError> {
    Json::encode(value).map_err(|error| {
        let (effect, reason) = (name.to_string(), error.to_string());
        NodeError::new(NodeErrorKind::Effect, EffectError::Unencodable { effect, reason })
    })
}

pub(super) fn journal(error: StoreError) -> NodeError {
    NodeError::new(NodeErrorKind::Effect, error)
}

impl<S: State, C> FromTask<S, C> for Effects {
    type Input = NoInput;

    fn from_task(task: &Task<S, C>, _position: usize) -> Self {
        let cell = Arc::clone(task.cell());
        Self { attempt: cell.attempt(), on_unknown: cell.facts.on_unknown, cell }
    }

    fn describe(node: &mut NodeDescription, _position: usize) {
        node.uses_effects();
    }
}

/// The question about an effect that was started and has no recorded end: did it happen?
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EffectQuestion {
    /// The effect's name.
    pub effect: String,
    /// Its key; empty when it was run without one.
    pub key: String,
    /// Its idempotency key, by which the other side may recognise it.
    pub idempotency_key: String,
    /// The number of times it was started.
    pub starts: u32,
}

/// The answer to an [`EffectQuestion`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EffectAnswer {
    /// The effect happened, with this value. If the value does not have the effect's type, the question is asked again.
    Happened(serde_json::Value),
    /// The effect did not happen, or may run once more.
    RunAgain,
    /// The task fails.
    Fail,
}

/// The argument number of questions about effects, which belong to no argument.
pub(crate) const EFFECT_ARGUMENT: u32 = u32::MAX;
