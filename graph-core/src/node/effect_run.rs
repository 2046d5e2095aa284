//! The execution of one effect, from its intent to its recorded end.

mod flight;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::fmt::Display;
use core::future::{Future, Ready, pending};

use serde::Serialize;
use serde::de::DeserializeOwned;

use self::flight::Begun;
pub(super) use self::flight::Flight;
use super::ask::OpenAsk;
use super::cell::{Asked, Asking};
use super::effect::{EFFECT_ARGUMENT, EffectAnswer, EffectQuestion, Effects, encode, journal};
use super::policy::OnUnknown;
use super::recorded_error;
use crate::caught::text_of;
use crate::checkpoint::{EffectId, EffectOutcome, EffectRecord, StoreError};
use crate::error::{EffectError, NodeError, NodeErrorKind};
use crate::id::IdempotencyKey;
use crate::state::Json;

/// An effect that has not run yet: see [`Effects::effect`].
#[must_use = "an effect happens when it is run"]
pub struct Effect<'f> {
    fx: &'f Effects,
    name: &'f str,
    key: String,
    on_unknown: OnUnknown,
}

/// An effect with a check for whether it happened: see [`Effect::reconcile`].
#[must_use = "an effect happens when it is run"]
pub struct Reconciled<'f, R> {
    effect: Effect<'f>,
    reconcile: R,
}

impl<'f> Effect<'f> {
    pub(super) fn new(fx: &'f Effects, name: &'f str) -> Self {
        Self { fx, name, key: String::new(), on_unknown: fx.on_unknown }
    }

    /// Distinguishes the effect from others of the same name, for example by the input that it depends on.
    pub fn key(self, key: impl Display) -> Self {
        Self { key: key.to_string(), ..self }
    }

    /// Declares that the effect may run again if its outcome is unknown, because the other side recognises the
    /// repetition by the idempotency key that the closure receives.
    pub fn idempotent(self) -> Self {
        self.on_unknown(OnUnknown::Retry)
    }

    /// Sets the policy for an unknown outcome.
    pub fn on_unknown(self, on_unknown: OnUnknown) -> Self {
        Self { on_unknown, ..self }
    }

    /// Sets a check that runs if the outcome is unknown. If it returns `Some(value)`, the value is recorded and
    /// returned; with `None` the effect runs again. An error of `reconcile` is returned as the effect's error, and
    /// leaves the outcome unknown.
    pub fn reconcile<R, Fut>(self, reconcile: R) -> Reconciled<'f, R>
    where
        R: FnOnce(IdempotencyKey) -> Fut,
        Fut: Future,
    {
        Reconciled { effect: self, reconcile }
    }

    /// Runs the effect, or returns its recorded value. The closure receives the effect's idempotency key, which is
    /// the same in every attempt and after every resume. The call returns once the outcome is stored: see
    /// [`Effects`].
    ///
    /// # Errors
    /// Returns the effect's own error. A failed effect runs again when the node does. In a replay it fails again,
    /// if its error can be recreated from the recorded text, as `String`, `BoxError` and `std::io::Error` can.
    pub async fn run<T, E, F, Fut>(self, effect: F) -> Result<T, E>
    where
        F: FnOnce(IdempotencyKey) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        T: Serialize + DeserializeOwned,
        E: Display + 'static,
    {
        type Nothing<T, E> = fn(IdempotencyKey) -> Ready<Result<Option<T>, E>>;
        self.perform(None::<Nothing<T, E>>, effect).await
    }

    async fn perform<T, E, R, RFut, F, Fut>(self, reconcile: Option<R>, effect: F) -> Result<T, E>
    where
        R: FnOnce(IdempotencyKey) -> RFut,
        RFut: Future<Output = Result<Option<T>, E>>,
        F: FnOnce(IdempotencyKey) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        T: Serialize + DeserializeOwned,
        E: Display + 'static,
    {
        let (flight, mut started) = match self.look_up(reconcile.is_some()).await {
            Ok(Found::Recorded(value)) => return Ok(value),
            Ok(Found::Failed { flight, text }) => {
                return match recorded_error::again(&text) {
                    Some(error) => Err(error),
                    None => self.fx.fail(self.fx.cell.refuse_error(&flight.id)).await,
                };
            }
            Ok(Found::New { flight, started }) => (flight, started),
            Ok(Found::Unknown { flight, started }) => {
                let reconcile = reconcile.expect("only with a way to find out");
                let token = flight.token(Some(&started));
                match flight.within(async move { reconcile(token).await }).await {
                    Ok(None) => (flight, Some(started)),
                    Ok(Some(value)) => return self.recorded(&flight, Ok(value)).await,
                    Err(error) => return Err(error),
                }
            }
            Ok(Found::Stale) => return pending().await,
            Err(error) => return self.fx.fail(error).await,
        };
        let recorded = match self.fx.cell.play_effect(&flight.id).transpose() {
            Ok(recorded) => recorded,
            Err(error) => return self.fx.fail(error).await,
        };
        let token = loop {
            match flight.begin(started.as_ref()).await {
                Ok(Begun::Now(token)) => break token,
                Ok(Begun::Over) => return pending().await,
                Ok(Begun::Before(held)) => match self.told(&held) {
                    Ok(Some(value)) => return Ok(value),
                    Ok(None) => started = Some(held),
                    Err(error) => return self.fx.fail(error).await,
                },
                Err(error) => return self.fx.fail(error).await,
            }
        };
        if let Some(outcome) = recorded {
            return self.played(&flight, outcome).await;
        }
        let result = flight.within(async move { effect(token).await }).await;
        self.recorded(&flight, result).await
    }

    /// Ends the effect with the outcome on the cassette, as if it had happened.
    async fn played<T, E>(&self, flight: &Flight, outcome: EffectOutcome) -> Result<T, E>
    where
        T: DeserializeOwned,
        E: 'static,
    {
        let result = match self.fx.cell.play_outcome(&flight.id, &outcome) {
            Ok(result) => result,
            Err(error) => return self.fx.fail(error).await,
        };
        match flight.end(outcome).await {
            Ok(()) => result,
            Err(error) => self.fx.fail(error).await,
        }
    }

    /// Decodes the value of the effect that another run recorded first; `None` if it failed there.
    fn told<T: DeserializeOwned>(&self, held: &EffectRecord) -> Result<Option<T>, NodeError> {
        let cell = &self.fx.cell;
        match &held.outcome {
            Some(EffectOutcome::Ok(value)) => self.fx.decode(self.name, value),
            Some(EffectOutcome::Err(_)) => Ok(None),
            // Another process is running the effect, or left it without an outcome.
            None => {
                let base = cell.facts.base.expect("only what is stored was begun by another run");
                Err(journal(StoreError::Superseded { thread: cell.run.thread.clone(), base }))
            }
        }
    }

    /// Records the result of the effect.
    async fn recorded<T: Serialize, E: Display>(
        &self,
        flight: &Flight,
        result: Result<T, E>,
    ) -> Result<T, E> {
        let outcome = match &result {
            Ok(value) => encode(self.name, value).map(EffectOutcome::Ok),
            Err(error) => Ok(EffectOutcome::Err(text_of(error))),
        };
        let ended = match outcome {
            Ok(outcome) => flight.end(outcome).await,
            Err(error) => Err(error),
        };
        match ended {
            Ok(()) => result,
            Err(error) => self.fx.fail(error).await,
        }
    }

    /// Looks the effect up in the journal, and decides how to continue.
    async fn look_up<T: DeserializeOwned>(&self, reconciles: bool) -> Result<Found<T>, NodeError> {
        let Self { fx, name, key, on_unknown } = self;
        if !fx.cell.is_current(fx.attempt) {
            return Ok(Found::Stale);
        }
        let (mut flight, known) = Flight::start(fx, name, key)?;
        let known = flight.settle(known).await?;
        let Some(known) = flight.take_off(known).await? else {
            fx.cell.refuse_live(&flight.id)?;
            return Ok(Found::New { flight, started: None });
        };
        let effect = || if key.is_empty() { (*name).to_string() } else { format!("{name}[{key}]") };
        let unknown = || EffectError::Unknown { effect: effect() };
        let broken = |error| NodeError::new(NodeErrorKind::Effect, error);
        match &known.outcome {
            Some(EffectOutcome::Ok(value)) => match fx.decode(name, value)? {
                Some(decoded) => {
                    fx.cell.tape_effect(&flight.id, &EffectOutcome::Ok(value.clone()));
                    Ok(Found::Recorded(decoded))
                }
                None => {
                    fx.cell.refuse_live(&flight.id)?;
                    Ok(Found::New { flight, started: Some(known) })
                }
            },
            Some(EffectOutcome::Err(text)) if fx.cell.run.tape.is_some() => {
                Ok(Found::Failed { flight, text: text.clone() })
            }
            Some(EffectOutcome::Err(_)) => Ok(Found::New { flight, started: Some(known) }),
            None if fx.cell.plays_effects() => Ok(Found::New { flight, started: Some(known) }),
            None if reconciles => Ok(Found::Unknown { flight, started: known }),
            None => match on_unknown {
                OnUnknown::Retry => Ok(Found::New { flight, started: Some(known) }),
                OnUnknown::Ask if fx.cell.task_id().is_some() => self.ask(flight, known).await,
                OnUnknown::Ask | OnUnknown::Fail => Err(broken(unknown())),
            },
        }
    }

    /// Asks a person for the outcome of the effect. The task pauses, because nothing of the effect is in flight.
    async fn ask<T: DeserializeOwned>(
        &self,
        flight: Flight,
        known: EffectRecord,
    ) -> Result<Found<T>, NodeError> {
        let codec = |error| NodeError::new(NodeErrorKind::Codec, error);
        let cell = &self.fx.cell;
        let task = cell.any_task_id();
        let question = Json::encode(&EffectQuestion {
            effect: self.name.to_string(),
            key: self.key.clone(),
            idempotency_key: known.token.to_string(),
            starts: known.starts,
        });
        let question = question.map_err(codec)?;
        let EffectId { name, key, occurrence, .. } = &flight.id;
        let ask = format!("effect {name}[{key}]#{occurrence}");
        loop {
            // If the answer is not a value of the effect's type, the question is asked again as another occurrence.
            let argument = Some(EFFECT_ARGUMENT);
            let asking = Asking { key: &ask, argument, question: question.clone(), deadline: None };
            let answer: EffectAnswer = match cell.ask(task, asking) {
                Asked::Answered(answer) => answer.decode().map_err(codec)?,
                Asked::Open(id) => {
                    drop(flight);
                    let _open = OpenAsk { cell: Arc::clone(cell), attempt: self.fx.attempt, id };
                    return pending().await;
                }
            };
            match answer {
                EffectAnswer::Happened(value) => {
                    let value = Json::encode(&value).map_err(codec)?;
                    if let Ok(decoded) = value.decode() {
                        flight.end(EffectOutcome::Ok(value)).await?;
                        return Ok(Found::Recorded(decoded));
                    }
                }
                EffectAnswer::RunAgain => return Ok(Found::New { flight, started: Some(known) }),
                EffectAnswer::Fail => {
                    let error = EffectError::GivenUp { effect: self.name.to_string() };
                    return Err(NodeError::new(NodeErrorKind::Effect, error));
                }
            }
        }
    }
}

impl<R> Reconciled<'_, R> {
    /// Runs the effect, or returns its recorded value: see [`Effect::run`].
    ///
    /// # Errors
    /// Returns the effect's own error, or that of the check.
    pub async fn run<T, E, RFut, F, Fut>(self, effect: F) -> Result<T, E>
    where
        R: FnOnce(IdempotencyKey) -> RFut,
        RFut: Future<Output = Result<Option<T>, E>>,
        F: FnOnce(IdempotencyKey) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        T: Serialize + DeserializeOwned,
        E: Display + 'static,
    {
        self.effect.perform(Some(self.reconcile), effect).await
    }
}

/// The journal's entry for an effect, which decides how to continue.
enum Found<T> {
    /// The effect succeeded; this is its value.
    Recorded(T),
    /// In a replay: the effect failed with this text.
    Failed { flight: Flight, text: String },
    /// The effect runs now.
    New { flight: Flight, started: Option<EffectRecord> },
    /// The effect was started and has no end, and there is a check for whether it happened.
    Unknown { flight: Flight, started: EffectRecord },
    /// The attempt is over; no effect starts.
    Stale,
}
