//! Texts of secrets in what nodes did and said: the outcome of an effect is often what a secret field holds next.

use crate::checkpoint::{
    AskRecord, At, Carried, Checkpoint, EffectOutcome, EffectRecord, Emitted, EmittedEvent, FailureRecord,
    Loaded, StepRecord,
};
use crate::error::ErrorReport;
use crate::id::ThreadId;
use crate::run::Difference;
use crate::state::{Json, Logged, LoggedWrite, Schema, SecretTexts};

use super::failure::Failure;
use super::source::{Place, Source};

/// Hides the texts of a thread's secrets.
#[derive(Default)]
pub(super) struct Concealed(SecretTexts);

impl Concealed {
    /// Learns what a thread's secret fields ever held, up to its head and up to a place. A thread without secret fields
    /// is not read.
    pub(super) fn of(source: &Source, thread: &ThreadId, place: Option<&Place>) -> Result<Self, Failure> {
        let mut texts = SecretTexts::default();
        let head = source.reader.load(thread, &At::Head)?;
        if !head.is_some_and(|head| head.schema.fields.iter().any(|field| field.secret)) {
            return Ok(Self(texts));
        }
        for from in place.map(Place::at).into_iter().chain([At::Head]) {
            for step in source.reader.steps(thread, &from, usize::MAX)? {
                learn(&mut texts, &step);
            }
        }
        Ok(Self(texts))
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
        let default = ask.deadline.as_mut().map(|deadline| &mut deadline.default);
        let values = [&mut ask.question].into_iter().chain(default).chain(&mut ask.answer);
        values.for_each(|value| self.in_value(value));
    }

    pub(super) fn in_effect(&self, effect: &mut EffectRecord) {
        self.in_text(&mut effect.id.key);
        match &mut effect.outcome {
            Some(EffectOutcome::Ok(value)) => self.in_value(value),
            Some(EffectOutcome::Err(text)) => self.in_text(text),
            None => {}
        }
    }

    /// How a replay differs from what is recorded.
    pub(super) fn in_difference(&self, difference: &mut Difference) {
        match difference {
            Difference::EffectNotRecorded { key, recorded_key, .. } => {
                [key].into_iter().chain(recorded_key).for_each(|text| self.in_text(text));
            }
            Difference::EffectNotReached { key, .. } | Difference::NotRunnable { reason: key } => {
                self.in_text(key);
            }
            Difference::Question { question, .. } => self.in_value(question),
            Difference::Failed { error } => self.in_error(error),
            Difference::Value { recorded, replayed, .. } => {
                recorded.iter_mut().chain(replayed).for_each(|value| self.in_value(value));
            }
            _ => {}
        }
    }

    fn in_checkpoint(&self, checkpoint: &mut Checkpoint) {
        checkpoint.metadata.values_mut().for_each(|value| self.in_value(value));
        let tasks = checkpoint.frontier.tasks.iter_mut().filter(|task| !task.node.is_start());
        tasks.filter_map(|task| task.input.as_mut()).for_each(|input| self.in_value(input));
        let handled = checkpoint.tasks.iter_mut().filter_map(|task| task.handled.as_mut());
        handled.for_each(|handled| self.in_error(&mut handled.error));
    }

    fn in_failure(&self, failure: &mut FailureRecord) {
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

    /// What is no JSON is shown by nobody.
    fn in_value(&self, value: &mut Json) {
        if let Ok(hidden) = self.0.hide(value) {
            *value = hidden;
        }
    }

    fn in_text(&self, text: &mut String) {
        *text = self.0.hide_text(text);
    }
}

/// Learns what a superstep wrote, or is about to write, to secret fields.
pub(super) fn learn(texts: &mut SecretTexts, step: &StepRecord) {
    let schema: &Schema = &step.schema;
    let is_secret = |write: &&LoggedWrite| schema.field(write.field).secret;
    for change in step.checkpoint.changes.iter().filter(|change| schema.field(change.field).secret) {
        change.ops.iter().for_each(|op| texts.learn(op.operand()));
    }
    let ran = step.checkpoint.tasks.iter().flat_map(|task| &task.writes);
    let pending = step.work.results.iter().flat_map(|result| &result.writes);
    for write in ran.chain(pending).filter(is_secret) {
        texts.learn(match &write.write {
            Logged::Op(op) => op.operand(),
            Logged::Reduce(argument) => argument,
        });
    }
}
