//! Redacts the secrets of a thread: its secret fields, and their texts in the records of tasks. The outcome of an
//! effect often becomes the next value of a secret field.

use std::sync::Arc;

use superstep_core::checkpoint::{
    AskRecord, Carried, Checkpoint, EffectOutcome, EffectRecord, Emitted, EmittedEvent, FailureRecord,
    Loaded, SecretPast, StepRecord, StoreError,
};
use superstep_core::error::ErrorReport;
use superstep_core::id::ThreadId;
use superstep_core::run::Difference;
use superstep_core::state::{Json, SecretFields, SecretTexts};
use superstep_inspect::Blame;

use super::failure::Failure;
use super::source::{CheckpointRef, Source};

/// Knows the secrets of a thread, of the threads above it and of its subgraphs, and hides their texts.
#[derive(Clone, Debug, Default)]
pub(super) struct Redaction {
    past: Arc<SecretPast>,
    /// `true` if anything in the file is secret.
    is_needed: bool,
}

impl Redaction {
    /// Reads all values that a thread's secret fields ever held, up to its head and up to a place. No thread is read if
    /// nothing in the file is secret.
    pub(super) fn of(
        source: &Source,
        thread: &ThreadId,
        place: Option<&CheckpointRef>,
    ) -> Result<Self, Failure> {
        Ok(Self::learned(source, thread, place)?)
    }

    fn learned(
        source: &Source,
        thread: &ThreadId,
        place: Option<&CheckpointRef>,
    ) -> Result<Self, StoreError> {
        // A damaged schema may have had secret fields.
        if source.reader.schemas().is_ok_and(|schemas| SecretFields::of(&schemas).is_empty()) {
            return Ok(Self::default());
        }
        let past = source.secrets(thread, place)?;
        Ok(Self { past, is_needed: true })
    }

    /// Returns the fields that are or were secret on the thread of a place. If its past is damaged, returns the secret
    /// fields of all states in the file, so that the undamaged part can still be shown.
    pub(super) fn fields_at(source: &Source, place: &CheckpointRef) -> Result<SecretFields, Failure> {
        match Self::learned(source, &place.thread, Some(place)) {
            Err(StoreError::Corrupt { .. }) => Ok(SecretFields::of(&source.reader.schemas()?)),
            learned => Ok(learned?.fields().clone()),
        }
    }

    /// Reads the secrets of the thread of a place.
    pub(super) fn at(source: &Source, place: &CheckpointRef) -> Result<Self, Failure> {
        Self::of(source, &place.thread, Some(place))
    }

    /// Returns the fields that are or were secret.
    pub(super) fn fields(&self) -> &SecretFields {
        self.past.fields()
    }

    pub(super) fn texts(&self) -> &SecretTexts {
        self.past.texts()
    }

    pub(super) fn in_loaded(&self, loaded: &mut Loaded) {
        self.in_checkpoint(&mut loaded.checkpoint);
        loaded.failures.iter_mut().for_each(|failure| self.in_failure(failure));
        loaded.asks.iter_mut().for_each(|ask| self.in_ask(ask));
        loaded.effects.iter_mut().for_each(|effect| self.in_effect(effect));
    }

    pub(super) fn in_step(&self, step: &mut StepRecord) {
        self.in_checkpoint(&mut step.checkpoint);
        let Carried { failures, asks, effects, .. } = &mut step.work;
        failures.iter_mut().for_each(|failure| self.in_failure(failure));
        asks.iter_mut().for_each(|ask| self.in_ask(ask));
        effects.iter_mut().for_each(|effect| self.in_effect(effect));
        step.emitted.iter_mut().for_each(|(_, emitted)| self.in_emitted(emitted));
    }

    pub(super) fn in_ask(&self, ask: &mut AskRecord) {
        let is_known = self.knows(ask);
        let default = ask.deadline.as_mut().map(|deadline| &mut deadline.default);
        let values = [&mut ask.question].into_iter().chain(default).chain(&mut ask.answer);
        match is_known {
            false => values.for_each(|value| *value = hidden()),
            true => values.for_each(|value| self.in_value(value)),
        }
    }

    /// Returns `true` if the secrets of the node that asked are known, or nothing is secret.
    pub(super) fn knows(&self, ask: &AskRecord) -> bool {
        !self.is_needed || self.past.knows_who_asked(ask.id, &ask.path)
    }

    pub(super) fn in_effect(&self, effect: &mut EffectRecord) {
        self.in_text(&mut effect.id.key);
        match &mut effect.outcome {
            Some(EffectOutcome::Ok(value)) => self.in_value(value),
            Some(EffectOutcome::Err(text)) => self.in_text(text),
            None => {}
        }
    }

    /// Redacts a difference between a replay and the journal.
    pub(super) fn in_difference(&self, difference: &mut Difference) {
        match difference {
            Difference::EffectNotRecorded { key, recorded_key, .. } => {
                [key].into_iter().chain(recorded_key).for_each(|text| self.in_text(text));
            }
            Difference::EffectNotReached { key, .. } | Difference::NotRunnable { reason: key } => {
                self.in_text(key);
            }
            Difference::Question { key, question } => {
                self.in_text(key);
                self.in_value(question);
            }
            Difference::Failed { error } => self.in_error(error),
            Difference::Value { recorded, replayed, .. } => {
                recorded.iter_mut().chain(replayed).for_each(|value| self.in_value(value));
            }
            _ => {}
        }
    }

    /// Redacts the items that the authors of a value were given.
    pub(super) fn in_blame(&self, blame: &mut Blame) {
        let overwrote = blame.overwrote.iter_mut().map(|overwritten| &mut overwritten.author);
        let authors = [&mut blame.author].into_iter().chain(overwrote);
        authors.filter_map(|author| author.item.as_mut()).for_each(|item| self.texts().hide_value(item));
    }

    fn in_checkpoint(&self, checkpoint: &mut Checkpoint) {
        checkpoint.metadata.values_mut().for_each(|value| self.in_value(value));
        let tasks = checkpoint.frontier.tasks.iter_mut().filter(|task| !task.node.is_start());
        tasks.filter_map(|task| task.input.as_mut()).for_each(|input| self.in_value(input));
        let handled = checkpoint.tasks.iter_mut().filter_map(|task| task.handled.as_mut());
        handled.for_each(|handled| self.in_error(&mut handled.error));
    }

    pub(super) fn in_failure(&self, failure: &mut FailureRecord) {
        self.in_error(&mut failure.error);
    }

    fn in_emitted(&self, emitted: &mut Emitted) {
        for event in &mut emitted.events {
            match event {
                EmittedEvent::Custom { data: value, .. } | EmittedEvent::Message { chunk: value, .. } => {
                    self.in_value(value);
                }
            }
        }
    }

    fn in_error(&self, error: &mut ErrorReport) {
        [&mut error.message].into_iter().chain(&mut error.causes).for_each(|text| self.in_text(text));
    }

    /// A value that is not JSON is never shown, and stays unchanged.
    fn in_value(&self, value: &mut Json) {
        if let Ok(hidden) = self.texts().hide(value) {
            *value = hidden;
        }
    }

    fn in_text(&self, text: &mut String) {
        *text = self.texts().hide_text(text);
    }
}

fn hidden() -> Json {
    Json::encode(SecretTexts::HIDDEN).expect("a text has a JSON form")
}
