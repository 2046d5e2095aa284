//! The methods by which a task uses the cassette of its run.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::any::{Any, type_name};

use super::deck::{Deck, Known, Live};
use super::recording::{Level, What};
use crate::checkpoint::{EffectId, EffectOutcome};
use crate::error::{EffectError, NodeError, NodeErrorKind};
use crate::node::cell::{INSIDE, TaskCell};
use crate::node::effect::EFFECT_ARGUMENT;
use crate::node::recorded_error;
use crate::state::Json;

impl TaskCell {
    /// Returns `true` if a cassette replaces the outside world, so that nothing runs live.
    pub(crate) fn is_played(&self) -> bool {
        self.played().is_some()
    }

    /// Returns `true` if the cassette also replaces effects.
    pub(crate) fn plays_effects(&self) -> bool {
        self.played().is_some_and(|deck| !deck.lets_effects)
    }

    fn played(&self) -> Option<&Deck> {
        self.run.deck.as_deref().filter(|deck| !deck.records)
    }

    fn taping(&self) -> Option<&Deck> {
        self.run.deck.as_deref().filter(|deck| deck.records)
    }

    /// Returns the outcome of an effect on the cassette; `None` if the run has no cassette for effects.
    pub(crate) fn play_effect(&self, id: &EffectId) -> Option<Result<EffectOutcome, NodeError>> {
        let deck = self.played().filter(|deck| !deck.lets_effects)?;
        let outcome = deck.effect(&self.place(id.occurrence), &id.name, &id.key);
        Some(outcome.map_err(|report| effect_error(EffectError::NotOnCassette { report })))
    }

    /// Decodes the value or the error of an effect on the cassette.
    pub(crate) fn play_outcome<T, E>(
        &self,
        id: &EffectId,
        outcome: &EffectOutcome,
    ) -> Result<Result<T, E>, NodeError>
    where
        T: serde::de::DeserializeOwned,
        E: 'static,
    {
        let effect = id.name.clone();
        match outcome {
            EffectOutcome::Ok(value) => value.decode().map(Ok).map_err(|error| {
                effect_error(EffectError::Undecodable { effect, reason: error.to_string() })
            }),
            EffectOutcome::Err(text) => {
                let deck = self.played().expect("the outcome is the cassette's");
                let mut made: Option<E> = None;
                let wanted: &mut dyn Any = &mut made;
                deck.make_error(wanted, text);
                made.or_else(|| recorded_error::again(text)).map(Err).ok_or_else(|| {
                    let (text, wanted) = (text.clone(), type_name::<E>().to_string());
                    let error = EffectError::NotRepeatable { effect, text, wanted };
                    deck.trouble(error.to_string());
                    effect_error(error)
                })
            }
        }
    }

    /// Returns the answer to a question on the cassette.
    pub(crate) fn play_answer(&self, argument: Option<u32>, key: &str, occurrence: u32) -> Option<Json> {
        if argument == Some(EFFECT_ARGUMENT) {
            return None;
        }
        let deck = self.played().filter(|deck| deck.answers())?;
        deck.answer(&self.place(occurrence), key)
    }

    /// Records the outcome of an effect on the cassette, if the run is being recorded.
    pub(crate) fn tape_effect(&self, id: &EffectId, outcome: &EffectOutcome) {
        // An effect inside another one is not recorded, because playing the outer one does not reach it.
        if let Some(deck) = self.taping().filter(|_| !id.name.contains(INSIDE)) {
            let (name, key) = (id.name.clone(), id.key.clone());
            let known = Known::Effect { name: &id.name, key: &id.key };
            let what = What::Effect { name, key, outcome: outcome.clone() };
            deck.keep(&self.place(id.occurrence), &known, what);
        }
    }

    /// Records an answer on the cassette, if the run is being recorded.
    pub(crate) fn tape_answer(&self, key: &str, occurrence: u32, question: &Json, answer: &Json) {
        if let Some(deck) = self.taping() {
            let what = What::Answer { key: key.into(), question: question.clone(), answer: answer.clone() };
            deck.keep(&self.place(occurrence), &Known::Question { key }, what);
        }
    }

    /// Returns the tasks that lead to this one, from the graph at the top down.
    fn place(&self, occurrence: u32) -> Live {
        let mut live = Live { place: Vec::new(), threads: Vec::new(), occurrence };
        for of in self.outwards() {
            let (node, step, each) = (of.node().clone(), of.facts.step, of.facts.each);
            live.place.push(Level { node, step, each });
            live.threads.push(of.run.thread.clone());
        }
        live.place.reverse();
        live.threads.reverse();
        live
    }
}

fn effect_error(error: EffectError) -> NodeError {
    NodeError::new(NodeErrorKind::Effect, error)
}

impl Deck {
    /// Adds an error that fails the run, whatever its code does with it.
    fn trouble(&self, report: String) {
        self.held.lock().troubles.push(report);
    }
}
