//! Effects: what a node does to the outside world, recorded so that it is not done twice.

use alloc::format;
use alloc::string::ToString;
use alloc::sync::Arc;
use core::fmt::Display;
use core::future::{Future, pending};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::cell::TaskCell;
use super::describe::NodeDescription;
use super::function::FromTask;
use super::input::NoInput;
use super::policy::OnUnknown;
use super::task::Task;
use crate::checkpoint::{EffectId, EffectOutcome, EffectRecord};
use crate::error::{NodeError, NodeErrorKind};
use crate::state::{Json, State};

/// Extracts the effect journal.
///
/// An effect is recorded before it starts and when it ends. When the node runs again, after a crash, an
/// answer or a retry, an effect that succeeded returns its recorded value and does nothing. One that was
/// started and has no recorded end may or may not have happened: what becomes of it is [`OnUnknown`].
///
/// Effects are matched by name, key and occurrence, so inputs that may change belong into the key.
///
/// A journal that cannot be read or written fails the task, whatever its code does: the effect then never
/// resolves, so no error of the journal can be mistaken for one of the effect.
#[derive(Clone)]
pub struct Effects {
    cell: Arc<TaskCell>,
    attempt: u32,
    on_unknown: OnUnknown,
}

impl Effects {
    /// Runs an effect, or returns its recorded value.
    ///
    /// # Errors
    /// The effect's own. An effect that failed runs again when the node does.
    pub async fn run<T, E, F, Fut>(&self, name: &str, effect: F) -> Result<T, E>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
        T: Serialize + DeserializeOwned,
        E: Display,
    {
        self.run_keyed(name, "", effect).await
    }

    /// Runs an effect that its name and `key` identify together: the input it depends on, say.
    ///
    /// # Errors
    /// See [`run`](Self::run).
    pub async fn run_keyed<T, E, F, Fut>(&self, name: &str, key: impl Display, effect: F) -> Result<T, E>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
        T: Serialize + DeserializeOwned,
        E: Display,
    {
        match self.start(name, &key.to_string()).await {
            Ok(Begun::Recorded(value)) => Ok(value),
            Ok(Begun::Live(flight)) => {
                let result = effect().await;
                match self.end(&flight.id, &result).await {
                    Ok(()) => result,
                    Err(error) => self.fail(error).await,
                }
            }
            Ok(Begun::Stale) => pending().await,
            Err(error) => self.fail(error).await,
        }
    }

    /// The same journal with another policy for effects whose outcome is unknown.
    #[must_use]
    pub fn on_unknown(&self, policy: OnUnknown) -> Self {
        Self { on_unknown: policy, ..self.clone() }
    }

    async fn start<T: DeserializeOwned>(&self, name: &str, key: &str) -> Result<Begun<T>, NodeError> {
        if !self.cell.is_current(self.attempt) {
            return Ok(Begun::Stale);
        }
        self.cell.beat(self.attempt);
        let (id, known) = self.cell.start_effect(name, key)?;
        let flight = Flight { cell: Arc::clone(&self.cell), attempt: self.attempt, id };
        match known.map(|record| record.outcome) {
            Some(Some(EffectOutcome::Ok(value))) => {
                let value = value.decode().map_err(|error| {
                    let text = format!("the recorded value of effect `{name}` does not decode: {error}");
                    NodeError::new(NodeErrorKind::Effect, text)
                })?;
                return Ok(Begun::Recorded(value));
            }
            Some(None) if self.on_unknown == OnUnknown::Fail => {
                let text = format!(
                    "effect `{name}` was started before, and whether it happened is not known; \
                     if it may run again, declare it with on_unknown(OnUnknown::Retry)"
                );
                return Err(NodeError::new(NodeErrorKind::Effect, text));
            }
            Some(_) | None => {}
        }
        if let (Some(saver), Some(base)) = (&self.cell.run.saver, self.cell.facts.base) {
            let intent = EffectRecord { id: flight.id.clone(), attempt: self.attempt, outcome: None };
            saver.begin_effect(&self.cell.run.thread, base, intent).await.map_err(journal)?;
        }
        // The intent took a while to become durable; the run may have ended meanwhile.
        if !self.cell.is_current(self.attempt) {
            return Ok(Begun::Stale);
        }
        // Also here, so that a retry in this process finds what a resume in another would.
        self.cell.keep_effect(self.attempt, &flight.id, None);
        Ok(Begun::Live(flight))
    }

    async fn end<T: Serialize, E: Display>(
        &self,
        id: &EffectId,
        result: &Result<T, E>,
    ) -> Result<(), NodeError> {
        let outcome = match result {
            Ok(value) => EffectOutcome::Ok(Json::encode(value).map_err(|error| {
                let text = format!("the value of effect `{}` cannot be recorded: {error}", id.name);
                NodeError::new(NodeErrorKind::Effect, text)
            })?),
            Err(error) => EffectOutcome::Err(error.to_string()),
        };
        if let (Some(saver), Some(base)) = (&self.cell.run.saver, self.cell.facts.base) {
            saver.end_effect(&self.cell.run.thread, base, id, outcome.clone()).await.map_err(journal)?;
        }
        self.cell.keep_effect(self.attempt, id, Some(outcome));
        self.cell.beat(self.attempt);
        Ok(())
    }

    async fn fail<T>(&self, error: NodeError) -> T {
        if self.cell.is_current(self.attempt) {
            self.cell.fault(error);
        }
        pending().await
    }
}

enum Begun<T> {
    /// The journal has its value.
    Recorded(T),
    /// It runs now.
    Live(Flight),
    /// The attempt is over; nothing starts.
    Stale,
}

/// An effect in flight: as long as one is, the task does not pause. Dropped when the effect ends, and also
/// when the node drops the effect's future.
struct Flight {
    cell: Arc<TaskCell>,
    attempt: u32,
    id: EffectId,
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.cell.land_effect(self.attempt, &self.id);
    }
}

fn journal(error: crate::checkpoint::StoreError) -> NodeError {
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
